//! The sets and descriptors of a simulation.
//!
//! Each has the number of an open descriptor, which is a copy of one event descriptor and belongs to the owner. Only the
//! calls of [`epoll`](super) know its simulated state. Interests are level-triggered, or for one event.

use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::Ordering;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, Result, fcntl_dupfd_cloexec};

use super::{Event, EventData, EventFlags, IS_SIMULATED};

/// A call that the system may refuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Call {
    /// The creation of a set or of a descriptor.
    Create,
    /// A registration in a set.
    Add,
}

/// The object that a number denotes.
struct File {
    /// Distinguishes it from others with the same number.
    id: u64,
    /// The events that are ready, of a descriptor.
    ready: EventFlags,
    /// The interests of a set, in the order of their registration.
    interests: Vec<Interest>,
}

#[derive(Clone, Copy)]
struct Interest {
    number: RawFd,
    id: u64,
    flags: EventFlags,
    data: EventData,
}

/// The events that the kernel reports of each registration.
const ALWAYS: EventFlags = EventFlags::HUP.union(EventFlags::ERR);

#[derive(Default)]
struct Table {
    files: Vec<Option<File>>,
    /// The object that all numbers are copies of.
    original: Option<OwnedFd>,
    /// Numbers that the program has closed by accident. Their owners leave them open.
    lost: Vec<RawFd>,
    next_id: u64,
    /// Which of several ready descriptors is the first.
    order: usize,
    /// The number of calls until one is refused, and its error.
    refusals: HashMap<Call, (u32, Errno)>,
    /// Number of changes of any state.
    changes: u64,
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
}

fn with<T>(act: impl FnOnce(&mut Table) -> T) -> T {
    TABLE.with_borrow_mut(act)
}

/// Replaces epoll(7), for the whole process and from now on. What was created before must be gone. The number decides
/// in which order ready descriptors are reported.
pub fn begin(order: usize) {
    IS_SIMULATED.store(true, Ordering::Relaxed);
    with(|table| {
        table.close_leftovers();
        table.order = order;
        table.refusals.clear();
    });
}

/// Uses epoll(7) of the system again. What was created before must be gone.
pub fn end() {
    IS_SIMULATED.store(false, Ordering::Relaxed);
    with(Table::close_leftovers);
}

/// Refuses a call with an error: the one after `others` calls of its kind.
pub fn refuse(call: Call, others: u32, errno: Errno) {
    with(|table| table.refusals.insert(call, (others, errno)));
}

/// Returns true if the call of [`refuse`] is still to come.
#[must_use]
pub fn is_to_refuse(call: Call) -> bool {
    with(|table| table.refusals.contains_key(&call))
}

/// Ends what [`refuse`] has begun.
pub fn refuse_no_more(call: Call) {
    with(|table| table.refusals.remove(&call));
}

/// Number of changes so far. What was not ready is not ready before it grows.
#[must_use]
pub fn changes() -> u64 {
    with(|table| table.changes)
}

/// Returns true if a descriptor or a set is readable.
#[must_use]
pub fn is_readable(descriptor: RawFd) -> bool {
    with(|table| table.ready(descriptor).contains(EventFlags::IN))
}

/// Returns true if a number denotes a descriptor or a set.
#[must_use]
pub fn is_open(descriptor: RawFd) -> bool {
    with(|table| table.file(descriptor).is_some())
}

/// The owner of a descriptor or of a set closes it. Its number denotes nothing afterwards.
pub(crate) fn close(descriptor: impl AsFd) {
    with(|table| table.remove(descriptor.as_fd().as_raw_fd()));
}

/// The program closes a descriptor or a set by accident. Its number denotes nothing afterwards.
pub fn lose(descriptor: impl AsFd) {
    let number = descriptor.as_fd().as_raw_fd();
    with(|table| {
        table.remove(number);
        table.lost.push(number);
    });
}

/// A descriptor whose events the simulation makes ready.
#[derive(Debug)]
pub struct Descriptor(OwnedFd);

impl Descriptor {
    /// Creates one that is not ready.
    ///
    /// # Errors
    /// The process is out of descriptors.
    pub fn new() -> Result<Self> {
        create().map(Self)
    }

    /// Makes events ready, and no others.
    pub fn set_ready(&self, ready: EventFlags) {
        self.change(|file| file.ready = ready);
    }

    /// Makes events ready, and leaves the others as they are.
    pub fn add_ready(&self, ready: EventFlags) {
        self.change(|file| file.ready |= ready);
    }

    fn change(&self, change: impl FnOnce(&mut File)) {
        with(|table| {
            table.changes += 1;
            table.file(self.0.as_raw_fd()).map(change);
        });
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        close(&self.0);
    }
}

/// Creates a descriptor, or a set without interests.
pub(super) fn create() -> Result<OwnedFd> {
    with(|table| {
        table.may_refuse(Call::Create)?;
        let original = match table.original.take() {
            Some(original) => original,
            None => eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?,
        };
        let number = fcntl_dupfd_cloexec(table.original.insert(original), 0)?;
        table.next_id += 1;
        let file = File { id: table.next_id, ready: EventFlags::empty(), interests: Vec::new() };
        let index = number.as_raw_fd() as usize;
        if table.files.len() <= index {
            table.files.resize_with(index + 1, || None);
        }
        table.files[index] = Some(file);
        Ok(number)
    })
}

/// Creates the anchor of sets, which can always be written.
pub(crate) fn create_anchor() -> Result<OwnedFd> {
    let anchor = create()?;
    with(|table| table.file(anchor.as_raw_fd()).map(|file| file.ready = EventFlags::OUT));
    Ok(anchor)
}

pub(super) fn add(set: BorrowedFd<'_>, descriptor: BorrowedFd<'_>, event: Event) -> Result<()> {
    with(|table| {
        let (number, id) = table.identify(descriptor)?;
        let interests = table.interests(set)?;
        if interests.iter().any(|one| (one.number, one.id) == (number, id)) {
            return Err(Errno::EXIST);
        }
        table.may_refuse(Call::Add)?;
        table.changes += 1;
        let Event { flags, data, .. } = event;
        let flags = flags | ALWAYS;
        table.interests(set)?.push(Interest { number, id, flags, data });
        Ok(())
    })
}

pub(super) fn modify(set: BorrowedFd<'_>, descriptor: BorrowedFd<'_>, event: Event) -> Result<()> {
    with(|table| {
        let (number, id) = table.identify(descriptor)?;
        table.changes += 1;
        let mut interests = table.interests(set)?.iter_mut();
        let found = interests.find(|one| (one.number, one.id) == (number, id));
        let found = found.ok_or(Errno::NOENT)?;
        (found.flags, found.data) = (event.flags | ALWAYS, event.data);
        Ok(())
    })
}

pub(super) fn delete(set: BorrowedFd<'_>, descriptor: BorrowedFd<'_>) -> Result<()> {
    with(|table| {
        let (number, id) = table.identify(descriptor)?;
        let interests = table.interests(set)?;
        let position = interests.iter().position(|one| (one.number, one.id) == (number, id));
        interests.remove(position.ok_or(Errno::NOENT)?);
        Ok(())
    })
}

/// Finds the ready descriptors of a set. Returns their number.
pub(super) fn wait(set: BorrowedFd<'_>, events: &mut [MaybeUninit<Event>]) -> Result<usize> {
    with(|table| {
        let set = set.as_raw_fd();
        let length = table.file(set).ok_or(Errno::BADF)?.interests.len();
        table.order = table.order.wrapping_mul(5).wrapping_add(1);
        let first = table.order.checked_rem(length).unwrap_or(0);
        let mut count = 0;
        for at in (0..length).map(|at| (first + at) % length) {
            let Some(file) = table.file(set) else { break };
            let Interest { number, id, flags: interest, data } = file.interests[at];
            let flags = interest & table.ready_of(number, id);
            if flags.is_empty() || count == events.len() {
                continue;
            }
            events[count].write(Event { flags, data });
            count += 1;
            if interest.contains(EventFlags::ONESHOT) {
                if let Some(file) = table.file(set) {
                    file.interests[at].flags = EventFlags::empty();
                }
            }
        }
        Ok(count)
    })
}

impl Table {
    fn file(&mut self, number: RawFd) -> Option<&mut File> {
        self.files.get_mut(usize::try_from(number).ok()?)?.as_mut()
    }

    fn identify(&mut self, descriptor: BorrowedFd<'_>) -> Result<(RawFd, u64)> {
        let number = descriptor.as_raw_fd();
        self.file(number).map(|file| (number, file.id)).ok_or(Errno::BADF)
    }

    fn interests(&mut self, set: BorrowedFd<'_>) -> Result<&mut Vec<Interest>> {
        self.file(set.as_raw_fd()).map(|file| &mut file.interests).ok_or(Errno::BADF)
    }

    /// The ready events of a descriptor or of a set.
    fn ready(&self, number: RawFd) -> EventFlags {
        let file = usize::try_from(number).ok().and_then(|at| self.files.get(at)?.as_ref());
        let Some(file) = file else { return EventFlags::empty() };
        let is_ready = |one: &Interest| one.flags.intersects(self.ready_of(one.number, one.id));
        if file.interests.iter().any(is_ready) { EventFlags::IN } else { file.ready }
    }

    /// As [`ready`](Self::ready), if the number denotes the same file still.
    fn ready_of(&self, number: RawFd, id: u64) -> EventFlags {
        let is_same = self.files[number as usize].as_ref().is_some_and(|file| file.id == id);
        if is_same { self.ready(number) } else { EventFlags::empty() }
    }

    /// Closes what the owners have left open: descriptors that are lost, and others that belong to the same owner.
    fn close_leftovers(&mut self) {
        let files = self.files.drain(..).enumerate();
        let open = files.filter_map(|(number, file)| file.and(RawFd::try_from(number).ok()));
        for number in open.chain(self.lost.drain(..)) {
            // SAFETY: `create` has made the number, and its owner, which is gone, has not closed it.
            drop(unsafe { OwnedFd::from_raw_fd(number) });
        }
    }

    /// The kernel removes a closed descriptor from all sets.
    fn remove(&mut self, number: RawFd) {
        self.changes += 1;
        if let Some(file) = usize::try_from(number).ok().and_then(|at| self.files.get_mut(at)) {
            *file = None;
        }
    }

    fn may_refuse(&mut self, call: Call) -> Result<()> {
        match self.refusals.get_mut(&call) {
            None => Ok(()),
            Some((0, errno)) => {
                let errno = *errno;
                self.refusals.remove(&call);
                Err(errno)
            }
            Some((others, _)) => {
                *others -= 1;
                Ok(())
            }
        }
    }
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use std::os::fd::IntoRawFd;

    use super::*;

    /// The tokens that a set reports.
    fn reported(set: BorrowedFd<'_>) -> Vec<u64> {
        let mut events = [MaybeUninit::uninit(); 8];
        let count = wait(set, &mut events).expect("a set");
        // SAFETY: the call has initialised that number of events.
        let all = events[..count].iter().map(|event| unsafe { event.assume_init() });
        let mut tokens: Vec<u64> = all.map(|event| event.data.u64()).collect();
        tokens.sort_unstable();
        tokens
    }

    fn register(set: BorrowedFd<'_>, descriptor: &Descriptor, token: u64) -> Result<()> {
        let data = EventData::new_u64(token);
        add(set, descriptor.as_fd(), Event { flags: EventFlags::IN, data })
    }

    #[test]
    fn a_set_reports_what_is_ready_and_what_is_closed_is_not() {
        let [outer, inner] = [0, 1].map(|_| create().expect("descriptors"));
        let [one, two] = [0, 1].map(|_| Descriptor::new().expect("descriptors"));
        for (token, descriptor) in [(1, &one), (2, &two)] {
            register(inner.as_fd(), descriptor, token).expect("a new one");
            assert_eq!(register(inner.as_fd(), descriptor, token), Err(Errno::EXIST));
        }
        let nested = Event { flags: EventFlags::IN, data: EventData::new_u64(9) };
        add(outer.as_fd(), inner.as_fd(), nested).expect("a new one");
        assert_eq!((reported(inner.as_fd()), reported(outer.as_fd())), (vec![], vec![]));
        one.set_ready(EventFlags::IN);
        two.set_ready(EventFlags::IN | EventFlags::OUT);
        assert_eq!((reported(inner.as_fd()), reported(outer.as_fd())), (vec![1, 2], vec![9]));
        drop(one);
        assert_eq!(reported(inner.as_fd()), vec![2], "the other one is closed");
        delete(inner.as_fd(), two.as_fd()).expect("it is there");
        assert_eq!(delete(inner.as_fd(), two.as_fd()), Err(Errno::NOENT));
        assert_eq!(reported(outer.as_fd()), vec![]);
    }

    #[test]
    fn the_end_is_reported_without_an_interest() {
        let set = create().expect("a descriptor");
        let one = Descriptor::new().expect("descriptors");
        let nothing = Event { flags: EventFlags::empty(), data: EventData::new_u64(1) };
        add(set.as_fd(), one.as_fd(), nothing).expect("a new one");
        one.set_ready(EventFlags::IN | EventFlags::RDHUP);
        assert_eq!(reported(set.as_fd()), vec![]);
        one.add_ready(EventFlags::HUP);
        assert_eq!(reported(set.as_fd()), vec![1]);
        let once = Event { flags: EventFlags::ONESHOT, ..nothing };
        modify(set.as_fd(), one.as_fd(), once).expect("it is there");
        assert_eq!(reported(set.as_fd()), vec![1]);
        assert_eq!(reported(set.as_fd()), vec![], "it was reported once");
    }

    #[test]
    fn the_next_simulation_closes_what_is_left_open() {
        let [one, two] = [0, 1].map(|_| create().expect("descriptors").into_raw_fd());
        // SAFETY: both are open until the simulation ends.
        lose(unsafe { BorrowedFd::borrow_raw(one) });
        assert_eq!((is_open(one), is_open(two)), (false, true));
        let is_closed = |number| {
            // SAFETY: a number that denotes nothing is an error.
            rustix::io::fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) }).is_err()
        };
        assert_eq!([one, two].map(is_closed), [false, false]);
        with(Table::close_leftovers);
        assert_eq!([one, two].map(is_closed), [true, true]);
        assert!(!is_open(two));
    }

    #[test]
    fn a_refused_call_has_no_effect() {
        let set = create().expect("a descriptor");
        let one = Descriptor::new().expect("descriptors");
        one.set_ready(EventFlags::IN);
        refuse(Call::Add, 0, Errno::NOMEM);
        assert_eq!(register(set.as_fd(), &one, 1), Err(Errno::NOMEM));
        assert_eq!(reported(set.as_fd()), vec![]);
        register(set.as_fd(), &one, 1).expect("one is refused");
        refuse(Call::Create, 1, Errno::MFILE);
        let other = create().expect("the next one is refused");
        assert_eq!(create().map(drop), Err(Errno::MFILE));
        drop(other);
    }
}
