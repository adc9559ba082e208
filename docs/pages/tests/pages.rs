//! The pages are complete: each call of the C libraries has one, and what a page names exists.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use dat_core::{ReturnType, Subtype};
use dat_pages::{Call, Prototypes, allowed, calls, find, roff};

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(path: &str) -> String {
    let path = Path::new(REPOSITORY).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The names between the braces of a version script.
fn exported(map: &str) -> Vec<String> {
    let names = map.lines().map(|line| line.trim().trim_end_matches(';'));
    names.filter(|line| line.starts_with("dat") && !line.contains(' ')).map(str::to_owned).collect()
}

#[test]
fn every_exported_call_has_a_page() {
    for (map, least) in [("capi/dat1/libdat.map", 70), ("capi/dat2/libdat2.map", 80)] {
        let names = exported(&read(map));
        assert!(names.len() > least, "{map}: {names:?}");
        for name in names {
            assert!(find(&name).is_some(), "docs/pages/calls does not describe {name} of {map}");
        }
    }
    for line in read("tests/conformance/data/calls.csv").lines().skip(1) {
        let name = line.split(',').next().expect("a name");
        assert!(find(name).is_some(), "docs/pages/calls does not describe {name}");
    }
}

#[test]
fn every_page_is_of_a_call_and_each_call_has_one_page() {
    let prototypes = Prototypes::committed();
    let mut seen = BTreeSet::new();
    for call in calls() {
        for name in call.names() {
            assert!(seen.insert(name), "{name} has two pages");
            let declared =
                [1, 2].iter().any(|version| prototypes.of(call, name, *version).is_some());
            assert!(declared || !call.is_declared() || name.starts_with("dats_"), "{name}");
        }
    }
    assert!(seen.len() > 115, "{}", seen.len());
}

#[test]
fn the_arguments_are_those_of_the_prototypes() {
    let prototypes = Prototypes::committed();
    for call in calls().iter().filter(|call| call.name != "dat_ia_open" && !call.args.is_empty()) {
        let described: Vec<&str> = call.args.iter().map(|it| it.name.as_str()).collect();
        let mut declared = BTreeSet::new();
        for version in [1, 2] {
            let Some(prototype) = prototypes.of(call, &call.name, version) else { continue };
            let names: Vec<&str> = prototype
                .arguments()
                .iter()
                .map(|it| it.rsplit([' ', '*']).next().expect("a name"))
                .filter(|name| *name != "...")
                .collect();
            let common = described.iter().copied().filter(|name| names.contains(name));
            assert_eq!(common.collect::<Vec<_>>(), names, "{} in version {version}", call.name);
            declared.extend(names.into_iter().map(str::to_owned));
        }
        for name in described {
            assert!(declared.contains(name), "{}: no prototype has the argument {name}", call.name);
        }
    }
}

#[test]
fn every_code_exists_and_comes_once() {
    let prototypes = Prototypes::committed();
    for call in calls() {
        let mut seen = BTreeSet::new();
        for code in call.codes(&prototypes) {
            let what = format!("{}: {} {}", call.name, code.return_type, code.subtype);
            assert!(ReturnType::from_name(&code.return_type).is_some(), "{what}");
            assert!(Subtype::from_name(&code.subtype).is_some(), "{what}");
            assert!(code.subtype1.is_none_or(|it| Subtype::from_name(&it).is_some()), "{what}");
            assert!(code.cause.ends_with('.'), "{what}");
            assert!(seen.insert((code.return_type, code.subtype)), "{what} comes twice");
        }
        assert!(!seen.is_empty() || !call.returns.is_empty(), "{} has no code", call.name);
    }
}

#[test]
fn every_state_event_event_and_reference_exists() {
    let headers: String =
        ["dat.h", "udat.h", "dat_error.h", "dat_ib_extensions.h", "dat_platform_specific.h"]
            .iter()
            .map(|name| read(&format!("include/dat2/{name}")))
            .collect();
    let words: BTreeSet<&str> =
        headers.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').collect();
    let check_constants = |call: &Call, text: &str| {
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_constant = quoted.starts_with("DAT_")
                && quoted
                    .bytes()
                    .all(|it| it.is_ascii_uppercase() || it.is_ascii_digit() || it == b'_')
                && !quoted.ends_with('_');
            assert!(
                !is_constant || words.contains(quoted),
                "{}: {quoted} is not in the headers",
                call.name
            );
            if quoted.starts_with("dat_")
                && quoted.bytes().all(|it| it.is_ascii_lowercase() || it == b'_')
            {
                let entry = ["dat_provider_init", "dat_provider_fini"].contains(&quoted);
                assert!(entry || find(quoted).is_some(), "{}: {quoted} has no page", call.name);
            }
        }
    };
    for call in calls() {
        if let Some(event) = &call.state_event {
            assert!(allowed(event).is_some(), "{}: there is no endpoint event {event}", call.name);
        }
        for (event, text) in call.events() {
            assert!(words.contains(event), "{}: {event} is not in the headers", call.name);
            check_constants(call, text);
        }
        call.args.iter().for_each(|argument| check_constants(call, &argument.text));
        call.codes(&Prototypes::committed())
            .iter()
            .for_each(|code| check_constants(call, &code.cause));
        check_constants(call, &call.text);
        check_constants(call, &call.states);
        for page in &call.see {
            assert!(
                page.contains('(') || find(page).is_some(),
                "{}: {page} has no page",
                call.name
            );
        }
    }
}

#[test]
fn summaries_and_descriptions_are_sentences() {
    for call in calls() {
        for text in [&call.summary, &call.text] {
            assert!(text.trim().ends_with('.'), "{}: {text}", call.name);
        }
        assert!(call.args.iter().all(|it| it.text.ends_with('.')), "{}", call.name);
        assert!(!call.example.is_empty() || !call.is_declared(), "{} has no example", call.name);
    }
}

#[test]
fn every_example_compiles() {
    let mut program = String::from(include_str!("examples.c"));
    let with_example = calls().iter().filter(|call| !call.example.is_empty());
    for call in with_example {
        let include = format!("#include <dat2/{}>\n", call.header);
        let name = &call.name;
        program +=
            &format!("{include}\nvoid example_{name}(void);\nvoid example_{name}(void)\n{{\n");
        program += &format!("#line 1 \"{name}\"\n{}}}\n", call.example);
    }
    let folder = std::env::temp_dir().join(format!("dat-pages-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("examples.c");
    std::fs::write(&file, program).expect("written");
    let compiled = Command::new("cc")
        .args(["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-fsyntax-only"])
        .arg(format!("-I{REPOSITORY}/include"))
        .arg(&file)
        .output()
        .expect("cc runs");
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    std::fs::remove_dir_all(&folder).expect("made here");
}

#[test]
fn the_committed_pages_are_those_that_the_generator_makes() {
    let prototypes = Prototypes::committed();
    let mut names = BTreeSet::new();
    for (name, text) in calls().iter().flat_map(|call| roff::render(call, &prototypes)) {
        let committed = read(&format!("docs/man/man3/{name}"));
        assert!(committed == text, "docs/man/man3/{name} is out of date: run .ci/headers --bless");
        names.insert(name);
    }
    for entry in
        std::fs::read_dir(Path::new(REPOSITORY).join("docs/man/man3")).expect("docs/man/man3")
    {
        let name = entry.expect("an entry").file_name().to_string_lossy().into_owned();
        assert!(names.contains(&name), "docs/man/man3/{name} does not belong to a call");
    }
}
