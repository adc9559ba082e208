//! Pins: how a thread says that it uses the object of a cell.
//!
//! A call announces the cell in a record of its thread, then looks whether the object is live.
//! Whoever frees an object first marks the cell dead, then looks for announcements. Both sides
//! must not see the other's old value; that takes a full fence between the write and the read on
//! either side. Calls are many and frees are few, so the free pays for both: membarrier(2) makes
//! every running thread pass a fence, and a call gets by with an order of the compiler's. Where
//! the system has no membarrier, calls fence themselves.

use std::cell::Cell as ThreadCell;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering, compiler_fence, fence};

use super::cell::Cell;

/// Cells that a thread can use at once: a call, and one that its proxy agent makes inside.
const PINS: usize = 2;

/// The announcements of one thread. Records are used again and never freed.
#[repr(align(64))]
struct Record {
    pins: [AtomicPtr<Cell>; PINS],
    taken: AtomicBool,
    next: *const Record,
}

static RECORDS: AtomicPtr<Record> = AtomicPtr::new(null_mut());

/// Whether frees make the other threads pass a fence. Set before the first handle is issued.
static ASYMMETRIC: AtomicBool = AtomicBool::new(false);

thread_local! {
    static RECORD: ThreadCell<*const Record> = const { ThreadCell::new(ptr::null()) };
    static RELEASE: Release = const { Release };
}

/// Gives the record back when the thread ends.
struct Release;

impl Drop for Release {
    fn drop(&mut self) {
        let record = RECORD.replace(ptr::null());
        // SAFETY: records are never freed.
        if let Some(record) = unsafe { record.as_ref() } {
            record.taken.store(false, Ordering::Release);
        }
    }
}

/// A cell that stays as it is for as long as this lives.
pub(super) struct Pin {
    place: &'static AtomicPtr<Cell>,
}

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        self.place.store(null_mut(), Ordering::Release);
    }
}

/// Announces a cell; not where the thread is at its end, or in too many calls at once.
#[inline]
pub(super) fn pin(cell: &'static Cell) -> Option<Pin> {
    let mut record = RECORD.get();
    if record.is_null() {
        record = acquire()?;
    }
    // SAFETY: records are never freed.
    let record: &'static Record = unsafe { &*record };
    let place = record.pins.iter().find(|pin| pin.load(Ordering::Relaxed).is_null())?;
    place.store(ptr::from_ref(cell).cast_mut(), Ordering::Relaxed);
    if ASYMMETRIC.load(Ordering::Relaxed) {
        compiler_fence(Ordering::SeqCst);
    } else {
        fence(Ordering::SeqCst);
    }
    Some(Pin { place })
}

/// A record for this thread: one that a thread left, or a new one.
#[cold]
fn acquire() -> Option<*const Record> {
    // At the end of a thread nobody would give it back.
    RELEASE.try_with(|_| ()).ok()?;
    let left = records().find(|record| {
        !record.taken.load(Ordering::Relaxed) && !record.taken.swap(true, Ordering::AcqRel)
    });
    let record = ptr::from_ref(left.unwrap_or_else(add));
    RECORD.set(record);
    Some(record)
}

fn add() -> &'static Record {
    let mut record = Box::new(Record {
        pins: [const { AtomicPtr::new(null_mut()) }; PINS],
        taken: AtomicBool::new(true),
        next: ptr::null(),
    });
    let mut head = RECORDS.load(Ordering::Acquire);
    loop {
        record.next = head;
        let new = Box::into_raw(record);
        match RECORDS.compare_exchange(head, new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: published, and so never freed.
            Ok(_) => return unsafe { &*new },
            Err(now) => {
                head = now;
                // SAFETY: made above, and published nowhere.
                record = unsafe { Box::from_raw(new) };
            }
        }
    }
}

fn records() -> impl Iterator<Item = &'static Record> {
    let mut at = RECORDS.load(Ordering::Acquire).cast_const();
    std::iter::from_fn(move || {
        // SAFETY: records are never freed.
        let record = unsafe { at.as_ref() }?;
        at = record.next;
        Some(record)
    })
}

/// What threads have announced, for calls that began before a moment ago.
pub(super) struct Announced(Vec<*const Cell>);

impl Announced {
    /// Looks at all threads; none where the system refuses the fence, and nothing may be taken.
    pub(super) fn look() -> Option<Self> {
        if ASYMMETRIC.load(Ordering::Relaxed) {
            // A child of fork has to say again that it will use the call.
            let fenced = membarrier(Command::Fence) || prepare();
            if !fenced {
                return None;
            }
        }
        fence(Ordering::SeqCst);
        let pins = records().flat_map(|record| &record.pins);
        let announced = pins.map(|pin| pin.load(Ordering::Acquire).cast_const());
        Some(Self(announced.filter(|cell| !cell.is_null()).collect()))
    }

    pub(super) fn contains(&self, cell: &'static Cell) -> bool {
        self.0.contains(&ptr::from_ref(cell))
    }
}

/// Before the first handle: finds out which way to fence.
pub(super) fn start() {
    ASYMMETRIC.store(prepare(), Ordering::Relaxed);
}

fn prepare() -> bool {
    membarrier(Command::Register) && membarrier(Command::Fence)
}

/// The commands of membarrier(2) that are used.
#[derive(Clone, Copy)]
enum Command {
    Fence = 1 << 3,
    Register = 1 << 4,
}

fn membarrier(command: Command) -> bool {
    // SAFETY: the call takes numbers and touches no memory of the process.
    unsafe { libc::syscall(libc::SYS_membarrier, command as libc::c_int, 0, 0) == 0 }
}
