//! Configuration files with any content: every line is listed with its status, every name is opened
//! or explained, and nothing crashes or is retried forever.
//!
//! `PROPTEST_CASES` sets the number of files; a longer run is
//! `PROPTEST_CASES=1000000 cargo test --release -p dat-core --test dat_conf`.

use std::collections::HashSet;
use std::sync::Arc;

use dat_core::error::{Error, ReturnType, Subtype};
use dat_core::provider::stub::StubProvider;
use dat_core::registry::{
    ApiVersion, Configuration, EntryOrigin, OpenError, OpenRequirements, Registry, Resolved,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Files to start from: as distributions ship them, and with every oddity of the grammar.
const FILES: [&[u8]; 4] = [
    b"OpenIB-cma u1.2 nonthreadsafe default libdaplcma.so.1 dapl.1.2 \"ib0 0\" \"\"\n\
      ofa-v2-mlx4_0-1 u2.0 nonthreadsafe default libdaploscm.so.2 dapl.2.0 \"mlx4_0 1\" \"\"\n\
      ofa-v2-mlx4_0-1 u2.0 threadsafe nondefault libdaplofa.so.2 dapl.2.0 \"mlx4_0 1\" \"\"\n",
    b"# comment\n\n  \t\nmine u2.0 threadsafe default stub stub.0.1 \"depth=4\" \"\" # more\n\
      \"a name\" u2.0 threadsafe default \"lib \\\"x\\\\.so\" p.1.2 \"\" \"\"\r\n\
      k k2.0 threadsafe default stub stub.0.1 \"\" \"\"",
    b"x u4294967295.0 threadsafe default l p.4294967295.1 \"\" \"\"\n\
      x u4294967296.0 threadsafe default l p.1.2 \"\" \"\"\n\
      ?a u2.0 threadsafe default stub p.1.2 \"?\" \"?\"\nx u2.0 threadsafe default \"\" p.1.2 \"\" \"\"\n",
    b"",
];

/// A change to a file.
#[derive(Clone, Debug)]
enum Change {
    /// Inserts bytes.
    Insert(Index, Vec<u8>),
    /// Replaces a byte.
    Replace(Index, u8),
    /// Removes bytes.
    Remove(Index, usize),
    /// Repeats a part of the file elsewhere.
    Repeat(Index, usize, Index),
    /// Truncates the file.
    Cut(Index),
}

impl Change {
    fn make(&self, file: &mut Vec<u8>) {
        let at = |index: &Index, file: &[u8]| index.index(file.len() + 1);
        match self {
            Self::Insert(place, bytes) => {
                let place = at(place, file);
                file.splice(place..place, bytes.iter().copied());
            }
            Self::Replace(place, byte) => {
                let place = at(place, file);
                if let Some(place) = file.get_mut(place) {
                    *place = *byte;
                }
            }
            Self::Remove(place, length) => {
                let place = at(place, file);
                let end = (place + length).min(file.len());
                file.drain(place..end);
            }
            Self::Repeat(from, length, to) => {
                let (from, to) = (at(from, file), at(to, file));
                let part = file[from..(from + length).min(file.len())].to_vec();
                file.splice(to..to, part);
            }
            Self::Cut(place) => {
                let place = at(place, file);
                file.truncate(place);
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    const TOKENS: &[&[u8]] = &[
        b"\"",
        b"\\",
        b"#",
        b" ",
        b"\t",
        b"\r",
        b"\n",
        b"\0",
        b"?",
        b"\xff\xfe",
        b"u2.0",
        b"k1.2",
        b"threadsafe",
        b"nonthreadsafe",
        b"default",
        b"nondefault",
        b"stub",
        b"\"\"",
        b".",
        b"-1",
        b"99999999999999999999",
        "\u{202e}\u{fc}".as_bytes(),
    ];
    let token = select(TOKENS).prop_map(<[u8]>::to_vec);
    let bytes = prop_oneof![4 => token, 1 => vec(any::<u8>(), 0..20)];
    prop_oneof![
        4 => (any::<Index>(), bytes).prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        2 => (any::<Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Replace(at, byte)),
        2 => (any::<Index>(), 0..30_usize).prop_map(|(at, length)| Change::Remove(at, length)),
        2 => (any::<Index>(), 0..90_usize, any::<Index>())
            .prop_map(|(from, length, to)| Change::Repeat(from, length, to)),
        1 => any::<Index>().prop_map(Change::Cut),
    ]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let changed = (select(&FILES[..]), vec(change(), 0..12)).prop_map(|(file, changes)| {
        let mut file = file.to_vec();
        changes.iter().for_each(|change| change.make(&mut file));
        file
    });
    prop_oneof![8 => changed, 1 => vec(any::<u8>(), 0..400)]
}

fn requirements() -> impl Strategy<Value = OpenRequirements> {
    let versions = vec![ApiVersion::ANY, ApiVersion::V1_2, ApiVersion::V2_0];
    (select(versions), any::<Option<bool>>())
        .prop_map(|(version, thread_safe)| OpenRequirements { version, thread_safe })
}

/// The outcome of an attempt to open a resolved name.
#[derive(Clone, Copy, Debug)]
enum Outcome {
    Opens,
    Refuses,
    IsUnusable,
}

fn cases() -> u32 {
    const CASES: u32 = 20_000;
    std::env::var("PROPTEST_CASES").ok().and_then(|it| it.parse().ok()).unwrap_or(CASES)
}

fn origin(resolved: &Resolved) -> EntryOrigin {
    match resolved {
        Resolved::Provider(candidate) => candidate.origin.clone(),
        Resolved::Library(library) => library.origin.clone(),
        Resolved::Registered(_) => EntryOrigin::Registered,
    }
}

/// Opens a name, with the given outcomes; returns everything that was tried.
fn open(
    registry: &Registry,
    name: &str,
    requirements: OpenRequirements,
    outcomes: &[Outcome],
) -> (dat_core::Result<()>, Vec<EntryOrigin>) {
    let mut tried = Vec::new();
    let opened = registry.find(name, requirements, |resolved| {
        tried.push(origin(&resolved));
        let error = || Error::new(ReturnType::InternalError, Subtype::NoSubtype).because("refused");
        match (outcomes[tried.len() % outcomes.len()], resolved) {
            (Outcome::Opens, _) => Ok(()),
            (Outcome::IsUnusable, Resolved::Library(library)) => {
                Err(OpenError::Unusable(library.unusable("unusable")))
            }
            _ => Err(OpenError::Refused(error())),
        }
    });
    (opened, tried)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn any_file_is_listed_and_any_name_is_opened_or_explained(
        file in file(),
        requirements in requirements(),
        outcomes in vec(select(&[Outcome::Opens, Outcome::Refuses, Outcome::IsUnusable][..]), 1..6),
    ) {
        let configuration = Configuration::from_text("dat.conf", &file);
        let lines = file.split(|&byte| byte == b'\n').count();
        prop_assert!(configuration.items().len() <= lines);
        let registry = Registry::with_configuration(configuration.clone()).allow_c_providers();
        registry.add_provider(Arc::new(StubProvider)).expect("a new name");
        let entries = registry.list_for(requirements);
        let of_lines = entries.iter().filter(|entry| entry.origin != EntryOrigin::Discovered);
        prop_assert_eq!(of_lines.count(), configuration.items().len());
        for entry in &entries {
            // Text that is shown to a person moves no cursor.
            if let Some(reason) = entry.status.reason() {
                prop_assert!(!reason.reason().is_empty());
            }
            if let Some(error) = &entry.syntax_error {
                prop_assert!(!error.caret().contains(['\r', '\x1b', '\0']));
            }
        }
        let written = entries.iter().map(|entry| entry.name.clone());
        let names: HashSet<String> = written.chain(["unknown".into(), "?".into()]).collect();
        for name in &names {
            let (opened, tried) = open(&registry, name, requirements, &outcomes);
            let different: HashSet<&EntryOrigin> = tried.iter().collect();
            prop_assert_eq!(different.len(), tried.len(), "{} is tried again: {:?}", name, tried);
            match opened {
                Ok(()) => prop_assert!(!tried.is_empty()),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
        // The results are kept, and the list is as long as before.
        prop_assert_eq!(registry.list_for(requirements).len(), entries.len());
    }
}
