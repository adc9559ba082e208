//! The shared objects that RDMA programs load.

use super::loader::{Loader, Object};
use super::machine::Machine;
use super::report::{Check, Finding};

/// A symbol that only this project's library has.
const OWN_SYMBOL: &str = "dat_error_detail";

/// The programs that need a library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    Adapters,
    Programs,
}

const LIBRARIES: [(&str, For); 4] = [
    ("libibverbs.so.1", For::Adapters),
    ("librdmacm.so.1", For::Adapters),
    ("libdat.so.1", For::Programs),
    ("libdat2.so.2", For::Programs),
];

/// Checks each library, as the loader would find it.
pub(super) fn check(machine: &Machine, loader: &Loader<'_>) -> Check {
    let finding = |&(name, purpose): &(&str, For)| match loader.find(name) {
        Ok(object) => found(loader, name, purpose, &object),
        Err(reason) => absent(machine, name, purpose, &reason),
    };
    let findings = LIBRARIES.iter().map(finding).collect();
    Check { key: "libraries", title: "Libraries", findings }
}

fn found(loader: &Loader<'_>, name: &str, purpose: For, object: &Object) -> Finding {
    let file = object.file.file_name().map(|name| name.to_string_lossy().into_owned());
    let version = file.as_deref().and_then(|file| Some(file.split_once(".so.")?.1.to_owned()));
    let path = object.path.display().to_string();
    let mut words = vec![path.clone()];
    words.extend(version.as_ref().map(|version| format!("version {version}")));
    let own = (purpose == For::Programs).then(|| object.image.defines(OWN_SYMBOL));
    words.extend(own.map(|own| if own { "ours" } else { "from another project" }.to_owned()));
    let missing = loader.missing(name, object);
    let finding = if missing.is_empty() {
        Finding::ok(name, words.join(", "))
    } else {
        words.push(format!("which cannot be loaded without {}", list(&missing)));
        Finding::problem(name, words.join(", "))
            .advise("install the packages with these libraries, then as root: ldconfig")
    };
    finding
        .fact("path", path)
        .fact("version", version)
        .fact("ours", own)
        .fact("missing", missing.iter().map(|(name, _)| name).collect::<Vec<_>>())
}

fn absent(machine: &Machine, name: &str, purpose: For, reason: &str) -> Finding {
    let finding = match purpose {
        For::Programs => {
            Finding::note(name, format!("{reason}; only C programs need it")).fact("ours", ())
        }
        For::Adapters if machine.has_devices() => {
            Finding::problem(name, format!("{reason}: RDMA devices cannot be used without it"))
                .advise("install rdma-core (Debian: libibverbs1, librdmacm1, ibverbs-providers)")
        }
        For::Adapters => Finding::note(name, format!("{reason}; only RDMA adapters need it")),
    };
    finding.fact("path", ()).fact("version", ())
}

/// The missing libraries as text.
pub(super) fn list(missing: &[(String, String)]) -> String {
    let word = |(name, by): &(String, String)| format!("{name} (needed by {by})");
    missing.iter().map(word).collect::<Vec<_>>().join(", ")
}
