//! Libraries and the environment.

use serde_json::{Value, json};

use super::elf;
use super::tree::{Tree, contains};

#[test]
fn libraries_are_found_with_their_versions() {
    let report = Tree::infiniband().report();
    let verbs = report.finding("libraries", "libibverbs.so.1");
    assert_eq!(verbs["facts"]["path"], "/usr/lib/libibverbs.so.1");
    assert_eq!(verbs["facts"]["version"], "1.14.44.0");
    let cm = report.finding("libraries", "librdmacm.so.1");
    assert_eq!(
        (&cm["facts"]["version"], &cm["facts"]["missing"]),
        (&json!("1.3.44.0"), &json!([]))
    );
    let absent = report.finding("libraries", "libdat2.so.2");
    assert_eq!((&absent["verdict"], &absent["facts"]["path"]), (&json!("note"), &Value::Null));
}

#[test]
fn the_library_that_a_c_program_gets_is_reported() {
    let tree = Tree::plain();
    tree.library("usr/lib/libdat2.so.2", &[], &["dat_ia_openv", "dat_error_detail"]);
    tree.library("usr/lib/libdat.so.1", &[], &["dat_ia_openv"]);
    let report = tree.report();
    for (library, ours, word) in
        [("libdat2.so.2", true, "ours"), ("libdat.so.1", false, "from another project")]
    {
        let finding = report.finding("libraries", library);
        assert_eq!((&finding["verdict"], &finding["facts"]["ours"]), (&json!("ok"), &json!(ours)));
        contains(&finding["found"], word);
    }
}

#[test]
fn the_search_path_goes_first() {
    let tree = Tree::plain();
    tree.library("usr/lib/libdat2.so.2", &[], &[]);
    tree.library("opt/dat/libdat2.so.2", &[], &["dat_error_detail"]);
    let report = tree.report_with(&[("LD_LIBRARY_PATH", "/nowhere:/opt/dat")]);
    let finding = report.finding("libraries", "libdat2.so.2");
    assert_eq!(finding["facts"]["path"], "/opt/dat/libdat2.so.2");
    assert_eq!(finding["facts"]["ours"], true);
}

#[test]
fn rdma_core_is_needed_where_there_is_a_device() {
    let tree = Tree::infiniband();
    tree.remove("usr/lib/librdmacm.so.1");
    tree.report().has_problem(
        "libraries",
        "librdmacm.so.1",
        "not find a file",
        "install rdma-core",
    );
    assert_eq!(Tree::plain().report().finding("libraries", "librdmacm.so.1")["verdict"], "note");
}

#[test]
fn what_a_library_can_not_be_loaded_without_is_named() {
    let tree = Tree::plain();
    tree.library("usr/lib/libdat2.so.2", &["libmiddle.so.1"], &[]);
    tree.library("usr/lib/libmiddle.so.1", &["libgone.so.3", "libdat2.so.2"], &[]);
    let report = tree.report();
    let says = "libgone.so.3 (needed by libmiddle.so.1)";
    report.has_problem("libraries", "libdat2.so.2", says, "ldconfig");
    let missing = &report.finding("libraries", "libdat2.so.2")["facts"]["missing"];
    assert_eq!(*missing, json!(["libgone.so.3"]));
}

#[test]
fn a_file_that_cannot_be_loaded_is_reported_with_the_reason() {
    let own = elf::shared_object(&["liba.so"], &["f"]);
    // Alpha: not a native architecture of any test machine.
    let foreign = elf::for_machine(0x9026, &[], &[]);
    for (bytes, reason) in [
        (&b"not a library"[..], "not an ELF file"),
        (&[], "not an ELF file"),
        (&own[..70], "damaged"),
        (&foreign, "another processor"),
    ] {
        let tree = Tree::infiniband();
        tree.remove("usr/lib/librdmacm.so.1").file("usr/lib/librdmacm.so.1", bytes);
        tree.report().has_problem("libraries", "librdmacm.so.1", reason, "rdma-core");
    }
}

#[test]
fn no_damage_of_a_library_stops_the_doctor() {
    let whole = elf::shared_object(&["liba.so"], &["dat_error_detail"]);
    let tree = Tree::plain();
    let mut lines = String::new();
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        tree.file(&format!("opt/{at}.so"), bytes);
        lines += &format!("n{at} u2.0 threadsafe default /opt/{at}.so dapl.2.0 \"\" \"\"\n");
    }
    let report = tree.file("etc/dat.conf", lines).report();
    assert_eq!(report.findings("configuration").len(), whole.len() + 1);
}

#[test]
fn variables_have_value_default_and_meaning() {
    let variables = [("DAT_DBG_TYPE", "0x11"), ("RDMAV_FORK_SAFE", "1")];
    let report = Tree::plain().report_with(&variables);
    let facts = |name| report.finding("environment", name)["facts"].clone();
    assert_eq!(facts("DAT_DBG_TYPE")["value"], "0x11");
    assert_eq!(facts("DAT_DBG_TYPE")["default"], "0");
    contains(&facts("DAT_DBG_TYPE")["meaning"], "0x1 errors");
    assert_eq!(facts("DAT_DBG_DEST")["value"], Value::Null);
    assert_eq!(facts("DAT_DBG_DEST")["default"], "0x1");
    assert_eq!(facts("RDMAV_FORK_SAFE")["value"], "1");
    contains(&facts("DAT_OVERRIDE")["default"], "/etc/dat.conf");
    assert!(report.findings("environment").iter().all(|finding| finding["verdict"] == "ok"));
}

#[test]
fn a_mode_of_compatibility_that_is_not_known_is_a_problem() {
    for (word, verdict) in [("ofa", "ok"), ("strict", "ok"), ("", "ok"), ("OFA", "problem")] {
        let report = Tree::plain().report_with(&[("DAT_COMPAT", word)]);
        let finding = report.finding("environment", "DAT_COMPAT");
        assert_eq!(finding["verdict"], verdict, "{word}");
        assert_eq!(finding["facts"]["value"], word);
    }
}

#[test]
fn a_variable_that_has_no_effect_is_a_note() {
    for (name, value) in [
        ("DAT_DBG_TYPE", "all"),
        ("DAT_DBG_DEST", "0x"),
        ("DAT_DBG_TYPE", "08"),
        ("DAPL_DBG_TYPE", "0xffff"),
    ] {
        let report = Tree::plain().report_with(&[(name, value)]);
        assert_eq!(report.finding("environment", name)["verdict"], "note", "{name}={value}");
        assert_eq!(report.problems(), [""; 0]);
    }
}
