//! What the user may do: open devices, lock memory; and what a container leaves of it.

use serde_json::{Value, json};

use super::tree::{Tree, contains};

#[test]
fn a_device_that_the_user_may_not_open_names_the_group() {
    let tree = Tree::infiniband();
    tree.node("uverbs0", 0o660);
    let subject = "/dev/infiniband/uverbs0";
    let report = tree.report();
    report.has_problem("device_files", subject, "mode 0660, group rdma", "usermod -aG rdma");
    contains(&report.finding("device_files", subject)["found"], "mlx5_0 cannot be used");
    tree.node("uverbs0", 0o600);
    tree.report().has_problem("device_files", subject, "mode 0600", "chmod 0666");
    // Reading alone is not enough.
    tree.node("uverbs0", 0o664);
    tree.report().has_problem("device_files", subject, "mode 0664", "usermod");
}

#[test]
fn without_the_user_in_a_copy_it_is_unknown_what_the_user_may_open() {
    let tree = Tree::infiniband();
    tree.node("uverbs0", 0o600);
    tree.remove("proc/self/status");
    let report = tree.report();
    let finding = report.finding("device_files", "/dev/infiniband/uverbs0");
    assert_eq!(finding["verdict"], json!("note"));
    contains(&finding["found"], "unknown");
}

#[test]
fn a_user_that_may_override_modes_may_open_everything() {
    let tree = Tree::infiniband();
    tree.node("uverbs0", 0o600);
    tree.user("2");
    assert_eq!(tree.report().problems(), [""; 0]);
}

#[test]
fn a_missing_device_file_is_reported_with_what_creates_it() {
    for (node, cure) in [("rdma_cm", "modprobe rdma_ucm"), ("uverbs0", "modprobe ib_uverbs")] {
        let tree = Tree::infiniband();
        tree.remove(&format!("dev/infiniband/{node}"));
        let subject = format!("/dev/infiniband/{node}");
        tree.report().has_problem("device_files", &subject, "missing", cure);
    }
}

#[test]
fn a_low_limit_of_locked_memory_comes_with_three_recipes() {
    let tree = Tree::infiniband();
    tree.limits("65536", "65536");
    let report = tree.report();
    report.has_problem("memlock", "memlock", "64 KiB", "/etc/security/limits.d");
    let finding = report.finding("memlock", "memlock");
    contains(&finding["advice"], "LimitMEMLOCK=infinity");
    contains(&finding["advice"], "--ulimit memlock=-1:-1");
    let facts = json!({ "known": true, "soft_bytes": 65536, "hard_bytes": 65536 });
    assert_eq!(finding["facts"], facts);
}

#[test]
fn a_soft_limit_below_the_hard_one_can_be_raised_at_once() {
    let tree = Tree::infiniband();
    tree.limits("65536", "unlimited");
    let report = tree.report();
    report.has_problem("memlock", "memlock", "64 KiB (soft limit)", "ulimit -l unlimited");
    assert_eq!(report.finding("memlock", "memlock")["facts"]["hard_bytes"], Value::Null);
    tree.limits("65536", "1048576");
    tree.report().has_problem("memlock", "memlock", "1 MiB (hard limit)", "ulimit -l 1024");
}

#[test]
fn a_harmless_limit_is_not_a_problem() {
    let tree = Tree::infiniband();
    let verdict = |tree: &Tree| tree.report().finding("memlock", "memlock")["verdict"].clone();
    assert_eq!(verdict(&tree), "ok");
    tree.limits("17179869184", "17179869184");
    assert_eq!(verdict(&tree), "note");
    // CAP_IPC_LOCK
    tree.limits("65536", "65536").user("4000");
    assert_eq!(verdict(&tree), "ok");
    let tree = Tree::plain();
    tree.limits("65536", "65536");
    assert_eq!(verdict(&tree), "ok");
    tree.remove("proc/self/limits");
    let report = tree.report();
    let finding = report.finding("memlock", "memlock");
    assert_eq!((&finding["verdict"], &finding["facts"]["known"]), (&json!("note"), &json!(false)));
}

#[test]
fn a_limit_below_what_intel_mpi_demands_is_a_note_on_any_machine() {
    const SUBJECT: &str = "memlock for Intel MPI";
    let tree = Tree::plain();
    // Intel MPI compares the soft limit, also of users that may exceed it.
    for (soft, hard, user, verdict) in [
        ("16777216", "unlimited", "0", "note"),
        ("16777216", "16777216", "4000", "note"),
        ("33554431", "33554432", "0", "note"),
        ("33554432", "33554432", "0", "ok"),
        ("unlimited", "unlimited", "0", "ok"),
    ] {
        tree.limits(soft, hard).user(user);
        let report = tree.report();
        let finding = report.finding("memlock", SUBJECT);
        let facts = json!({ "needed_bytes": 33_554_432, "sufficient": verdict == "ok" });
        assert_eq!((&finding["verdict"], &finding["facts"]), (&json!(verdict), &facts), "{soft}");
        assert_eq!(report.problems(), [""; 0], "{soft}");
    }
    tree.limits("16777216", "67108864");
    let report = tree.report();
    let finding = report.finding("memlock", SUBJECT);
    contains(&finding["found"], "16 MiB: Intel MPI does not start below 32 MiB");
    contains(&finding["advice"], "ulimit -l 65536");
    contains(&finding["advice"], "--ulimit memlock=-1:-1");
}

#[test]
fn a_container_is_known_by_what_its_maker_leaves() {
    assert_eq!(Tree::plain().report().finding("container", "container")["found"], "none");
    for (path, text, kind) in [
        (".dockerenv", "", "Docker"),
        ("run/.containerenv", "", "Podman"),
        ("var/run/secrets/kubernetes.io/serviceaccount/token", "x", "Kubernetes"),
        ("run/systemd/container", "systemd-nspawn\n", "systemd-nspawn"),
        ("proc/1/environ", "HOME=/\0container=lxc\0", "lxc"),
        ("proc/1/cgroup", "0::/kubepods.slice/x\n", "Kubernetes"),
        ("proc/1/cgroup", "1:cpu:/docker/0123\n", "Docker"),
    ] {
        let tree = Tree::plain();
        tree.file(path, text);
        let report = tree.report();
        let finding = report.finding("container", "container");
        assert_eq!(
            (&finding["verdict"], &finding["facts"]["kind"]),
            (&json!("note"), &json!(kind))
        );
        assert_eq!(report.problems(), [""; 0]);
    }
}

#[test]
fn a_container_without_devices_and_with_little_memory_gets_recipes_for_containers() {
    let tree = Tree::infiniband();
    tree.file(".dockerenv", "").limits("65536", "65536").remove("dev");
    let report = tree.report();
    let nodes = ["/dev/infiniband/rdma_cm", "/dev/infiniband/uverbs0"];
    assert_eq!(report.problems(), [nodes[0], nodes[1], "memlock"]);
    for node in nodes {
        contains(&report.finding("device_files", node)["advice"], "--device /dev/infiniband");
    }
    let advice = &report.finding("memlock", "memlock")["advice"];
    contains(advice, "--ulimit memlock=-1:-1");
    assert_eq!(advice.as_array().map(Vec::len), Some(1), "{advice}");
    let container = report.finding("container", "container");
    contains(&container["advice"], "--device /dev/infiniband");
    contains(&container["advice"], "--ulimit memlock=-1:-1");
}

#[test]
fn a_container_without_the_interface_is_advised_to_use_the_host_network() {
    let tree = Tree::infiniband();
    tree.file(".dockerenv", "").remove("sys/class/infiniband/mlx5_0/device");
    tree.remove("proc/net");
    let says = "no network interface";
    tree.report().has_problem("ports", "mlx5_0 port 1 address", says, "--network host");
}
