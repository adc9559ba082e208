//! The pages of all processes, as `dat top` sees them. What is in a page is not trusted.

use std::collections::HashMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustix::thread::futex;

use super::layout::{
    AdapterRecord, ConnectionRecord, CountersRecord, HEADER, MAGIC, MAX_SLOTS, NAME, Record, SLOT,
    Totals, Word,
};
use super::mapping::{self, Mapping};
use super::page::now;
use crate::counters::{CounterId, EpCounter};
use crate::ep::EpState;
use crate::provider::WaitCause;

/// A process with open adapters, as its last sample shows it.
#[derive(Clone, Debug)]
pub struct ProcessView {
    /// Its process id.
    pub process: u32,
    /// The name of its program.
    pub command: String,
    /// True if a signal or a debugger has stopped it.
    pub is_stopped: bool,
    /// The time since the sample. It is more than a second if the process is stopped, or gets no processor time.
    pub sample_age: Duration,
    /// Its adapters.
    pub adapters: Vec<AdapterView>,
    /// Its endpoints that are connected or connecting.
    pub connections: Vec<ConnectionView>,
    /// Number of adapters and connections that do not fit into the page.
    pub omitted: u64,
}

/// An open adapter.
#[derive(Clone, Debug)]
pub struct AdapterView {
    /// Its number in the process.
    pub ia: u64,
    /// The name by which it was opened.
    pub name: String,
    /// Number of its endpoints.
    pub endpoints: u64,
    /// What does not work, as a clause: its metrics file cannot be written. Usually empty.
    pub trouble: String,
}

/// An endpoint that is connected or connecting.
#[derive(Clone, Debug)]
pub struct ConnectionView {
    /// The number of its adapter in the process.
    pub ia: u64,
    /// Its number in the process.
    pub ep: u64,
    /// Its state; `None` if it is not known.
    pub state: Option<EpState>,
    /// The kind of its link: `shm`, `tcp`, `loopback`. Empty if it has none.
    pub transport: String,
    /// The reader of the link, by its name in docs/attention.md. Empty if the provider has no such choice.
    pub reader: String,
    /// The address and the port of the peer.
    pub peer: String,
    /// Number of requests that were posted and are not complete.
    pub requests: u32,
    /// Number of receives that no message has consumed.
    pub receives: u32,
    /// Number of messages for which the peer has receives; `None` if that is unknown.
    pub credits: Option<u32>,
    /// Number of completions that the consumer has not taken.
    pub completions: u32,
    /// Requests that were posted.
    pub sent: TrafficView,
    /// Requests of the peer that were executed.
    pub received: TrafficView,
    /// The time for which the oldest request or completion has made no progress, at the time of the sample. It may be up
    /// to 8 s longer if no reader has requested samples before.
    pub age: Duration,
    /// What it waits for, if that is for more than a second.
    pub waits_for: Option<WaitCause>,
    /// The counters of the endpoint that are not 0, if the program has started them (dat_ib_start_counter).
    pub counters: Vec<(EpCounter, u64)>,
}

/// What has passed a connection in one direction.
#[derive(Clone, Copy, Debug, Default)]
pub struct TrafficView {
    /// Number of requests.
    pub requests: u64,
    /// Number of bytes, with what the link adds; `None` if they are not counted.
    pub bytes: Option<u64>,
    /// Requests per second since the previous view; `None` in the first one.
    pub requests_per_second: Option<f64>,
    /// Bytes per second since the previous view; `None` in the first one, or if they are not counted.
    pub bytes_per_second: Option<f64>,
}

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
/// let (processes, _) = Watch::new().look();
/// let own = processes.iter().find(|one| one.process == std::process::id()).expect("this one");
/// assert!(own.adapters.iter().any(|adapter| adapter.name == "loopback"));
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Watch {
    /// The totals of each connection when it was seen last, and the time of that sample.
    seen: HashMap<(u32, u64, u64), (u64, Totals, Totals)>,
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

    /// The processes of this user with open adapters (those of all users for root), and those that cannot be shown.
    pub fn look(&mut self) -> (Vec<ProcessView>, Vec<PageError>) {
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
                        let key = (view.process, connection.ia, connection.ep);
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

impl TrafficView {
    fn totals(&self) -> Totals {
        Totals { requests: self.requests, bytes: self.bytes }
    }

    fn compare(&mut self, before: &Totals, seconds: f64) {
        let rate = |now: u64, before: u64| now.saturating_sub(before) as f64 / seconds;
        self.requests_per_second = Some(rate(self.requests, before.requests));
        let bytes = self.bytes.zip(before.bytes);
        self.bytes_per_second = bytes.map(|(now, before)| rate(now, before));
    }
}

impl From<Totals> for TrafficView {
    fn from(Totals { requests, bytes }: Totals) -> Self {
        Self { requests, bytes, ..Self::default() }
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
        Ok(is_own.then_some(Self { process, file, header }))
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
        answer.wrapping_sub(request) as i32 >= 0
            || dat_sync::process::is_stopped(self.process as i32)
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
                let mut view = self.view(&bytes);
                view.omitted = omitted;
                view.sample_age = Duration::from_nanos(now().saturating_sub(time));
                return Ok((time, view));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err("its page changes all the time".to_owned())
    }

    fn view(&self, bytes: &[u8]) -> ProcessView {
        let command = fs::read(format!("/proc/{}/comm", self.process)).unwrap_or_default();
        let command = String::from_utf8_lossy(&command).trim_end_matches('\n').to_owned();
        let mut view = ProcessView {
            process: self.process,
            command,
            is_stopped: dat_sync::process::is_stopped(self.process as i32),
            sample_age: Duration::ZERO,
            adapters: Vec::new(),
            connections: Vec::new(),
            omitted: 0,
        };
        for slot in bytes.chunks_exact(SLOT * size_of::<u64>()) {
            let words: Vec<u64> = slot.chunks_exact(size_of::<u64>()).map(word_of).collect();
            match Record::decode(&words) {
                Some(Record::Adapter(AdapterRecord { ia, name, endpoints, trouble })) => {
                    view.adapters.push(AdapterView { ia, name, endpoints, trouble });
                }
                Some(Record::Connection(connection)) => {
                    view.connections.push(connection.into());
                }
                Some(Record::Counters(CountersRecord { ia, ep, values })) => {
                    // They follow their connection.
                    let last = view.connections.last_mut();
                    if let Some(connection) = last.filter(|it| (it.ia, it.ep) == (ia, ep)) {
                        let all = EpCounter::ALL.iter().copied().zip(values);
                        connection.counters = all.filter(|(_, value)| *value != 0).collect();
                    }
                }
                None => {}
            }
        }
        view
    }
}

fn word_of(bytes: &[u8]) -> u64 {
    u64::from_ne_bytes(std::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0)))
}

impl From<ConnectionRecord> for ConnectionView {
    fn from(record: ConnectionRecord) -> Self {
        Self {
            ia: record.ia,
            ep: record.ep,
            state: record.state,
            transport: record.transport,
            reader: record.reader,
            peer: record.peer,
            requests: record.requests,
            receives: record.receives,
            credits: record.credits,
            completions: record.completions,
            sent: record.sent.into(),
            received: record.received.into(),
            age: Duration::from_nanos(record.age),
            waits_for: record.waits_for,
            counters: Vec::new(),
        }
    }
}

/// The number by which a process knows itself: that of its own name space of processes.
fn own_number(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    match numbers {
        Some(numbers) => numbers.split_whitespace().next_back()?.parse().ok(),
        None => Some(process.into()),
    }
}
