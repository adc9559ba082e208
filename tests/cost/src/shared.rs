//! The operations in C: `operations.c`, linked with one of the C libraries.

use std::path::Path;

use libloading::Library;

use crate::end::Failure;
use crate::operation::Operation;

type Open = unsafe extern "C" fn();
type Repeat = unsafe extern "C" fn(std::ffi::c_ulong);

/// One of the C libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// libdat.so.1, DAT 1.2.
    Dat,
    /// libdat2.so.2, DAT 2.0.
    Dat2,
}

impl Name {
    pub(crate) const ALL: [Self; 2] = [Self::Dat, Self::Dat2];

    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Dat => "dat",
            Self::Dat2 => "dat2",
        }
    }
}

/// Two connected endpoints, which belong to C.
pub(crate) struct Shared {
    library: Library,
}

impl Shared {
    /// Loads the operations with a library from a folder, and connects the endpoints.
    pub(crate) fn open(folder: &Path, name: Name) -> Result<Self, Failure> {
        let path = folder.join(format!("{}.so", name.text()));
        // SAFETY: the object and the library that it needs have no constructors that matter here.
        let library = unsafe { Library::new(&path) }
            .map_err(|error| format!("{}: {error}", path.display()))?;
        // SAFETY: the type of the function in operations.c.
        let open = unsafe { library.get::<Open>(b"cost_open") }?;
        // SAFETY: called once, before any other.
        unsafe { open() };
        Ok(Self { library })
    }

    /// The function that repeats an operation.
    pub(crate) fn repeat(&self, operation: Operation) -> Result<impl Fn(u64) + '_, Failure> {
        // SAFETY: the type of each of these functions in operations.c.
        let function = unsafe { self.library.get::<Repeat>(operation.name().as_bytes()) }?;
        // SAFETY: the endpoints are connected, and used by this thread only.
        Ok(move |times| unsafe { function(times as std::ffi::c_ulong) })
    }

    /// Does what comes before the first run of an operation, if there is anything.
    pub(crate) fn prepare(&self, operation: Operation) {
        let name = format!("{}_before", operation.name());
        // SAFETY: the type of each of these functions in operations.c.
        let Ok(function) = (unsafe { self.library.get::<Open>(name.as_bytes()) }) else { return };
        // SAFETY: as for the operation.
        unsafe { function() }
    }

    pub(crate) fn close(self) -> Result<(), Failure> {
        // SAFETY: the type of the function in operations.c.
        let close = unsafe { self.library.get::<Open>(b"cost_close") }?;
        // SAFETY: called once, after all others.
        unsafe { close() };
        Ok(())
    }
}
