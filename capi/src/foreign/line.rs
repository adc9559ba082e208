//! Lines of the configuration whose libraries are loaded and initialised: once for all adapters of
//! a line, until the last of them is closed.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};

use dat_core::Error;
use dat_core::registry::{EntryOrigin, Library, Line, Registration};
use dat_sync::{Condvar, ProcessLock, Rank};

use super::library::SharedObject;
use super::registered::{self, Report};
use crate::abi::{
    DAT_PROVIDER_FINI_FUNC, DAT_PROVIDER_FINI_FUNC_STR, DAT_PROVIDER_INFO, DAT_PROVIDER_INIT_FUNC,
    DAT_PROVIDER_INIT_FUNC_STR,
};
use crate::convert::{boolean, name};
use crate::debug::{self, Kind};

enum State {
    /// A thread initialises or finalises the library; it holds no lock.
    Changing(usize),
    Started {
        library: Started,
        uses: usize,
    },
}

static LINES: ProcessLock<BTreeMap<EntryOrigin, State>> =
    ProcessLock::with_child(Rank::ForeignLibraries, BTreeMap::new(), abandon_changes);
static CHANGED: Condvar = Condvar::new();

/// The id of the calling thread, which is a pointer in musl. Rust's own thread id would allocate memory that is never
/// freed.
fn this_thread() -> usize {
    // SAFETY: the call takes no arguments and returns a number or an address, which is not read.
    unsafe { libc::pthread_self() as usize }
}

/// Runs in a child of a fork, which has one thread: the changes of others would never end. The next use of
/// such a library initialises it again.
fn abandon_changes(lines: &mut BTreeMap<EntryOrigin, State>) {
    lines.retain(|_, state| !matches!(state, State::Changing(by) if *by != this_thread()));
}

/// A thread's exclusive right to initialise or finalise the library of a line.
struct Change(EntryOrigin);

impl Drop for Change {
    fn drop(&mut self) {
        let mut lines = LINES.lock();
        if matches!(lines.get(&self.0), Some(State::Changing(_))) {
            lines.remove(&self.0);
        }
        CHANGED.notify_all();
    }
}

/// Keeps the library of a line loaded; dropping the last one finalises and unloads it.
pub(super) struct Loaded(EntryOrigin);

impl Loaded {
    /// Loads and initialises the library of a line if necessary. The error is shown in listings.
    pub(super) fn get(library: &Library) -> Result<Self, Error> {
        let origin = &library.origin;
        let mut lines = LINES.lock();
        loop {
            match lines.get_mut(origin) {
                Some(State::Started { uses, .. }) => {
                    *uses += 1;
                    return Ok(Self(origin.clone()));
                }
                Some(State::Changing(by)) if *by == this_thread() => {
                    let file = &library.line.library;
                    let reason = format!("{file} opens itself during its initialization");
                    return Err(library.unusable(reason));
                }
                Some(State::Changing(_)) => lines.wait(&CHANGED),
                None => break,
            }
        }
        lines.insert(origin.clone(), State::Changing(this_thread()));
        drop(lines);
        let change = Change(origin.clone());
        let started = Started::new(library).map_err(|reason| library.unusable(reason))?;
        LINES.lock().insert(origin.clone(), State::Started { library: started, uses: 1 });
        drop(change);
        Ok(Self(origin.clone()))
    }

    /// Another use of the library of a line, if it is loaded.
    pub(super) fn again(origin: &EntryOrigin) -> Option<Self> {
        match LINES.lock().get_mut(origin)? {
            State::Started { uses, .. } => {
                *uses += 1;
                Some(Self(origin.clone()))
            }
            State::Changing(_) => None,
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let mut lines = LINES.lock();
        let Some(state) = lines.get_mut(&self.0) else { return };
        let State::Started { uses, .. } = state else { return };
        *uses -= 1;
        if *uses > 0 {
            return;
        }
        let last = std::mem::replace(state, State::Changing(this_thread()));
        drop(lines);
        let change = Change(self.0.clone());
        if let State::Started { library, .. } = last {
            library.end(&self.0);
        }
        drop(change);
    }
}

/// The registration that the library of a line must make.
pub(super) fn registration(line: &Line) -> Registration {
    Registration {
        name: line.name.clone(),
        version: line.api_version,
        thread_safe: line.thread_safe,
    }
}

/// A library that was initialised. It is unloaded before the other fields are dropped, to which it
/// may point.
struct Started {
    _object: SharedObject,
    fini: DAT_PROVIDER_FINI_FUNC,
    info: Box<DAT_PROVIDER_INFO>,
    _instance_data: CString,
}

impl Started {
    /// Loads and initialises a library. The error is the reason of a failure.
    fn new(library: &Library) -> Result<Self, String> {
        let line = &library.line;
        let file = &line.library;
        let expected = registration(line);
        let instance_data = CString::new(line.parameters.as_str())
            .map_err(|_| "the IA parameters contain a NUL byte".to_owned())?;
        let info = Box::new(DAT_PROVIDER_INFO {
            ia_name: name(&line.name),
            dapl_version_major: line.api_version.major,
            dapl_version_minor: line.api_version.minor,
            is_thread_safe: boolean(line.thread_safe),
        });
        debug::say(Kind::Static, || format!("{}: loading {file}", library.origin));
        let (started, report) = registered::starting(&library.origin, &expected, || {
            let object = SharedObject::load(file)?;
            let init = object.symbol(DAT_PROVIDER_INIT_FUNC_STR);
            // SAFETY: the entry point of a provider has this type; a missing symbol is `None`.
            let init: DAT_PROVIDER_INIT_FUNC = unsafe { std::mem::transmute(init) };
            let Some(init) = init else {
                registered::remove_of(&library.origin);
                let entry = text(DAT_PROVIDER_INIT_FUNC_STR);
                return Err(format!("{file} is not a provider: it has no {entry}"));
            };
            let fini = object.symbol(DAT_PROVIDER_FINI_FUNC_STR);
            // SAFETY: the entry point of a provider has this type; a missing symbol is `None`.
            let fini: DAT_PROVIDER_FINI_FUNC = unsafe { std::mem::transmute(fini) };
            debug::say(Kind::Provider, || {
                let entry = text(DAT_PROVIDER_INIT_FUNC_STR);
                format!("{file}: {entry} ({expected}, {:?})", line.parameters)
            });
            // SAFETY: the arguments are a struct and a string that stay valid until the library is
            // finalised.
            unsafe { init(&raw const *info, instance_data.as_ptr()) };
            Ok(Self { _object: object, fini, info, _instance_data: instance_data })
        });
        let started = started.inspect_err(|_| registered::remove_of(&library.origin))?;
        if report.registered.contains(&expected) && registered::contains(&expected) {
            return Ok(started);
        }
        started.end(&library.origin);
        Err(missing(file, &expected, &report))
    }

    /// Finalises and unloads the library.
    fn end(self, line: &EntryOrigin) {
        if let Some(fini) = self.fini {
            debug::say(Kind::Provider, || format!("{line}: {}", text(DAT_PROVIDER_FINI_FUNC_STR)));
            // SAFETY: the argument is the one with which the library was initialised, and it has no
            // open adapter.
            unsafe { fini(&raw const *self.info) };
        }
        registered::remove_of(line);
        debug::say(Kind::Static, || format!("{line}: unloading the library"));
    }
}

/// Why a library that was initialised did not register the provider of its line.
fn missing(file: &str, expected: &Registration, report: &Report) -> String {
    let entry = text(DAT_PROVIDER_INIT_FUNC_STR);
    let did = match (report.registered.as_slice(), report.refusals.as_slice()) {
        ([], []) => "registered nothing".to_owned(),
        ([], refusals) => format!("could not register: {}", joined(refusals)),
        (others, []) => format!("registered {}", joined(others)),
        (others, refusals) => {
            format!("registered {}, but not {}", joined(others), joined(refusals))
        }
    };
    format!("{file}: {entry} {did}; the line requires the {expected}")
}

fn joined(items: &[impl ToString]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn text(name: &CStr) -> std::borrow::Cow<'_, str> {
    name.to_string_lossy()
}
