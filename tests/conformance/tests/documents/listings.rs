//! The listings of documents: each is a file that is compiled and run by other tests. A comment before the
//! listing names the file.

use std::path::Path;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The listings of a document, in a language, with the file that each names.
fn listings<'a>(text: &'a str, language: &str) -> Vec<(&'a str, &'a str)> {
    let fence = format!("```{language}\n");
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(&fence) {
        let (listing, end) = after.split_once("```").expect("the end of a listing");
        let comment = before.trim_end().lines().last().unwrap_or_default();
        let file = comment.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
        found.push((file.unwrap_or_default(), listing));
        rest = end;
    }
    found
}

#[test]
fn every_listing_is_the_end_of_a_file() {
    let mut count = 0;
    for document in ["README.md", "docs/provider-guide.md"] {
        let text = std::fs::read_to_string(Path::new(ROOT).join(document)).expect(document);
        for (file, listing) in ["c", "rust"].iter().flat_map(|language| listings(&text, language)) {
            assert!(
                !file.is_empty(),
                "{document}: no file is named before this listing:\n{listing}"
            );
            let source = std::fs::read_to_string(Path::new(ROOT).join(file)).expect(file);
            assert!(source.ends_with(listing), "{document} differs from {file}:\n{listing}");
            count += 1;
        }
    }
    assert!(count >= 4, "{count} listings");
}

/// The program of the README, which is also an example of this crate, with a test that runs it.
#[path = "../../examples/in_one_process.rs"]
mod in_one_process;
