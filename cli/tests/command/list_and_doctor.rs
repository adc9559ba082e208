//! `dat list` and `dat doctor` agree about every adapter.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::common::run_with;

const CONFIGURATION: &str = r#"
good u2.0 nonthreadsafe default loopback dapl.2.0 "max_eps=4" ""
typing_error u2.0 nonthreadsafe default loopback dapl.2.0 "max_epps=4" ""
other_version u2.0 nonthreadsafe default loopback loopback.9.9 "" ""
no_device u2.0 nonthreadsafe default verbs verbs.0.1 "mlx5_0 1" ""
no_interface u2.0 nonthreadsafe default tcp tcp.0.1 "nowhere0" ""
no_secret u2.0 nonthreadsafe default tcp tcp.0.1 "lo secret=/nonexistent" ""
good u2.0 nonthreadsafe default shm shm.0.1 "" ""
"#;

/// Returns whether each adapter of a provider can be opened, by the output of a command.
type Verdicts = BTreeMap<String, bool>;

fn listed(report: &Value) -> Verdicts {
    let entries = report["entries"].as_array().expect("a list").iter();
    let entries = entries.filter(|entry| entry["status"] != "shadowed");
    let verdict = |entry: &Value| {
        let name = entry["name"].as_str().expect("a name").to_owned();
        (name, entry["usable"].as_bool().expect("a verdict"))
    };
    entries.map(verdict).collect()
}

fn examined(report: &Value) -> Verdicts {
    let checks = report["checks"].as_array().expect("a list");
    let names =
        checks.iter().find(|check| check["check"] == "names").expect("a check of the names");
    let findings = names["findings"].as_array().expect("a list").iter();
    let verdict = |finding: &Value| {
        let is_opened = finding["facts"]["opened"].as_bool().expect("it was tried");
        assert_eq!(finding["verdict"] == "ok", is_opened, "{finding}");
        (finding["subject"].as_str().expect("a name").to_owned(), is_opened)
    };
    findings.map(verdict).collect()
}

#[test]
fn both_say_the_same_of_every_adapter() {
    let (list, _) = run_with(CONFIGURATION, &["list", "--json"]);
    let (doctor, _) = run_with(CONFIGURATION, &["doctor", "--json"]);
    let (listed, examined) = (listed(&list.json()), examined(&doctor.json()));
    assert_eq!(listed, examined);
    let usable = |name: &str| listed.get(name).copied();
    for name in ["good", "other_version", "loopback", "shm", "tcp-lo"] {
        assert_eq!(usable(name), Some(true), "{name}");
    }
    for name in ["typing_error", "no_device", "no_interface", "no_secret"] {
        assert_eq!(usable(name), Some(false), "{name}");
    }
}

#[test]
fn what_is_listed_as_usable_can_be_used() {
    let (list, _) = run_with(CONFIGURATION, &["list", "--json"]);
    for (name, is_usable) in listed(&list.json()) {
        let (info, _) = run_with(CONFIGURATION, &["info", &name]);
        assert_eq!(info.code, Some(i32::from(!is_usable)), "{name}: {}{}", info.out, info.err);
    }
}
