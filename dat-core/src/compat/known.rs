//! Programs that are known to break a rule, cannot be changed, and are recognised by themselves.
//!
//! The signs are in the process: a loaded library together with a symbol that no other library of
//! that name has, the name of the executable, or a symbol that is linked into it. The environment is
//! not a sign. So the table also applies to privileged processes, which ignore
//! [`Compat::VARIABLE`]: their user cannot choose what they load.

use std::ffi::CStr;
use std::fmt;

use super::{Compat, Rule};

/// A program, or a library that programs are linked with.
#[derive(Debug, PartialEq, Eq)]
pub struct KnownProgram {
    /// Its common name.
    pub name: &'static str,
    /// How it is recognised: any of these is enough.
    pub signs: &'static [ProgramSign],
    /// The rules that it breaks; the others hold.
    pub relaxed: Compat,
    /// The behaviour that breaks the rules.
    pub reason: &'static str,
}

/// A sign that a process is a known program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramSign {
    /// A shared object with this name is loaded and defines this symbol.
    Library {
        /// The name of its file, without a version.
        name: &'static str,
        /// A dynamic symbol, which other libraries of that name do not define.
        symbol: &'static CStr,
    },
    /// The process executes a file of this name, whatever its folder.
    Executable(&'static str),
    /// The executable defines this symbol, because it is linked with the library statically. A
    /// stripped executable does not show it.
    Linked(&'static CStr),
}

/// The known programs.
pub static PROGRAMS: [KnownProgram; 2] = [
    KnownProgram {
        name: "Intel MPI up to 2018",
        // Other MPI libraries have the same name (libmpi.so.12), without this symbol.
        signs: &[ProgramSign::Library { name: "libmpi.so", symbol: c"I_MPI_Check_image_status" }],
        relaxed: Compat::relaxing(&[Rule::MixedFlags, Rule::WideQualifiers]),
        reason: "its endpoints have unsignalled requests and default receives on one dispatcher, and with \
                 I_MPI_DAPL_UD_RDMA_MIXED=1 it does not set the upper half of a connection qualifier",
    },
    KnownProgram {
        name: "MVAPICH2 with its uDAPL device",
        // The symbol belongs to the device, so that MVAPICH2 over verbs and MPICH do not have it.
        signs: &[
            ProgramSign::Library { name: "libmpich.so", symbol: c"udapl_prepost_depth" },
            ProgramSign::Linked(c"udapl_prepost_depth"),
        ],
        relaxed: Compat::relaxing(&[Rule::MixedFlags]),
        reason: "its endpoints have unsignalled requests and default receives on one dispatcher",
    },
];

/// The first program of the table with a sign that is present.
pub fn recognise(is_present: impl Fn(&ProgramSign) -> bool) -> Option<&'static KnownProgram> {
    PROGRAMS.iter().find(|program| program.signs.iter().any(&is_present))
}

/// Says that the program was recognised, and what follows from that.
impl fmt::Display for KnownProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let signs: Vec<String> = self.signs.iter().map(ToString::to_string).collect();
        write!(
            f,
            "the process was recognised as {} by {}: {}; relaxed for it: {}",
            self.name,
            signs.join(" or "),
            self.reason,
            self.relaxed
        )
    }
}

impl fmt::Display for ProgramSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Library { name, symbol } => write!(f, "{name} with {}", symbol.to_string_lossy()),
            Self::Executable(name) => write!(f, "the executable {name}"),
            Self::Linked(symbol) => write!(f, "an executable with {}", symbol.to_string_lossy()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_relaxes_a_rule_and_says_why() {
        for program in &PROGRAMS {
            assert!(program.relaxed != Compat::STRICT, "{program:?}");
            assert!(!program.signs.is_empty() && !program.reason.is_empty(), "{program:?}");
        }
    }

    #[test]
    fn a_program_is_recognised_by_any_of_its_signs() {
        for program in &PROGRAMS {
            for sign in program.signs {
                assert_eq!(recognise(|present| present == sign), Some(program));
            }
        }
        assert_eq!(recognise(|_| false), None);
    }
}
