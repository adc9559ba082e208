//! Calls in a sensible order, so that the random ones find connected endpoints, registered memory,
//! bound regions and pending requests.

use crate::argument::Layout;
use crate::library::Library;
use crate::pool::{ARENA, Kind, PARAM, Pool};

/// The arguments of a waiting thread.
struct Waiter {
    address: unsafe extern "C-unwind" fn(),
    evd: u64,
    event: [u64; 16],
    more: u32,
}

type Wait = unsafe extern "C-unwind" fn(u64, u64, u64, *mut [u64; 16], *mut u32) -> u32;

unsafe extern "C-unwind" {
    // The main function of a thread that may be cancelled: neither this frame nor the library's has
    // anything to drop.
    fn pthread_create(
        thread: *mut libc::pthread_t,
        attributes: *const libc::pthread_attr_t,
        start: unsafe extern "C-unwind" fn(*mut libc::c_void) -> *mut libc::c_void,
        argument: *mut libc::c_void,
    ) -> i32;
    fn pthread_cancel(thread: libc::pthread_t) -> i32;
}

/// Waits until the thread is cancelled or an event arrives.
unsafe extern "C-unwind" fn wait(waiter: *mut libc::c_void) -> *mut libc::c_void {
    let waiter = waiter.cast::<Waiter>();
    // SAFETY: the waiter of this thread, which no other thread uses meanwhile.
    let waiter = unsafe { &mut *waiter };
    // SAFETY: the function is dat_evd_wait; each argument fills one register.
    let call =
        unsafe { std::mem::transmute::<unsafe extern "C-unwind" fn(), Wait>(waiter.address) };
    let infinite = u64::from(u32::MAX);
    // SAFETY: both addresses belong to the waiter.
    unsafe { call(waiter.evd, infinite, 1, &raw mut waiter.event, &raw mut waiter.more) };
    std::ptr::null_mut()
}

/// Makes the calls of a scenario. They may fail because of random calls in between.
pub(crate) struct Scenario<'a> {
    library: &'a Library,
    pool: &'a Pool,
}

/// The default streams, and software events.
const STREAMS: u64 = 0x1f1;
const ALL_PRIVILEGES: u64 = 0x33;
const CR_FIELD: usize = 5;
const REQUEST: u32 = 0x2001;
const SOFTWARE: u64 = 0x1_0001;
const ALL_FIELDS: u64 = 0x7fff_f7ff;
const MAX_MESSAGE_SIZE: u64 = 0x2000;

impl<'a> Scenario<'a> {
    pub(crate) fn new(library: &'a Library, pool: &'a Pool) -> Self {
        Self { library, pool }
    }

    /// Makes a call whose last argument is the address of a handle.
    fn make(&self, name: &str, kind: Kind, arguments: &[u64]) -> u64 {
        let mut left = 0_u64;
        let place = (&raw mut left).expose_provenance() as u64;
        if self.library.call_by_name(name, &[arguments, &[place]].concat()) == 0 {
            self.pool.learn(kind, left);
        }
        left
    }

    /// Opens an adapter and connects two endpoints on it. Closes an earlier one, so that there are
    /// never many.
    pub(crate) fn play(&self, qualifier: u64, close: u64) {
        self.library.call_by_name("dat_ia_close", &[close, 0]);
        let (mut evd, mut ia) = (0_u64, 0_u64);
        let evd_place = (&raw mut evd).expose_provenance() as u64;
        let ia_place = (&raw mut ia).expose_provenance() as u64;
        let name = c"loopback".as_ptr().expose_provenance() as u64;
        let (major, minor) = match self.library.layout {
            Layout::One => (1, 2),
            Layout::Two => (2, 0),
        };
        let arguments = [name, 8, evd_place, ia_place, major, minor, 0];
        if self.library.call_by_name("dat_ia_openv", &arguments) != 0 {
            return;
        }
        self.pool.learn(Kind::Ia, ia);
        let pz = self.make("dat_pz_create", Kind::Pz, &[ia]);
        let evd = self.make("dat_evd_create", Kind::Evd, &[ia, 64, 0, STREAMS]);
        let client = self.make("dat_ep_create", Kind::Ep, &[ia, pz, evd, evd, evd, 0]);
        let server = self.make("dat_ep_create", Kind::Ep, &[ia, pz, evd, evd, evd, 0]);
        self.make("dat_psp_create", Kind::Psp, &[ia, qualifier, evd, 0]);
        let memory = self.register(ia, pz);
        let rmr = self.make("dat_rmr_create", Kind::Rmr, &[pz]);
        let loopback = [0x0100_007f_0000_0002_u64, 0, 0, 0];
        let address = loopback.as_ptr().expose_provenance() as u64;
        let connect = [client, address, qualifier, 1_000_000, 0, 0, 0, 0];
        self.library.call_by_name("dat_ep_connect", &connect);
        let mut event = [0_u64; 16];
        let place = event.as_mut_ptr().expose_provenance() as u64;
        self.library.call_by_name("dat_evd_dequeue", &[evd, place]);
        // SAFETY: initialized, whether or not the call wrote to it.
        let event = unsafe { (&raw const event).read_volatile() };
        if event[0] as u32 == REQUEST {
            self.pool.learn(Kind::Cr, event[CR_FIELD]);
            self.library.call_by_name("dat_cr_accept", &[event[CR_FIELD], server, 0, 0]);
        }
        self.transfer(client, server, rmr, memory);
        self.change(ia, pz, evd, client);
        self.trigger(ia);
        self.cancel_waiter(evd);
        // Another request, which stays pending.
        let other = self.make("dat_ep_create", Kind::Ep, &[ia, pz, evd, evd, evd, 0]);
        let connect = [other, address, qualifier, u64::from(u32::MAX), 0, 0, 0, 0];
        self.library.call_by_name("dat_ep_connect", &connect);
    }

    /// Leaves sends, receives and writes in flight, and their completions on the dispatcher.
    /// `memory` is a region and its context.
    fn transfer(&self, client: u64, server: u64, rmr: u64, (lmr, context): (u64, u64)) {
        let segment = match self.library.layout {
            Layout::One => [context, self.pool.arena(), 16],
            Layout::Two => [self.pool.arena(), context << 32 | 16, 0],
        };
        let place = segment.as_ptr().expose_provenance() as u64;
        let bind = match self.library.layout {
            Layout::One => vec![rmr, place, ALL_PRIVILEGES, client, 0, 0],
            Layout::Two => vec![rmr, lmr, place, ALL_PRIVILEGES, 0, client, 0, 0],
        };
        self.make("dat_rmr_bind", Kind::Context, &bind);
        for cookie in 0..4 {
            self.library.call_by_name("dat_ep_post_recv", &[server, 1, place, cookie, 0]);
            self.library.call_by_name("dat_ep_post_recv", &[client, 1, place, cookie, 0]);
        }
        for cookie in 0..3 {
            self.library.call_by_name("dat_ep_post_send", &[client, 1, place, cookie, 0]);
            let write = [server, 1, place, cookie, place, 0];
            self.library.call_by_name("dat_ep_post_rdma_write", &write);
        }
    }

    /// Makes calls that seldom succeed with random arguments.
    fn change(&self, ia: u64, pz: u64, evd: u64, connected: u64) {
        // Four receives of one segment each.
        let attributes = [4_u64 | 1 << 32, 0];
        let place = attributes.as_ptr().expose_provenance() as u64;
        let srq = self.make("dat_srq_create", Kind::Srq, &[ia, pz, place]);
        self.make("dat_ep_create_with_srq", Kind::Ep, &[ia, pz, evd, evd, evd, srq, 0]);
        let fresh = self.make("dat_ep_create", Kind::Ep, &[ia, pz, evd, evd, evd, 0]);
        let mut param = [0_u64; PARAM];
        let place = param.as_mut_ptr().expose_provenance() as u64;
        if self.library.call_by_name("dat_ep_query", &[fresh, ALL_FIELDS, place]) == 0 {
            // SAFETY: the call wrote it.
            self.pool.set_param(unsafe { (&raw const param).read_volatile() });
            self.library.call_by_name("dat_ep_modify", &[fresh, MAX_MESSAGE_SIZE, place]);
        }
        let connect = [fresh, connected, u64::from(u32::MAX), 0, 0, 0];
        self.library.call_by_name("dat_ep_dup_connect", &connect);
    }

    /// Triggers a notification object, and takes the triggers in both ways.
    fn trigger(&self, ia: u64) {
        let cno = self.make("dat_cno_create", Kind::Cno, &[ia, 0, 0]);
        let evd = self.make("dat_evd_create", Kind::Evd, &[ia, 8, cno, STREAMS]);
        let mut event = [0_u64; 16];
        event[0] = SOFTWARE;
        let place = event.as_mut_ptr().expose_provenance() as u64;
        self.library.call_by_name("dat_evd_post_se", &[evd, place]);
        self.library.call_by_name("dat_cno_wait", &[cno, 1000, place + 64]);
        self.library.call_by_name("dat_evd_post_se", &[evd, place]);
        self.library.call_by_name("dat_cno_trigger", &[cno, place + 64]);
    }

    /// Cancels a thread that waits on the dispatcher without a time-out.
    fn cancel_waiter(&self, evd: u64) {
        let Some(address) = self.library.address("dat_evd_wait") else { return };
        let mut waiter = Waiter { address, evd, event: [0; 16], more: 0 };
        let mut thread: libc::pthread_t = 0;
        // SAFETY: the function takes the waiter, which outlives the thread.
        let started = unsafe {
            pthread_create(&raw mut thread, std::ptr::null(), wait, (&raw mut waiter).cast())
        };
        if started == 0 {
            // SAFETY: a thread that was started and not joined.
            unsafe { pthread_cancel(thread) };
            // SAFETY: the thread was started and has not been joined.
            unsafe { libc::pthread_join(thread, std::ptr::null_mut()) };
        }
    }

    /// Makes some calls on the same objects in a forked child.
    pub(crate) fn fork(&self) {
        // SAFETY: this is the only thread, except for those of the library.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: ends a child that hangs.
            unsafe { libc::alarm(60) };
            let mut words = [0_u64; PARAM];
            let place = words.as_mut_ptr().expose_provenance() as u64;
            self.library.call_by_name("dat_evd_dequeue", &[self.pool.newest(Kind::Evd), place]);
            self.library.call_by_name("dat_ep_query", &[self.pool.newest(Kind::Ep), 0, place]);
            self.library.call_by_name(
                "dat_evd_wait",
                &[self.pool.newest(Kind::Evd), 10, 1, place, place + 256],
            );
            self.library.call_by_name("dat_ep_free", &[self.pool.newest(Kind::Ep)]);
            // Not by a signal: valgrind would look for leaks in the memory of the child, and report what
            // belongs to the threads that it does not have.
            let (program, end) = (c"/bin/true".as_ptr(), std::ptr::null::<libc::c_char>());
            // SAFETY: the strings end with a zero, and the list of them with a null pointer.
            unsafe { libc::execl(program, program, end) };
            std::process::abort();
        }
        let mut status = 0;
        // SAFETY: waits for the child from above.
        let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(waited == child && status == 0, "a child ended with status {status:#x}");
    }

    /// Registers the arena.
    fn register(&self, ia: u64, pz: u64) -> (u64, u64) {
        let mut left = [0_u64; 5];
        let start = left.as_mut_ptr().expose_provenance() as u64;
        let outs: Vec<u64> = (0..5).map(|at| start + 8 * at).collect();
        let mut arguments = vec![ia, 0, self.pool.arena(), 0, ARENA as u64, pz, ALL_PRIVILEGES];
        if matches!(self.library.layout, Layout::Two) {
            arguments.push(0);
        }
        arguments.extend(outs);
        if self.library.call_by_name("dat_lmr_create", &arguments) == 0 {
            // SAFETY: the call wrote it.
            let left = unsafe { (&raw const left).read_volatile() };
            self.pool.learn(Kind::Lmr, left[0]);
            self.pool.learn(Kind::Context, left[1] & 0xffff_ffff);
            self.pool.learn(Kind::Context, left[2] & 0xffff_ffff);
            return (left[0], left[1] & 0xffff_ffff);
        }
        (0, 0)
    }
}
