//! `tests/README.md`: it describes every folder of tests.

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
