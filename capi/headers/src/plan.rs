//! Which header holds what. The names of the headers, and which name a program finds in which of
//! them, are those of other DAT libraries, so that programs compile unchanged.

use Pick::{Only, Rest};

/// A version of the API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    /// DAT 1.2.
    V1,
    /// DAT 2.0.
    V2,
}

impl Version {
    /// The folder of its headers, as programs name it.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Version::V1 => "dat",
            Version::V2 => "dat2",
        }
    }

    /// Its number.
    pub(crate) fn number(self) -> &'static str {
        match self {
            Version::V1 => "1.2",
            Version::V2 => "2.0",
        }
    }

    /// The folder of its sources.
    pub(crate) fn sources(self) -> &'static str {
        match self {
            Version::V1 => "v1",
            Version::V2 => "v2",
        }
    }
}

/// A header of either version.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    /// System headers, and our own of the same folder.
    pub(crate) includes: &'static [&'static str],
    pub(crate) parts: &'static [Part],
}

impl Header {
    pub(crate) fn exists_in(&self, version: Version) -> bool {
        version == Version::V2 || self.name != "dat_ib_extensions.h"
    }
}

/// A piece of a header.
#[derive(Debug)]
pub(crate) enum Part {
    /// Types and constants of the sources `abi/src/NOUN.rs`, under a title.
    Types { title: &'static str, nouns: &'static [&'static str], pick: Pick },
    /// Functions of the sources `abi/src/calls/NOUN.rs` and `src/exports/NOUN.rs`.
    Calls { title: &'static str, nouns: &'static [&'static str], pick: Pick },
    /// Types of the slots of the provider table.
    Slots,
    /// Macros that call a provider through its table.
    Redirections,
    /// Text from `fragments/*/NAME.h`.
    Fragment(&'static str),
}

/// Which items of a source are meant.
#[derive(Debug)]
pub(crate) enum Pick {
    /// All but those that another header picks by name, or that are slots.
    Rest,
    /// Types of the slots of the provider table.
    Slots,
    /// Those named.
    Only(&'static [&'static str]),
}

const CONFIG: &[&str] =
    &["DAT_VERSION_MAJOR", "DAT_VERSION_MINOR", "DAT_THREADSAFE", "DAT_EXTENSIONS"];
const ENTRIES: &[&str] = &[
    "DAT_PROVIDER_INIT_FUNC",
    "DAT_PROVIDER_FINI_FUNC",
    "DAT_PROVIDER_INIT_FUNC_STR",
    "DAT_PROVIDER_FINI_FUNC_STR",
];
const REGISTRATION: &[&str] = &[
    "dat_registry_add_provider",
    "dat_registry_remove_provider",
    "dat_registry_providers_related",
];
const PLATFORM: &[&str] = &["DAT_SOCK_ADDR", "DAT_SOCK_ADDR6", "DAT_AF_INET", "DAT_AF_INET6"];
const DETAIL: &[&str] = &["dat_error_detail"];
/// C has `va_list` itself, and an address handle is known to it by its tag alone.
const IN_C: &[&str] = &["va_list", "ibv_ah"];
/// Called by providers and by our own C code, which have always declared them themselves.
const UNDECLARED: &[&str] = &["dats_get_ia_handle", "dats_extension_opv"];

/// Items with a place of their own: no part picks them as part of the rest.
pub(crate) fn placed(name: &str) -> bool {
    [CONFIG, ENTRIES, REGISTRATION, PLATFORM, DETAIL, IN_C, UNDECLARED]
        .iter()
        .any(|list| list.contains(&name))
}

/// Returns true if a type is that of a slot of the provider table.
pub(crate) fn slot(name: &str) -> bool {
    name.ends_with("_FUNC") && name != "DAT_AGENT_FUNC" && !ENTRIES.contains(&name)
}

/// The nouns whose calls have slots in the provider table.
pub(crate) const SLOT_NOUNS: &[&str] = &[
    "ia",
    "generic",
    "cno",
    "cr",
    "evd",
    "ep",
    "post",
    "lmr",
    "rmr",
    "service_point",
    "pz",
    "srq",
    "extension",
];

/// Types and constants of some nouns.
const fn types(title: &'static str, nouns: &'static [&'static str], pick: Pick) -> Part {
    Part::Types { title, nouns, pick }
}

/// Calls of some nouns.
const fn calls(title: &'static str, nouns: &'static [&'static str], pick: Pick) -> Part {
    Part::Calls { title, nouns, pick }
}

/// All headers, lower ones first.
pub(crate) const HEADERS: &[Header] = &[
    Header {
        name: "dat_platform_specific.h",
        about: "Platform-specific integer, address and socket types.",
        includes: &[
            "<stddef.h>",
            "<stdint.h>",
            "<stdio.h>",
            "<sys/socket.h>",
            "<sys/types.h>",
            "<netinet/in.h>",
        ],
        parts: &[
            Part::Fragment("platform"),
            types("Integers and names.", &["base"], Rest),
            types("Socket addresses.", &["address"], Only(PLATFORM)),
        ],
    },
    Header {
        name: "udat_config.h",
        about: "DAT version and configuration.",
        includes: &["dat_platform_specific.h"],
        parts: &[
            types("Configuration.", &["base"], Only(CONFIG)),
            types("Extensions.", &["extension"], Only(CONFIG)),
        ],
    },
    Header {
        name: "dat_error.h",
        about: "Return codes.",
        includes: &["dat_platform_specific.h"],
        parts: &[types("Return values.", &["error"], Rest), Part::Fragment("error")],
    },
    Header {
        name: "dat_vendor_specific.h",
        about: "Vendor additions for all consumers: none.",
        includes: &["dat_platform_specific.h"],
        parts: &[],
    },
    Header {
        name: "dat.h",
        about: "Objects, events and calls. Programs include udat.h.",
        includes: &["udat_config.h", "dat_platform_specific.h", "dat_error.h"],
        parts: &[
            types("Addresses, qualifiers and quality of service.", &["address"], Rest),
            types("Handles.", &["handle"], Rest),
            types("Data transfer operations.", &["dto"], Rest),
            types("Local and remote memory regions.", &["lmr", "rmr"], Rest),
            types("Protection zones.", &["pz"], Rest),
            types("Event dispatchers.", &["evd"], Rest),
            types("Shared receive queues.", &["srq"], Rest),
            types("Endpoints.", &["ep"], Rest),
            types("Service points.", &["service_point"], Rest),
            types("Connection requests.", &["cr"], Rest),
            types("Events.", &["event"], Rest),
            types("Adapters.", &["ia"], Rest),
            types("Provider attributes.", &["provider_attr"], Rest),
            types("The registry.", &["registry"], Rest),
            types("Extended operations.", &["extension"], Rest),
            Part::Fragment("names"),
            calls("Adapters.", &["ia_open", "ia"], Rest),
            Part::Fragment("calls"),
            calls("All handles.", &["generic"], Rest),
            calls("Protection zones.", &["pz"], Rest),
            calls("Local memory regions.", &["lmr"], Rest),
            calls("Remote memory regions.", &["rmr"], Rest),
            calls("Event dispatchers.", &["evd"], Rest),
            calls("Endpoints.", &["ep"], Rest),
            calls("Posts.", &["post"], Rest),
            calls("Shared receive queues.", &["srq"], Rest),
            calls("Service points.", &["service_point"], Rest),
            calls("Connection requests.", &["cr"], Rest),
            calls("The registry.", &["registry"], Rest),
            calls("Errors.", &["error"], Rest),
        ],
    },
    Header {
        name: "udat_vendor_specific.h",
        about: "Vendor additions for user-space programs: none.",
        includes: &["dat_vendor_specific.h"],
        parts: &[],
    },
    Header {
        name: "udat.h",
        about: "DAT for user-space programs: the header to include.",
        includes: &["udat_config.h", "dat_platform_specific.h", "dat.h", "udat_vendor_specific.h"],
        parts: &[
            types("Notification objects.", &["cno"], Rest),
            Part::Fragment("agent"),
            calls("Notification objects.", &["cno"], Rest),
        ],
    },
    Header {
        name: "dat_redirection.h",
        about: "Macros that call the provider of a handle directly, without checks.",
        includes: &["<stdarg.h>", "udat.h"],
        parts: &[Part::Slots, Part::Fragment("redirection"), Part::Redirections],
    },
    Header {
        name: "udat_redirection.h",
        about: "The function table of a provider.",
        includes: &["udat.h", "dat_redirection.h"],
        parts: &[types("The table.", &["provider"], Rest)],
    },
    Header {
        name: "dat_registry.h",
        about: "The registry interface for providers.",
        includes: &["udat.h", "udat_redirection.h"],
        parts: &[
            types("Entry points of a provider library.", &["registry"], Only(ENTRIES)),
            Part::Fragment("registry"),
            calls("Registration.", &["registry"], Only(REGISTRATION)),
        ],
    },
    Header {
        name: "dat_detail.h",
        about: "Error descriptions beyond dat_strerror. This header exists only in this \
             implementation.",
        includes: &["dat_platform_specific.h"],
        parts: &[calls("Errors.", &["error"], Only(DETAIL))],
    },
    Header {
        name: "dat_ib_extensions.h",
        about: "The InfiniBand extensions.",
        includes: &["udat.h"],
        parts: &[
            Part::Fragment("ib_opaque"),
            types("Operations.", &["ib_op"], Rest),
            types("Counters.", &["ib_counter"], Rest),
            types("Collective operations. No provider supports them.", &["ib_collective"], Rest),
            types("Events.", &["ib_event"], Rest),
            Part::Fragment("ib_calls"),
        ],
    },
];
