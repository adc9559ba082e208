//! Systems that are made up: files of `/sys`, `/proc`, `/etc` and `/dev` in a folder.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use super::elf;
use crate::common::{Ran, finish};

/// A user id that does not run tests.
const UID: u32 = 4_000_000_001;

/// A system in a folder that is taken away again.
pub(super) struct Tree(pub(super) PathBuf);

impl Tree {
    /// A machine without RDMA, for a user without privileges.
    pub(super) fn plain() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("dat-doctor-{}-{count}", std::process::id());
        let tree = Self(std::env::temp_dir().join(name));
        fs::create_dir(&tree.0).expect("a temporary folder");
        tree.user("0").limits("unlimited", "unlimited");
        tree
    }

    /// A machine with an InfiniBand port that is as it should be.
    pub(super) fn infiniband() -> Self {
        let tree = Self::plain();
        tree.modules();
        tree.device("mlx5_0", "uverbs0");
        tree.port("mlx5_0", "4: ACTIVE", "5: LinkUp", "InfiniBand");
        tree.gid("mlx5_0", 0, "fe80:0000:0000:0000:0002:c903:0001:0203", None);
        tree.file("sys/class/infiniband/mlx5_0/device/net/ib0/dev_port", "0");
        tree.file("sys/class/net/ib0/operstate", "up\n");
        tree.address_v4("ib0", [10, 1, 2, 3]);
        tree
    }

    /// A machine with soft-RoCE upon an interface that has an address.
    pub(super) fn roce() -> Self {
        let tree = Self::plain();
        tree.modules();
        tree.device("rxe0", "uverbs0");
        tree.file("sys/class/infiniband/rxe0/parent", "v0\n");
        tree.port("rxe0", "4: ACTIVE", "5: LinkUp", "Ethernet");
        tree.gid("rxe0", 0, "fe80:0000:0000:0000:0000:00ff:fe00:0001", Some("v0"));
        tree.gid("rxe0", 1, "0000:0000:0000:0000:0000:ffff:0a00:0001", Some("v0"));
        tree.file("sys/class/net/v0/operstate", "up\n");
        tree
    }

    fn modules(&self) {
        for module in ["ib_core", "ib_uverbs", "rdma_cm", "rdma_ucm"] {
            self.file(&format!("sys/module/{module}/initstate"), "live\n");
        }
        self.library("usr/lib/libibverbs.so.1.14.44.0", &[], &[]);
        self.library("usr/lib/librdmacm.so.1.3.44.0", &["libibverbs.so.1"], &[]);
        self.link("usr/lib/libibverbs.so.1", "libibverbs.so.1.14.44.0");
        self.link("usr/lib/librdmacm.so.1", "/usr/lib/librdmacm.so.1.3.44.0");
        self.node("rdma_cm", 0o666);
    }

    fn device(&self, name: &str, node: &str) {
        self.file(&format!("sys/class/infiniband_verbs/{node}/ibdev"), format!("{name}\n"));
        self.node(node, 0o666);
    }

    pub(super) fn port(&self, device: &str, state: &str, physical: &str, link_layer: &str) {
        let folder = format!("sys/class/infiniband/{device}/ports/1");
        for (file, text) in [
            ("state", state),
            ("phys_state", physical),
            ("link_layer", link_layer),
            ("rate", "100 Gb/sec (4X EDR)"),
            ("gids/5", "0000:0000:0000:0000:0000:0000:0000:0000"),
            ("gids/6", "fe80:0000:0000:0000:0000:0000:0000:0000"),
        ] {
            self.file(&format!("{folder}/{file}"), format!("{text}\n"));
        }
    }

    fn gid(&self, device: &str, index: u32, gid: &str, interface: Option<&str>) {
        let folder = format!("sys/class/infiniband/{device}/ports/1");
        self.file(&format!("{folder}/gids/{index}"), format!("{gid}\n"));
        if let Some(interface) = interface {
            self.file(&format!("{folder}/gid_attrs/ndevs/{index}"), format!("{interface}\n"));
        }
    }

    /// Gives an interface an address in a network of 24 bits.
    fn address_v4(&self, interface: &str, address: [u8; 4]) {
        let [a, b, c, d] = address;
        self.file(
            "proc/net/fib_trie",
            format!(
                "Local:\n  +-- 0.0.0.0/0 3 0 5\n     |-- {a}.{b}.{c}.{d}\n        /32 host LOCAL\n"
            ),
        );
        let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
        let (network, mask) = (word([a, b, c, 0]), word([255, 255, 255, 0]));
        self.file(
            "proc/net/route",
            format!(
                "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                 {interface}\t00000000\t{network}\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                 {interface}\t{network}\t00000000\t0001\t0\t0\t0\t{mask}\t0\t0\t0\n"
            ),
        );
    }

    /// A node that its group may use as the mode says; the group is called `rdma`.
    pub(super) fn node(&self, name: &str, mode: u32) {
        let path = format!("dev/infiniband/{name}");
        self.file(&path, "");
        fs::set_permissions(self.0.join(&path), fs::Permissions::from_mode(mode)).expect("mode");
        let gid = fs::metadata(self.0.join(&path)).expect("the node").gid();
        self.file("etc/group", format!("other\nrdma:x:{gid}:\n"));
    }

    /// The capabilities of the user, in hexadecimal.
    pub(super) fn user(&self, capabilities: &str) -> &Self {
        let status = format!(
            "Name:\tdat\nUid:\t{UID}\t{UID}\t{UID}\t{UID}\nGid:\t{UID}\t{UID}\t{UID}\t{UID}\n\
             Groups:\t \nCapEff:\t{capabilities:0>16}\n"
        );
        self.file("proc/self/status", &status)
    }

    /// How much memory may be locked.
    pub(super) fn limits(&self, soft: &str, hard: &str) -> &Self {
        let limits = format!(
            "Limit                     Soft Limit           Hard Limit           Units     \n\
             Max processes             96365                96365                processes \n\
             Max locked memory         {soft:<20} {hard:<20} bytes     \n"
        );
        self.file("proc/self/limits", &limits)
    }

    pub(super) fn file(&self, path: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        fs::write(path, text).expect("a file");
        self
    }

    pub(super) fn library(&self, path: &str, needed: &[&str], symbols: &[&str]) -> &Self {
        self.file(path, elf::shared_object(needed, symbols))
    }

    pub(super) fn link(&self, path: &str, target: &str) -> &Self {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
        symlink(target, path).expect("a link");
        self
    }

    pub(super) fn remove(&self, path: &str) -> &Self {
        let path = self.0.join(path);
        let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
        removed.expect("it was there");
        self
    }

    /// Runs the doctor over the system, in an environment of these variables only.
    pub(super) fn run(&self, variables: &[(&str, &str)], arguments: &[&str]) -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dat"));
        command.env_clear().envs(variables.iter().copied());
        finish(command.args(["doctor", "--root"]).arg(&self.0).args(arguments))
    }

    /// What the doctor finds.
    pub(super) fn report(&self) -> Report {
        self.report_with(&[])
    }

    pub(super) fn report_with(&self, variables: &[(&str, &str)]) -> Report {
        let ran = self.run(variables, &["--json"]);
        assert_eq!(ran.err, "");
        let json = ran.json();
        let code = if json["fit"] == true { 0 } else { 1 };
        assert_eq!(ran.code, Some(code), "{}", ran.out);
        Report(json)
    }

    pub(super) fn path(&self, path: &str) -> String {
        Path::new(&self.0).join(path).display().to_string()
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What the doctor found.
pub(super) struct Report(pub(super) Value);

impl Report {
    pub(super) fn findings(&self, check: &str) -> &Vec<Value> {
        let checks = self.0["checks"].as_array().expect("checks");
        let check =
            checks.iter().find(|it| it["check"] == check).unwrap_or_else(|| panic!("{check}"));
        check["findings"].as_array().expect("findings")
    }

    pub(super) fn finding(&self, check: &str, subject: &str) -> &Value {
        let findings = self.findings(check);
        let found = findings.iter().find(|it| it["subject"] == subject);
        found.unwrap_or_else(|| panic!("{subject}: {findings:#?}"))
    }

    /// The subjects of all problems.
    pub(super) fn problems(&self) -> Vec<&str> {
        let checks = self.0["checks"].as_array().expect("checks");
        let findings = checks.iter().flat_map(|check| check["findings"].as_array().expect("array"));
        let problems = findings.filter(|finding| finding["verdict"] == "problem");
        problems.map(|finding| finding["subject"].as_str().expect("text")).collect()
    }

    /// Asserts that there is one problem, and that it says and advises that.
    #[track_caller]
    pub(super) fn has_problem(&self, check: &str, subject: &str, says: &str, advises: &str) {
        assert_eq!(self.problems(), [subject], "{:#}", self.0);
        let finding = self.finding(check, subject);
        contains(&finding["found"], says);
        contains(&finding["advice"], advises);
    }
}

/// Asserts that a text, or one in a list, contains another.
#[track_caller]
pub(super) fn contains(value: &Value, part: &str) {
    let texts = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let found = texts.iter().any(|text| text.as_str().is_some_and(|text| text.contains(part)));
    assert!(found, "{part:?} is not in {value}");
}
