//! Signs of known programs in this process.

use std::ffi::{CStr, CString, OsStr, c_int, c_void};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dat_core::compat::ProgramSign;
use dat_sync::{ProcessLock, Rank};
use object::read::ReadCache;
use object::{Object, ObjectSymbol};

/// Returns true if this process shows a sign.
pub(crate) fn is_present(sign: &ProgramSign) -> bool {
    match sign {
        ProgramSign::Library { name, symbol } => {
            loaded(name).iter().any(|path| defines(path, symbol))
        }
        ProgramSign::Executable(name) => {
            let executable = std::env::current_exe();
            executable.is_ok_and(|path| path.file_name() == Some(OsStr::new(name)))
        }
        ProgramSign::Linked(symbol) => links(symbol),
        _ => false,
    }
}

/// Returns true if the executable defines a symbol for its linker, which the dynamic linker does not know.
/// Reading its table takes a millisecond for 30,000 symbols, so the answer is kept.
fn links(symbol: &'static CStr) -> bool {
    static ANSWERS: ProcessLock<Vec<(&CStr, bool)>> =
        ProcessLock::new(Rank::LinkedSymbols, Vec::new());
    let mut answers = ANSWERS.lock();
    if let Some((_, answer)) = answers.iter().find(|(asked, _)| *asked == symbol) {
        return *answer;
    }
    let answer = File::open("/proc/self/exe").is_ok_and(|file| has_symbol(file, symbol));
    answers.push((symbol, answer));
    answer
}

/// Returns true if an object file defines a symbol.
fn has_symbol(file: File, symbol: &CStr) -> bool {
    let file = ReadCache::new(file);
    object::File::parse(&file).is_ok_and(|file| {
        let mut symbols = file.symbols();
        symbols.any(|it| it.is_definition() && it.name_bytes() == Ok(symbol.to_bytes()))
    })
}

/// A search among the loaded objects.
struct Search<'a> {
    name: &'a str,
    found: Vec<CString>,
}

/// The paths of the loaded objects whose files have this name, or this name and a version. Unlike
/// `dlopen` with `RTLD_NOLOAD`, this does not search the file system for a library that is not loaded.
fn loaded(name: &str) -> Vec<CString> {
    /// Held by a thread that reads the list: glibc does not free its lock in a child of a fork.
    static READING: ProcessLock<()> = ProcessLock::new(Rank::LoadedObjects, ());
    let mut search = Search { name, found: Vec::new() };
    let _reading = READING.lock();
    // SAFETY: the function gets the address of `search`, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(note), (&raw mut search).cast()) };
    search.found
}

/// Notes a loaded object that has the name.
unsafe extern "C" fn note(
    object: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    search: *mut c_void,
) -> c_int {
    // SAFETY: `loaded` passes the address of its search, which no other code uses meanwhile.
    let search = unsafe { &mut *search.cast::<Search<'_>>() };
    // SAFETY: the loader passes the address of its description of an object.
    let path = unsafe { (*object).dlpi_name };
    if !path.is_null() {
        // SAFETY: the loader's string is valid while the function runs.
        let path = unsafe { CStr::from_ptr(path) };
        if is_named(path, search.name) {
            search.found.push(path.to_owned());
        }
    }
    0
}

/// Returns true if a file has this name, or this name and a version.
fn is_named(path: &CStr, name: &str) -> bool {
    let file = Path::new(OsStr::from_bytes(path.to_bytes())).file_name();
    let rest = file.and_then(|file| file.as_bytes().strip_prefix(name.as_bytes()));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"."))
}

/// Returns true if a loaded library defines a symbol.
fn defines(path: &CStr, symbol: &CStr) -> bool {
    // SAFETY: the library is loaded, so no code runs.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
    if library.is_null() {
        return false;
    }
    // SAFETY: the handle was just returned, and the name is a C string.
    let found = !unsafe { libc::dlsym(library, symbol.as_ptr()) }.is_null();
    // SAFETY: the handle was returned above, and is not used any more.
    unsafe { libc::dlclose(library) };
    // The program must not see the error of a symbol that it did not look up.
    // SAFETY: the call takes no arguments.
    unsafe { libc::dlerror() };
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_recognised_if_it_is_loaded_and_has_the_symbol() {
        for (name, symbol, is) in [
            ("libc.so", c"malloc", true),
            ("libc.so.6", c"malloc", true),
            ("libc.so", c"I_MPI_Check_image_status", false),
            ("ibc.so", c"malloc", false),
            ("libmpi.so", c"malloc", false),
        ] {
            assert_eq!(is_present(&ProgramSign::Library { name, symbol }), is, "{name} {symbol:?}");
        }
    }

    #[test]
    fn an_executable_is_recognised_by_the_name_of_its_file() {
        let path = std::env::current_exe().unwrap();
        let name: &'static str = path.file_name().unwrap().to_string_lossy().into_owned().leak();
        assert!(is_present(&ProgramSign::Executable(name)));
        assert!(!is_present(&ProgramSign::Executable("dtest")));
    }

    #[test]
    fn a_statically_linked_library_is_recognised_by_a_symbol_of_the_executable() {
        #[unsafe(no_mangle)]
        static A_SYMBOL_OF_THIS_EXECUTABLE: u8 = 1;
        assert_eq!(std::hint::black_box(&A_SYMBOL_OF_THIS_EXECUTABLE), &1);
        // The second answer is the one that was kept.
        for _ in 0..2 {
            assert!(is_present(&ProgramSign::Linked(c"A_SYMBOL_OF_THIS_EXECUTABLE")));
            assert!(!is_present(&ProgramSign::Linked(c"a_symbol_of_no_executable")));
        }
    }

    #[test]
    fn a_version_may_follow_the_name_of_a_library() {
        for (path, is) in [
            (c"/opt/lib/libmpi.so", true),
            (c"/opt/lib/libmpi.so.12", true),
            (c"libmpi.so.12.0", true),
            (c"/opt/lib/libmpi.so12", false),
            (c"/opt/libmpi.so/libother.so", false),
            (c"", false),
        ] {
            assert_eq!(is_named(path, "libmpi.so"), is, "{path:?}");
        }
    }
}
