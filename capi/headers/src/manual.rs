//! The manual pages of the calls, with the prototypes of the headers.

use std::error::Error;
use std::path::Path;

use dat_pages::{Prototypes, calls, in_header, roff};

use crate::plan::Version;
use crate::write;

/// Adds the prototypes of a header.
pub(crate) fn collect(prototypes: &mut String, version: Version, header: &str) {
    for prototype in in_header(header) {
        *prototypes += &format!("{} {prototype}\n", version.number());
    }
}

/// Writes the pages, and the prototypes for `dat explain`. A call without a page is an error.
pub(crate) fn write_all(folder: &Path, collected: &str) -> Result<(), Box<dyn Error>> {
    let prototypes = Prototypes::parse(collected);
    for name in ["1.2", "2.0"].iter().flat_map(|version| prototypes.names(version)) {
        if dat_pages::find(name).is_none() {
            return Err(format!("docs/pages/calls does not describe {name}").into());
        }
    }
    write(&folder.join("docs/pages"), "prototypes.txt", collected)?;
    for (name, text) in calls().iter().flat_map(|call| roff::render(call, &prototypes)) {
        write(&folder.join("docs/man/man3"), &name, &text)?;
    }
    Ok(())
}
