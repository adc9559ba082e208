//! Flag words as text, with the names of the program's language.

use std::fmt;

use crate::error::Terms;
use crate::flags::{CompletionFlags, EvdFlags, MemoryTypes, Privileges, Qos};

/// The names of the bits, joined by `|`; bits without a name as a number.
macro_rules! names {
    ($($flags:ident ($none:literal): $($flag:ident $name:literal),+;)+) => {$(
        impl fmt::Display for $flags {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut rest = *self;
                let mut separator = "";
                $(
                    if self.contains(Self::$flag) {
                        write!(f, "{separator}{}", Terms::current().name($name))?;
                        separator = " | ";
                        rest.remove(Self::$flag);
                    }
                )+
                match (self.is_empty(), rest.is_empty()) {
                    (true, _) => f.write_str(Terms::current().name($none)),
                    (_, true) => Ok(()),
                    _ => write!(f, "{separator}{:#x}", rest.bits()),
                }
            }
        }
    )+

        /// The names in C and in Rust, by type.
        pub(crate) const TERMS: &[&[(&str, &str)]] = &[$(
            &[$(($name, concat!(stringify!($flags), "::", stringify!($flag)))),+],
        )+];
    };
}

names! {
    CompletionFlags ("DAT_COMPLETION_DEFAULT_FLAG"):
        SUPPRESS "DAT_COMPLETION_SUPPRESS_FLAG",
        SOLICITED_WAIT "DAT_COMPLETION_SOLICITED_WAIT_FLAG",
        UNSIGNALLED "DAT_COMPLETION_UNSIGNALLED_FLAG",
        BARRIER_FENCE "DAT_COMPLETION_BARRIER_FENCE_FLAG",
        EVD_THRESHOLD "DAT_COMPLETION_EVD_THRESHOLD_FLAG",
        LMR_INVALIDATE_FENCE "DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG";
    Privileges ("DAT_MEM_PRIV_NONE_FLAG"):
        LOCAL_READ "DAT_MEM_PRIV_LOCAL_READ_FLAG",
        LOCAL_WRITE "DAT_MEM_PRIV_LOCAL_WRITE_FLAG",
        REMOTE_READ "DAT_MEM_PRIV_REMOTE_READ_FLAG",
        REMOTE_WRITE "DAT_MEM_PRIV_REMOTE_WRITE_FLAG",
        REMOTE_ATOMIC "DAT_IB_MEM_PRIV_REMOTE_ATOMIC";
    EvdFlags ("no stream"):
        SOFTWARE "DAT_EVD_SOFTWARE_FLAG",
        CONNECTION_REQUEST "DAT_EVD_CR_FLAG",
        DTO "DAT_EVD_DTO_FLAG",
        CONNECTION "DAT_EVD_CONNECTION_FLAG",
        RMR_BIND "DAT_EVD_RMR_BIND_FLAG",
        ASYNC "DAT_EVD_ASYNC_FLAG";
    MemoryTypes ("no memory"):
        VIRTUAL "DAT_MEM_TYPE_VIRTUAL",
        LMR "DAT_MEM_TYPE_LMR",
        SHARED_VIRTUAL "DAT_MEM_TYPE_SHARED_VIRTUAL";
    Qos ("DAT_QOS_BEST_EFFORT"):
        HIGH_THROUGHPUT "DAT_QOS_HIGH_THROUGHPUT",
        LOW_LATENCY "DAT_QOS_LOW_LATENCY",
        ECONOMY "DAT_QOS_ECONOMY",
        PREMIUM "DAT_QOS_PREMIUM";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_the_names_of_the_language() {
        let flags = EvdFlags::DTO | EvdFlags::CONNECTION;
        assert_eq!(flags.to_string(), "EvdFlags::DTO | EvdFlags::CONNECTION");
        assert_eq!(Privileges::empty().to_string(), "Privileges::empty()");
        let unknown = CompletionFlags::SUPPRESS | CompletionFlags::from_bits_retain(0x100);
        assert_eq!(unknown.to_string(), "CompletionFlags::SUPPRESS | 0x100");
        assert_eq!(Qos::from_bits_retain(0x10).to_string(), "0x10");
    }
}
