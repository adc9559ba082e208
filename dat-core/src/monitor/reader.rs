//! The pages of all processes, as `dat top` sees them. What is in a page is not trusted.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::thread::futex;

use super::layout::{HEADER, MAGIC, MAX_SLOTS, NAME, SLOT, Totals, Word};
use super::mapping::{self, Mapping};
use super::page::now;
use super::view::{ProcessView, view_of};

/// The page of a process cannot be shown.
#[derive(Debug)]
pub struct PageError {
    /// The process.
    pub process: u32,
    /// Why, as a clause.
    pub reason: String,
}

impl fmt::Display for PageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {}: {}", self.process, self.reason)
    }
}

impl std::error::Error for PageError {}

/// Reads the pages of the processes of this user again and again.
///
/// ```
/// use dat_core::monitor::Watch;
///
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// let ia = registry.open("loopback")?;
/// let (processes, _) = Watch::new().sample();
/// let own = processes.iter().find(|one| one.process == std::process::id()).expect("this one");
/// assert!(own.adapters.iter().any(|adapter| adapter.name == "loopback"));
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    /// The totals of each connection, by the numbers of its page, its adapter and itself, when it was seen last, and the
    /// time of that sample.
    seen: HashMap<(u64, u64, u64), (u64, Totals, Totals)>,
}

/// How long processes that are not stopped have to answer the request for a sample.
const PATIENCE: Duration = Duration::from_secs(1);
/// Attempts to read a page that is being written.
const ATTEMPTS: usize = 50;

impl Watch {
    /// Has seen nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The processes of this user (for root: of all users) with open adapters, and the pages that cannot be shown.
    pub fn sample(&mut self) -> (Vec<ProcessView>, Vec<PageError>) {
        let mut pages = Vec::new();
        let mut errors = Vec::new();
        for (process, path) in files() {
            match Source::open(process, path) {
                Ok(source) => pages.extend(source),
                Err(reason) => errors.push(PageError { process, reason }),
            }
        }
        let requests: Vec<u32> = pages.iter().map(Source::request).collect();
        let deadline = Instant::now() + PATIENCE;
        let is_answered = || pages.iter().zip(&requests).all(|(page, it)| page.has_answered(*it));
        while !is_answered() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut seen = HashMap::new();
        let mut processes = Vec::new();
        for page in &pages {
            match page.read() {
                Ok((time, mut view)) => {
                    for connection in &mut view.connections {
                        let key = (page.number, connection.ia, connection.ep);
                        let totals = (connection.sent.totals(), connection.received.totals());
                        let before = self.seen.get(&key).filter(|(then, ..)| *then < time);
                        if let Some((then, sent, received)) = before {
                            let seconds = (time - then) as f64 / 1e9;
                            connection.sent.compare(sent, seconds);
                            connection.received.compare(received, seconds);
                        }
                        seen.insert(key, (time, totals.0, totals.1));
                    }
                    processes.push(view);
                }
                Err(reason) => errors.push(PageError { process: page.process, reason }),
            }
        }
        self.seen = seen;
        (processes, errors)
    }
}

/// The files of pages that this user can see, each with its process.
fn files() -> Vec<(u32, PathBuf)> {
    let expected = format!("/memfd:{NAME} (deleted)");
    let is_page = |path: &PathBuf| fs::read_link(path).is_ok_and(|to| to.as_os_str() == &*expected);
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        // The descriptors of other users' processes are not readable.
        let descriptors = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
        found.extend(descriptors.map(|it| it.path()).filter(is_page).map(|it| (process, it)));
    }
    found
}

/// The page of one process.
struct Source {
    process: u32,
    /// The number of its file. A process has several pages if several libraries in it have adapters.
    number: u64,
    file: File,
    header: Mapping,
}

impl Source {
    /// Opens a page. `None` if the process is gone, or has inherited the descriptor from another one.
    fn open(process: u32, path: PathBuf) -> Result<Option<Self>, String> {
        let file = match OpenOptions::new().read(true).write(true).open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("its page cannot be opened: {error}")),
            Ok(file) => file,
        };
        mapping::check(&file).map_err(|_| "its page has another length, or no seals".to_owned())?;
        let header = Mapping::new(&file, HEADER)
            .map_err(|errno| format!("its page cannot be mapped: {}", io::Error::from(errno)))?;
        let word = |word| header.word(word).load(Ordering::Acquire);
        if word(Word::Magic) != MAGIC {
            return Err("its page has another format; use the `dat` of its library".to_owned());
        }
        let is_own = own_number(process) == Some(word(Word::Process));
        let number = file.metadata().map_or(0, |metadata| metadata.ino());
        Ok(is_own.then_some(Self { process, number, file, header }))
    }

    /// Requests a sample. Returns the number of the request.
    fn request(&self) -> u32 {
        let word = self.header.futex(Word::Request);
        let request = word.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        let _ = futex::wake(word, futex::Flags::empty(), 1);
        request
    }

    fn has_answered(&self, request: u32) -> bool {
        let answer = self.header.futex(Word::Answer).load(Ordering::Acquire);
        self.is_complete()
            || answer.wrapping_sub(request) as i32 >= 0
            || dat_sync::process::is_stopped(self.process as i32)
    }

    /// Returns true if no thread has to answer, because the page has everything.
    fn is_complete(&self) -> bool {
        self.header.word(Word::IsComplete).load(Ordering::Acquire) == 1
    }

    /// The last sample, and its time.
    fn read(&self) -> Result<(u64, ProcessView), String> {
        let word = |word| self.header.word(word).load(Ordering::Acquire);
        for _ in 0..ATTEMPTS {
            let generation = word(Word::Generation);
            let (time, omitted) = (word(Word::Time), word(Word::Omitted));
            let slots = usize::try_from(word(Word::Slots)).unwrap_or(usize::MAX);
            if slots > MAX_SLOTS {
                return Err("its page contradicts itself".to_owned());
            }
            let mut bytes = vec![0; slots * SLOT * size_of::<u64>()];
            let read = self.file.read_exact_at(&mut bytes, (HEADER * size_of::<u64>()) as u64);
            read.map_err(|error| format!("its page cannot be read: {error}"))?;
            if generation % 2 == 0 && generation == word(Word::Generation) {
                let mut view = view_of(&bytes);
                view.process = self.process;
                view.command = command(self.process);
                view.is_stopped = dat_sync::process::is_stopped(self.process as i32);
                view.omitted = omitted;
                if !self.is_complete() {
                    view.sample_age = Duration::from_nanos(now().saturating_sub(time));
                }
                return Ok((time, view));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err("its page changes all the time".to_owned())
    }
}

/// The name of the program of a process; empty if it is gone.
fn command(process: u32) -> String {
    let command = fs::read(format!("/proc/{process}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&command).trim_end_matches('\n').to_owned()
}

/// The id of a process in its own name space of processes, which it has written into its page.
fn own_number(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    match numbers {
        Some(numbers) => numbers.split_whitespace().next_back()?.parse().ok(),
        None => Some(process.into()),
    }
}
