//! dat.conf and the names that can be opened.

use serde_json::{Value, json};

use super::tree::{Report, Tree, contains};

fn with(lines: &str) -> (Tree, Report) {
    let tree = Tree::plain();
    tree.file("etc/dat.conf", lines);
    let report = tree.report();
    (tree, report)
}

#[test]
fn no_configuration_is_needed() {
    let report = Tree::plain().report();
    let finding = report.finding("configuration", "dat.conf");
    assert_eq!(finding["verdict"], "ok");
    assert_eq!(finding["facts"], json!({ "files": [], "lines": 0, "override": Value::Null }));
    assert_eq!(report.findings("configuration").len(), 1);
}

#[test]
fn each_line_has_its_fate_with_its_place() {
    let (tree, report) = with(
        "\
# a comment
rack u2.0 threadsafe default loopback dapl.1.2 \"max_eps=4\" \"\"
rack u2.0 threadsafe nondefault loopback dapl.1.2 \"\" \"\"
inside k2.0 threadsafe default loopback dapl.1.2 \"\" \"\"
",
    );
    assert_eq!(report.problems(), [""; 0], "{:#}", report.0);
    let file = tree.path("etc/dat.conf");
    let source = report.finding("configuration", "dat.conf");
    assert_eq!((&source["facts"]["files"], &source["facts"]["lines"]), (&json!([file]), &json!(3)));
    let lines = &report.findings("configuration")[1..];
    let marks: Vec<&Value> = lines.iter().map(|line| &line["verdict"]).collect();
    assert_eq!(marks, ["ok", "note", "note"]);
    contains(&lines[0]["found"], &format!("{file}:2: loopback, dapl.1.2, u2.0, with max_eps=4"));
    contains(&lines[1]["found"], &format!("{file}:3: not used: overridden by {file}:2"));
    contains(&lines[2]["found"], "kernel consumers");
    assert_eq!(lines[0]["facts"]["entry"]["status"], "usable");
    assert_eq!(lines[1]["facts"]["entry"]["shadowed_by"]["line"], 2);
}

#[test]
fn of_many_lines_for_absent_devices_a_few_are_shown_and_the_rest_counted() {
    let line = |n| {
        format!("card{n} u2.0 nonthreadsafe default libabsent.so dapl.2.0 \"card{n} 0\" \"\"\n")
    };
    let (tree, report) = with(&(0..9).map(line).collect::<String>());
    assert_eq!(report.findings("configuration").len(), 1 + 9, "JSON has them all");
    let text = tree.run(&[], &[]).out;
    assert_eq!(text.matches("which is not a device or interface").count(), 3, "{text}");
    assert_eq!(text.matches("and 6 more").count(), 1, "{text}");
    assert_eq!(text.matches("remove such lines").count(), 1, "{text}");
}

#[test]
fn a_line_in_error_is_shown_with_a_caret_under_the_field() {
    let line = "broken u2.0 threadsafe nodefault loopback dapl.1.2 \"\" \"\"";
    let (tree, report) = with(line);
    let place = format!("{}:1:24: ", tree.path("etc/dat.conf"));
    report.has_problem("configuration", "broken", &place, "did you mean \"nondefault\"?");
    let finding = report.finding("configuration", "broken");
    assert_eq!(finding["excerpt"], json!([line, format!("{:>24}", "^")]));
    assert_eq!(finding["facts"]["entry"]["syntax_error"]["column"], 24);

    let text = tree.run(&[], &[]).out;
    let rows: Vec<&str> = text.lines().collect();
    let at = rows.iter().position(|row| row.contains(&place)).expect("the line");
    assert_eq!(rows[at + 1].find("nodefault"), rows[at + 2].find('^'), "{text}");
}

#[test]
fn a_library_that_is_not_there_is_a_problem_only_for_what_is_there() {
    let line = |library: &str, parameters: &str| {
        format!("old u2.0 threadsafe default {library} dapl.2.0 \"{parameters}\" \"\"\n")
    };
    let (_tree, report) = with(&line("libdaplofa.so.2", "ib0 0"));
    assert_eq!(report.problems(), [""; 0]);
    contains(&report.finding("configuration", "old")["found"], "\"ib0\", which is not a device");

    for parameters in ["", "127.0.0.1 0"] {
        let (_tree, report) = with(&line("libdaplofa.so.2", parameters));
        report.has_problem("configuration", "old", "libdaplofa.so.2: the loader", "loopback");
    }
    for parameters in ["ib0 0", "mlx5_0 1"] {
        let tree = Tree::infiniband();
        tree.file("etc/dat.conf", line("libdaplofa.so.2", parameters));
        tree.report().has_problem("configuration", "old", "libdaplofa.so.2", "install");
        tree.library("usr/lib/libdaplofa.so.2", &["libgone.so.1"], &[]);
        tree.report().has_problem("configuration", "old", "libgone.so.1", "ldconfig");
        tree.library("usr/lib/libdaplofa.so.2", &[], &[]);
        let report = tree.report();
        let found = &report.finding("configuration", "old")["found"];
        contains(found, "for C programs, through /usr/lib/libdaplofa.so.2");
        assert_eq!(report.problems(), [""; 0]);
    }
}

#[test]
fn the_file_of_dat_override_is_the_only_one() {
    let tree = Tree::plain();
    let line = |name| format!("{name} u2.0 threadsafe default loopback dapl.1.2 \"\" \"\"\n");
    tree.file("etc/dat.conf", line("usual")).file("my/dat.conf", line("mine"));
    let report = tree.report_with(&[("DAT_OVERRIDE", "/my/dat.conf")]);
    assert_eq!(report.finding("configuration", "dat.conf")["facts"]["override"], "/my/dat.conf");
    assert_eq!(report.findings("configuration").len(), 2);
    assert_eq!(report.finding("names", "mine")["facts"]["opened"], true);
    for (value, says) in
        [("/gone", "the file that DAT_OVERRIDE names"), ("", "the variable is empty")]
    {
        let report = tree.report_with(&[("DAT_OVERRIDE", value)]);
        report.has_problem("configuration", "a file", says, "unset");
    }
}

#[test]
fn names_are_opened_as_they_are_to_be_passed() {
    let (_tree, report) = with("rack u2.0 threadsafe default loopback dapl.1.2 \"\" \"\"");
    for name in ["rack", "loopback"] {
        let finding = report.finding("names", name);
        assert_eq!(finding["verdict"], "ok");
        assert_eq!(
            (&finding["facts"]["name"], &finding["facts"]["opened"]),
            (&json!(name), &json!(true))
        );
    }
    assert_eq!(report.findings("names").len(), 2);
    let test = report.finding("self_test", "loopback");
    assert_eq!(test["verdict"], "ok");
    assert!(test["facts"]["steps_passed"].as_u64() > Some(10), "{test}");
}

#[test]
fn a_line_that_can_not_be_opened_is_a_problem() {
    let (_tree, report) = with("rack u2.0 threadsafe default loopback dapl.1.2 \"max_ep=1\" \"\"");
    report.has_problem("names", "rack", "max_ep", "did you mean max_eps=1?");
    assert_eq!(report.finding("names", "rack")["facts"]["opened"], false);
}
