//! What the objects of an adapter share, and the thread that makes progress for them.

use std::collections::HashMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use dat_provider::ListenSink;
use dat_provider::error::Result;
use parking_lot::Mutex;
use rustix::event::{EventfdFlags, Timespec, epoll, eventfd};

use super::conn::Conn;
use super::connect::{Incoming, Pending, no_thread};
use super::hello::Hello;
use super::pair::Pair;
use super::transport::{Acceptor, Connected, Transport};
use crate::bytes;
use crate::frame::{Body, Frame, Reason, VERSION};
use crate::link::{Budget, FrameSink, Places, Reader, Refused, Writer, Written};
use crate::outlet::Upcalls;

/// What the objects of an adapter share.
pub(super) struct Core {
    pub(super) transport: Box<dyn Transport>,
    jobs: Mutex<Vec<Job>>,
    rung: AtomicBool,
    bell: OwnedFd,
    tokens: AtomicU64,
}

/// What the thread is asked to do.
pub(super) enum Job {
    /// Watch the link of a queue pair.
    Watch(u64, Weak<Pair>),
    /// Look at a queue pair soon.
    Look(Weak<Pair>),
    /// Make upcalls that a poller could not make.
    Deliver(Weak<Pair>, Upcalls),
    /// Drop a queue pair, which a poller could not do under its locks.
    Drop(Box<Pair>),
    /// Accept what a listener hears.
    Listen(Arc<Door>),
    Linger(u64, Lingering),
    Forget(u64),
}

/// A listener as the thread knows it.
pub(super) struct Door {
    pub(super) token: u64,
    pub(super) qualifier: u64,
    pub(super) open: Mutex<Option<Open>>,
}

/// What an open listener has.
pub(super) type Open = (Box<dyn Acceptor>, Arc<dyn ListenSink>);

/// A link that ends: its last bytes are written, and the peer's are read until it closes.
pub(super) struct Lingering {
    reader: Box<dyn Reader>,
    writer: Box<dyn Writer>,
    last: Option<Frame>,
    shut: bool,
    until: Instant,
}

const BELL: u64 = 0;
/// How long a link lingers.
const LINGER: Duration = Duration::from_secs(2);
/// How long an active side may take to introduce itself.
const HELLO: Duration = Duration::from_secs(10);

impl Core {
    /// Starts the thread, which ends when nothing but itself needs it.
    pub(super) fn start(transport: Box<dyn Transport>) -> Result<Arc<Self>> {
        let failed = |errno: rustix::io::Errno| no_thread(&errno.into());
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        watch(&poll, bell.as_fd(), BELL);
        let core = Arc::new(Self {
            transport,
            jobs: Mutex::default(),
            rung: AtomicBool::new(false),
            bell,
            tokens: AtomicU64::new(1),
        });
        let thread =
            Thread { poll, core: Arc::clone(&core), watched: HashMap::new(), busy: Vec::new() };
        std::thread::Builder::new()
            .name("dat-progress".to_owned())
            .spawn(move || thread.run())
            .map_err(|error| no_thread(&error))?;
        Ok(core)
    }

    pub(super) fn token(&self) -> u64 {
        self.tokens.fetch_add(1, Ordering::Relaxed)
    }

    /// Asks the thread.
    pub(super) fn ask(&self, job: Job) {
        self.jobs.lock().push(job);
        self.ring();
    }

    pub(super) fn ring(&self) {
        if !self.rung.swap(true, Ordering::AcqRel) {
            let _ = rustix::io::write(&self.bell, &1_u64.to_ne_bytes());
        }
    }

    /// Tells the peer of the end and closes the link when it has heard of it.
    pub(super) fn linger(&self, conn: Conn, tell: Option<Reason>) {
        let mut conn = conn;
        let last = tell.map(|reason| Body::End { reason });
        let last = last.filter(|body| !conn.write(*body, &[])).filter(|_| !conn.dead);
        let token = conn.token;
        let Conn { reader: Some(reader), writer, executed, posted, .. } = conn else { return };
        let last = last.map(|body| Frame { done: executed, posted, ..Frame::new(body) });
        let until = Instant::now() + LINGER;
        let mut lingering = Lingering { reader, writer, last, shut: false, until };
        if lingering.advance() {
            self.ask(Job::Linger(token, lingering));
        }
    }
}

impl Lingering {
    /// Goes on; whether it is to be kept.
    fn advance(&mut self) -> bool {
        if !self.shut {
            if let Some(frame) = &self.last {
                match self.writer.write(frame, &[]) {
                    Ok(Written::Taken) => self.last = None,
                    Ok(Written::Full) => {}
                    Err(_) => return false,
                }
            }
            match self.writer.flush() {
                Ok(false) if self.last.is_none() => {
                    self.shut = true;
                    if self.writer.shut_down().is_err() {
                        return false;
                    }
                }
                Ok(_) => {}
                Err(_) => return false,
            }
        }
        self.reader.read(&mut Ignore, Budget::default()).is_ok() && Instant::now() < self.until
    }
}

/// Takes everything and does nothing with it.
struct Ignore;

impl FrameSink for Ignore {
    fn begin(&mut self, _: &Frame) -> std::result::Result<(), Refused> {
        Ok(())
    }

    fn places(&mut self, _: u64, _: &mut Places) {}

    fn end(&mut self) -> std::result::Result<(), Refused> {
        Ok(())
    }
}

/// What is watched.
enum Watched {
    Pair(Weak<Pair>),
    Door(Arc<Door>),
    Greeting(Greeting),
    Lingering(Lingering),
}

/// A link that was accepted, whose active side is to introduce itself.
struct Greeting {
    link: Connected,
    door: Arc<Door>,
    heard: Heard,
    until: Instant,
}

/// What an active side said.
#[derive(Default)]
struct Heard {
    payload: Vec<u8>,
    posted: u32,
    begun: bool,
    complete: bool,
}

impl FrameSink for Heard {
    fn begin(&mut self, frame: &Frame) -> std::result::Result<(), Refused> {
        match frame.body {
            Body::Hello { version: VERSION, length } if !self.begun => {
                self.begun = true;
                self.posted = frame.posted;
                self.payload = vec![0; length as usize];
                Ok(())
            }
            _ => Err(Refused),
        }
    }

    fn places(&mut self, offset: u64, places: &mut Places) {
        if let Some(rest) = self.payload.get_mut(offset as usize..) {
            places.push(bytes::target(rest));
        }
    }

    fn end(&mut self) -> std::result::Result<(), Refused> {
        self.complete = true;
        Ok(())
    }
}

fn watch(poll: &OwnedFd, descriptor: BorrowedFd<'_>, token: u64) {
    let data = epoll::EventData::new_u64(token);
    // It is watched already where a link changes its state.
    let _ = epoll::add(poll, descriptor, data, epoll::EventFlags::IN);
}

struct Thread {
    poll: OwnedFd,
    core: Arc<Core>,
    watched: HashMap<u64, Watched>,
    /// Queue pairs whose link has no room.
    busy: Vec<Weak<Pair>>,
}

impl Thread {
    fn run(mut self) {
        let mut events = Vec::with_capacity(64);
        loop {
            self.work_off();
            let lingers = self.watched.values().any(|one| matches!(one, Watched::Lingering(_)));
            // Only the thread has the core: nothing can ask any more.
            if Arc::strong_count(&self.core) == 1 && !lingers && self.busy.is_empty() {
                if self.core.jobs.lock().is_empty() {
                    return;
                }
                continue;
            }
            let timeout = self.timeout(lingers);
            events.clear();
            let _ = epoll::wait(
                &self.poll,
                rustix::buffer::spare_capacity(&mut events),
                Some(&timeout),
            );
            for event in &events {
                self.attend(event.data.u64());
            }
            for pair in std::mem::take(&mut self.busy) {
                if let Some(pair) = pair.upgrade() {
                    if pair.progress() {
                        self.busy.push(Weak::clone(&pair.me));
                    }
                }
            }
            self.sweep();
        }
    }

    fn timeout(&self, lingers: bool) -> Timespec {
        let nanoseconds = if !self.busy.is_empty() {
            200_000
        } else if lingers {
            20_000_000
        } else {
            250_000_000
        };
        Timespec { tv_sec: 0, tv_nsec: nanoseconds }
    }

    /// Does what it was asked for.
    fn work_off(&mut self) {
        let _ = rustix::io::read(&self.core.bell, &mut [0; 8]);
        self.core.rung.store(false, Ordering::Release);
        let jobs = std::mem::take(&mut *self.core.jobs.lock());
        for job in jobs {
            match job {
                Job::Watch(token, pair) => {
                    if let Some(pair) = pair.upgrade() {
                        let inner = pair.inner.lock();
                        let conn = inner.conn.as_ref().filter(|conn| conn.token == token);
                        let Some(conn) = conn else { continue };
                        if let Some(descriptor) =
                            conn.reader.as_ref().and_then(|reader| reader.descriptor())
                        {
                            watch(&self.poll, descriptor, token);
                        }
                        drop(inner);
                        self.watched.insert(token, Watched::Pair(Weak::clone(&pair.me)));
                    }
                }
                Job::Look(pair) => self.busy.push(pair),
                Job::Deliver(pair, upcalls) => {
                    upcalls.deliver();
                    if let Some(pair) = pair.upgrade() {
                        pair.deliver();
                    }
                }
                Job::Drop(pair) => drop(pair),
                Job::Listen(door) => {
                    let open = door.open.lock();
                    if let Some((acceptor, _)) = &*open {
                        watch(&self.poll, acceptor.descriptor(), door.token);
                        drop(open);
                        self.watched.insert(door.token, Watched::Door(door));
                    }
                }
                Job::Linger(token, lingering) => {
                    if let Some(descriptor) = lingering.reader.descriptor() {
                        watch(&self.poll, descriptor, token);
                    }
                    self.watched.insert(token, Watched::Lingering(lingering));
                }
                Job::Forget(token) => drop(self.watched.remove(&token)),
            }
        }
    }

    /// Something is readable.
    fn attend(&mut self, token: u64) {
        match self.watched.get_mut(&token) {
            Some(Watched::Pair(pair)) => match pair.upgrade() {
                Some(pair) => {
                    pair.progress();
                }
                None => drop(self.watched.remove(&token)),
            },
            Some(Watched::Door(door)) => {
                let door = Arc::clone(door);
                self.answer(&door);
            }
            Some(Watched::Greeting(_)) => self.greet(token),
            Some(Watched::Lingering(lingering)) => {
                let stays = lingering.advance();
                if !stays {
                    self.watched.remove(&token);
                }
            }
            None => {}
        }
    }

    /// Accepts links.
    fn answer(&mut self, door: &Arc<Door>) {
        loop {
            let link = match &mut *door.open.lock() {
                Some((acceptor, _)) => acceptor.accept(),
                None => None,
            };
            let Some(link) = link else { return };
            let token = self.core.token();
            if let Some(descriptor) = link.reader.descriptor() {
                watch(&self.poll, descriptor, token);
            }
            let until = Instant::now() + HELLO;
            let greeting =
                Greeting { link, door: Arc::clone(door), heard: Heard::default(), until };
            self.watched.insert(token, Watched::Greeting(greeting));
            self.greet(token);
        }
    }

    /// Reads what an active side says of itself.
    fn greet(&mut self, token: u64) {
        let Some(Watched::Greeting(greeting)) = self.watched.get_mut(&token) else { return };
        let budget = Budget { frames: 1, ..Budget::default() };
        let outcome = greeting.link.reader.read(&mut greeting.heard, budget);
        if !greeting.heard.complete {
            if outcome.is_err() {
                self.watched.remove(&token);
            }
            return;
        }
        let Some(Watched::Greeting(greeting)) = self.watched.remove(&token) else { return };
        let Greeting { link, door, heard, .. } = greeting;
        // Until it is answered, the link is not watched.
        if let Some(descriptor) = link.reader.descriptor() {
            let _ = epoll::delete(&self.poll, descriptor);
        }
        let Some(hello) = Hello::decode(&heard.payload) else { return };
        let reached = hello.qualifier == door.qualifier;
        let (qualifier, posted) = (door.qualifier, heard.posted);
        let incoming = Incoming { link, hello, posted, qualifier };
        let sink = door.open.lock().as_ref().map(|(_, sink)| Arc::clone(sink));
        match sink {
            Some(sink) if reached => {
                // A request that comes back is refused by its drop.
                drop(sink.connection_request(Pending::contract(&self.core, incoming)));
            }
            _ => incoming.refuse(&self.core),
        }
    }

    /// Ends what has waited for too long.
    fn sweep(&mut self) {
        let now = Instant::now();
        self.watched.retain(|_, watched| match watched {
            Watched::Greeting(greeting) => now < greeting.until,
            Watched::Lingering(lingering) => {
                if lingering.shut {
                    now < lingering.until
                } else {
                    lingering.advance()
                }
            }
            Watched::Pair(pair) => pair.strong_count() > 0,
            Watched::Door(_) => true,
        });
    }
}
