//! Which header holds what. The names of the headers, and which name a program finds in which of
//! them, are those of other DAT libraries, so that programs compile unchanged.

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
    /// Types and constants of the sources `abi/*/NOUN.rs`, under a title.
    Types { title: &'static str, nouns: &'static [&'static str], pick: Pick },
    /// Functions of the sources `exports/*/NOUN.rs`.
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

/// Whether a type is that of a slot of the provider table.
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
    "psp",
    "rsp",
    "csp",
    "pz",
    "srq",
    "extension",
];

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
            Part::Types { title: "Integers and names.", nouns: &["base"], pick: Pick::Rest },
            Part::Types {
                title: "Socket addresses.",
                nouns: &["address"],
                pick: Pick::Only(PLATFORM),
            },
        ],
    },
    Header {
        name: "udat_config.h",
        about: "DAT version and configuration.",
        includes: &["dat_platform_specific.h"],
        parts: &[
            Part::Types { title: "Configuration.", nouns: &["base"], pick: Pick::Only(CONFIG) },
            Part::Types { title: "Extensions.", nouns: &["extension"], pick: Pick::Only(CONFIG) },
        ],
    },
    Header {
        name: "dat_error.h",
        about: "Return codes.",
        includes: &["dat_platform_specific.h"],
        parts: &[
            Part::Types { title: "Return values.", nouns: &["error"], pick: Pick::Rest },
            Part::Fragment("error"),
        ],
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
            Part::Types {
                title: "Addresses, qualifiers and quality of service.",
                nouns: &["address"],
                pick: Pick::Rest,
            },
            Part::Types { title: "Handles.", nouns: &["handle"], pick: Pick::Rest },
            Part::Types { title: "Data transfer operations.", nouns: &["dto"], pick: Pick::Rest },
            Part::Types {
                title: "Local and remote memory regions.",
                nouns: &["lmr", "rmr"],
                pick: Pick::Rest,
            },
            Part::Types { title: "Protection zones.", nouns: &["pz"], pick: Pick::Rest },
            Part::Types { title: "Event dispatchers.", nouns: &["evd"], pick: Pick::Rest },
            Part::Types { title: "Shared receive queues.", nouns: &["srq"], pick: Pick::Rest },
            Part::Types { title: "Endpoints.", nouns: &["ep"], pick: Pick::Rest },
            Part::Types { title: "Service points.", nouns: &["service_point"], pick: Pick::Rest },
            Part::Types { title: "Connection requests.", nouns: &["cr"], pick: Pick::Rest },
            Part::Types { title: "Events.", nouns: &["event", "async_error"], pick: Pick::Rest },
            Part::Types { title: "Adapters.", nouns: &["ia"], pick: Pick::Rest },
            Part::Types {
                title: "Provider attributes.",
                nouns: &["provider_attr"],
                pick: Pick::Rest,
            },
            Part::Types { title: "The registry.", nouns: &["registry"], pick: Pick::Rest },
            Part::Types { title: "Extended operations.", nouns: &["extension"], pick: Pick::Rest },
            Part::Fragment("names"),
            Part::Calls { title: "Adapters.", nouns: &["ia_open", "ia"], pick: Pick::Rest },
            Part::Fragment("calls"),
            Part::Calls { title: "All handles.", nouns: &["generic"], pick: Pick::Rest },
            Part::Calls { title: "Protection zones.", nouns: &["pz"], pick: Pick::Rest },
            Part::Calls { title: "Local memory regions.", nouns: &["lmr"], pick: Pick::Rest },
            Part::Calls { title: "Remote memory regions.", nouns: &["rmr"], pick: Pick::Rest },
            Part::Calls { title: "Event dispatchers.", nouns: &["evd"], pick: Pick::Rest },
            Part::Calls { title: "Endpoints.", nouns: &["ep"], pick: Pick::Rest },
            Part::Calls { title: "Posts.", nouns: &["post"], pick: Pick::Rest },
            Part::Calls { title: "Shared receive queues.", nouns: &["srq"], pick: Pick::Rest },
            Part::Calls {
                title: "Service points.",
                nouns: &["psp", "rsp", "csp"],
                pick: Pick::Rest,
            },
            Part::Calls { title: "Connection requests.", nouns: &["cr"], pick: Pick::Rest },
            Part::Calls { title: "The registry.", nouns: &["registry"], pick: Pick::Rest },
            Part::Calls { title: "Errors.", nouns: &["error"], pick: Pick::Rest },
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
            Part::Types { title: "Notification objects.", nouns: &["cno"], pick: Pick::Rest },
            Part::Fragment("agent"),
            Part::Calls { title: "Notification objects.", nouns: &["cno"], pick: Pick::Rest },
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
        parts: &[Part::Types { title: "The table.", nouns: &["provider"], pick: Pick::Rest }],
    },
    Header {
        name: "dat_registry.h",
        about: "The registry interface for providers.",
        includes: &["udat.h", "udat_redirection.h"],
        parts: &[
            Part::Types {
                title: "Entry points of a provider library.",
                nouns: &["registry"],
                pick: Pick::Only(ENTRIES),
            },
            Part::Fragment("registry"),
            Part::Calls {
                title: "Registration.",
                nouns: &["registry"],
                pick: Pick::Only(REGISTRATION),
            },
        ],
    },
    Header {
        name: "dat_detail.h",
        about: "Error descriptions beyond dat_strerror. This header exists only in this \
             implementation.",
        includes: &["dat_platform_specific.h"],
        parts: &[Part::Calls { title: "Errors.", nouns: &["error"], pick: Pick::Only(DETAIL) }],
    },
    Header {
        name: "dat_ib_extensions.h",
        about: "The InfiniBand extensions.",
        includes: &["udat.h"],
        parts: &[
            Part::Fragment("ib_opaque"),
            Part::Types { title: "Operations.", nouns: &["ib_op"], pick: Pick::Rest },
            Part::Types { title: "Counters.", nouns: &["ib_counter"], pick: Pick::Rest },
            Part::Types {
                title: "Collective operations. No provider supports them.",
                nouns: &["ib_collective"],
                pick: Pick::Rest,
            },
            Part::Types { title: "Events.", nouns: &["ib_event"], pick: Pick::Rest },
            Part::Fragment("ib_calls"),
        ],
    },
];
