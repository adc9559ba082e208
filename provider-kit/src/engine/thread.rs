//! The thread that makes progress where no poller does.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use rustix::event::{Timespec, epoll};

use super::connect::{Incoming, Pending};
use super::core::{Core, Door, Job, Shared};
use super::greeting::{self, Greeted, Greeting};
use super::lending::Lease;
use super::linger::Lingering;
use super::pair::Pair;

/// The thread `dat-progress`.
pub(super) struct Thread {
    shared: Arc<Shared>,
    core: Weak<Core>,
    watched: HashMap<u64, Watched>,
    /// Links that are watched for a limited time.
    passing: HashMap<u64, Passing>,
    /// Cq pairs that have received more than was read.
    again: Vec<Weak<Pair>>,
    /// Cq pairs whose links are lent to pollers.
    lent: Vec<Weak<Pair>>,
    /// When the next check of the lent links is due.
    look: Instant,
    /// How many links wait for an introduction.
    greetings: usize,
}

/// What is watched.
enum Watched {
    Pair(Weak<Pair>),
    Door(Arc<Door>),
}

/// What is watched for a limited time.
enum Passing {
    Greeting(Greeting),
    Lingering(Lingering),
}

/// A poller that did not poll between two looks gives its links back.
const LOOK: Duration = Duration::from_millis(2);

const IN: epoll::EventFlags = epoll::EventFlags::IN;

impl Thread {
    pub(super) fn new(shared: Arc<Shared>, core: Weak<Core>) -> Self {
        let (watched, passing) = (HashMap::new(), HashMap::new());
        let (again, lent, look) = (Vec::new(), Vec::new(), Instant::now());
        Self { shared, core, watched, passing, again, lent, look, greetings: 0 }
    }

    pub(super) fn run(mut self) {
        let mut events = [const { MaybeUninit::uninit() }; 64];
        loop {
            self.work_off();
            if self.shared.is_closed() && !self.lingers() {
                return;
            }
            let timeout = self.timeout();
            if let Ok((events, _)) = epoll::wait(&self.shared.set, &mut events, timeout.as_ref()) {
                for event in &*events {
                    self.attend(event.data.u64());
                }
            }
            for pair in std::mem::take(&mut self.again) {
                self.go_on(&pair);
            }
            self.look();
            self.sweep();
        }
    }

    fn lingers(&self) -> bool {
        self.passing.values().any(|one| matches!(one, Passing::Lingering(_)))
    }

    /// Until when the thread may sleep; without an end if nothing is due.
    fn timeout(&self) -> Option<Timespec> {
        if !self.again.is_empty() {
            return Some(Timespec { tv_sec: 0, tv_nsec: 0 });
        }
        let look = (!self.lent.is_empty()).then_some(self.look);
        let due = self.passing.values().map(Passing::until).chain(look).min()?;
        let left = due.saturating_duration_since(Instant::now()) + Duration::from_micros(50);
        Timespec::try_from(left).ok()
    }

    /// Does what it was asked for.
    fn work_off(&mut self) {
        for job in self.shared.jobs() {
            match job {
                Job::Watch(token, pair) => {
                    if pair.upgrade().is_some_and(|pair| pair.watch(token)) {
                        self.watched.insert(token, Watched::Pair(pair));
                    }
                }
                Job::Look(pair) => self.again.push(pair),
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
                        self.shared.watch(acceptor.descriptor(), door.token, IN);
                        drop(open);
                        self.watched.insert(door.token, Watched::Door(door));
                    }
                }
                Job::Linger(token, lingering) => self.linger(token, lingering),
                Job::Forget(token) => drop(self.watched.remove(&token)),
            }
        }
    }

    fn linger(&mut self, token: u64, mut lingering: Lingering) {
        self.watched.remove(&token);
        // The peer may have closed meanwhile.
        if !lingering.advance() {
            return self.shared.forget_link(&*lingering.reader);
        }
        if let Some(descriptor) = lingering.reader.descriptor() {
            self.shared.watch(descriptor, token, lingering.interest());
        }
        self.passing.insert(token, Passing::Lingering(lingering));
    }

    /// Something is readable or writable.
    fn attend(&mut self, token: u64) {
        match self.watched.get(&token) {
            Some(Watched::Pair(pair)) => {
                let pair = Weak::clone(pair);
                self.go_on(&pair);
            }
            Some(Watched::Door(door)) => {
                let door = Arc::clone(door);
                self.answer(&door);
            }
            None => match self.passing.remove(&token) {
                Some(Passing::Greeting(greeting)) => self.greet(token, greeting),
                Some(Passing::Lingering(lingering)) => self.linger(token, lingering),
                None => {}
            },
        }
    }

    /// Goes on with a queue pair, or lends its link to a poller.
    fn go_on(&mut self, weak: &Weak<Pair>) {
        let Some(pair) = weak.upgrade() else { return };
        match pair.progress() {
            Lease::Kept => {}
            Lease::Again => self.again.push(Weak::clone(weak)),
            Lease::Lent => {
                if self.lent.is_empty() {
                    self.look = Instant::now() + LOOK;
                }
                if !self.lent.iter().any(|one| Weak::ptr_eq(one, weak)) {
                    self.lent.push(Weak::clone(weak));
                }
            }
        }
    }

    /// Takes back what was lent to pollers that do not poll any more.
    fn look(&mut self) {
        if self.lent.is_empty() || Instant::now() < self.look {
            return;
        }
        self.look = Instant::now() + LOOK;
        self.lent.retain(|pair| pair.upgrade().is_some_and(|pair| pair.stays_lent()));
    }

    /// Accepts links.
    fn answer(&mut self, door: &Arc<Door>) {
        loop {
            let link = match &mut *door.open.lock() {
                Some((acceptor, _)) => acceptor.accept(),
                None => None,
            };
            let Some(link) = link else { return };
            if self.greetings >= greeting::MOST {
                self.drop_oldest();
            }
            let token = self.shared.token();
            if let Some(descriptor) = link.reader.descriptor() {
                self.shared.watch(descriptor, token, IN);
            }
            let greeting = Greeting::new(link, Arc::clone(door), self.shared.transport.secret());
            self.greetings += 1;
            self.greet(token, greeting);
        }
    }

    /// Closes the link that has waited longest, unless its active side has introduced itself.
    fn drop_oldest(&mut self) {
        let waiting = self.passing.iter().filter_map(|(token, passing)| match passing {
            Passing::Greeting(greeting) => Some((greeting.until, *token)),
            Passing::Lingering(_) => None,
        });
        let Some((_, token)) = waiting.min() else { return };
        let Some(Passing::Greeting(greeting)) = self.passing.remove(&token) else { return };
        self.greet(token, greeting);
        if self.passing.remove(&token).is_some() {
            self.greetings -= 1;
        }
    }

    /// Hears what an active side says of itself.
    fn greet(&mut self, token: u64, mut greeting: Greeting) {
        let greeted = greeting.advance();
        if matches!(greeted, Greeted::Waiting) {
            self.passing.insert(token, Passing::Greeting(greeting));
            return;
        }
        self.greetings -= 1;
        let Greeting { link, door, .. } = greeting;
        // Until it is answered, the link is not watched.
        self.shared.forget_link(&*link.reader);
        match greeted {
            Greeted::Waiting | Greeted::Gone => {}
            Greeted::Refused(message) => Incoming::turn_away(link, &message, &self.shared),
            Greeted::Incoming(hello) => {
                let incoming = Incoming { link, hello, qualifier: door.qualifier };
                let sink = door.open.lock().as_ref().map(|(_, sink)| Arc::clone(sink));
                match (sink, self.core.upgrade()) {
                    // One that comes back is refused by its drop.
                    (Some(sink), Some(core)) => {
                        drop(sink.connection_request(Pending::contract(&core, incoming)));
                    }
                    _ => incoming.refuse(&self.shared),
                }
            }
        }
    }

    /// Ends what has waited for too long.
    fn sweep(&mut self) {
        if self.passing.is_empty() {
            return;
        }
        let now = Instant::now();
        let (shared, greetings) = (&self.shared, &mut self.greetings);
        self.passing.retain(|_, passing| {
            if now < passing.until() {
                return true;
            }
            match passing {
                Passing::Greeting(greeting) => {
                    *greetings -= 1;
                    shared.forget_link(&*greeting.link.reader);
                }
                Passing::Lingering(lingering) => shared.forget_link(&*lingering.reader),
            }
            false
        });
    }
}

impl Passing {
    /// When it has waited for too long.
    fn until(&self) -> Instant {
        match self {
            Self::Greeting(greeting) => greeting.until,
            Self::Lingering(lingering) => lingering.until,
        }
    }
}
