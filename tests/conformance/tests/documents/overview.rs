//! The overviews of the tree: `tests/README.md` describes every folder of tests, and packages are named as
//! ARCHITECTURE.md says.

use std::path::Path;

const TESTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

#[test]
fn the_overview_of_the_tests_names_every_folder() {
    let overview = std::fs::read_to_string(Path::new(TESTS).join("README.md")).expect("README.md");
    let rows: Vec<&str> = overview.lines().filter_map(|line| line.strip_prefix("| `")).collect();
    let mut folders = 0;
    for entry in std::fs::read_dir(TESTS).expect("tests/") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            let is_described = rows.iter().any(|row| row.starts_with(&format!("{name}/`")));
            assert!(is_described, "tests/README.md does not describe tests/{name}");
            folders += 1;
        }
    }
    assert!(folders > 5, "{folders} folders");
}

/// Folders that only group packages. They are not part of the name of a package.
const GROUPS: &[&str] = &["capi/", "docs/examples/", "docs/", "tests/"];

#[test]
fn every_package_has_the_name_of_its_folder() {
    let root = Path::new(TESTS).join("..");
    let manifest = |folder: &str| {
        let path = root.join(folder).join("Cargo.toml");
        std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let workspace = manifest("");
    let members = workspace.split("members = [").nth(1).and_then(|it| it.split(']').next());
    let members: Vec<&str> = members.expect("the members").split('"').skip(1).step_by(2).collect();
    assert!(members.len() > 20, "{members:?}");
    for member in members {
        let in_group = GROUPS.iter().find_map(|group| member.strip_prefix(group));
        let folder = in_group.unwrap_or(member);
        let wanted = folder.replace('/', "-");
        let text = manifest(member);
        let name = text.lines().find_map(|line| line.strip_prefix("name = ")).expect("a name");
        let name = name.trim_matches('"');
        let is_named_so = name == wanted || name.strip_prefix("dat-") == Some(&wanted);
        assert!(is_named_so, "ARCHITECTURE.md: the package of {member} is named {name}");
    }
}
