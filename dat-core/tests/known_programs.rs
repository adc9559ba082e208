//! docs/moving.md lists what is in the table of known programs.

use dat_core::compat::Rule;
use dat_core::compat::known::PROGRAMS;

#[test]
fn the_guide_lists_every_rule_and_every_known_program() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/moving.md");
    // The package of this crate does not contain it.
    let Ok(guide) = std::fs::read_to_string(path) else { return };
    for rule in Rule::ALL {
        assert!(guide.contains(&format!("| `{}`: ", rule.name())), "{rule:?} is not listed");
    }
    for program in &PROGRAMS {
        let row = guide.lines().find(|line| line.starts_with(&format!("| {} |", program.name)));
        let row = row.unwrap_or_else(|| panic!("{} is not listed", program.name));
        for rule in program.relaxed.rules() {
            assert!(row.contains(rule.name()), "{row}");
        }
        for sign in program.signs {
            for word in sign.to_string().split(" with ") {
                assert!(row.contains(word), "{word} is not in {row}");
            }
        }
    }
}
