//! Properties of the types of dat-core: their auto traits, their sizes, and calls that do not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::fmt::{Debug, Display};
use std::mem::size_of;

use crate::common::open_ia;
use dat_core::registry::Registry;
use dat_core::{
    AsyncError, Bind, Cno, CompletionFlags, Connect, ConnectionEvent, Cr, CrArrival, CrParam,
    DtoCompletion, Ep, EpAttributes, EpParam, EpProvision, EpSpec, EpStatus, EpUpdate, Error, Evd,
    EvdFlags, EvdOptions, EvdParam, Event, Ia, IaOptions, Lmr, LmrParam, LmrTriplet, Memory,
    MemorySource, Privileges, ProxyAgent, Psp, PspParam, Pz, ReturnType, Rmr, RmrBindCompletion,
    RmrParam, RmrTriplet, Rsp, RspParam, Srq, SrqAttributes, SrqParam, Subtype, Timeout,
    WaitResult,
};

const fn any_thread<T: Send + Sync + Unpin>() {}
const fn handle<T: Clone + Debug + Eq + Send + Sync + Unpin + 'static>() {}
const fn error<T: std::error::Error + Clone + Debug + Display + Send + Sync + 'static>() {}

// The compiler checks this.
const _: () = {
    handle::<Ia>();
    handle::<Pz>();
    handle::<Lmr>();
    handle::<Rmr>();
    handle::<Evd>();
    handle::<Cno>();
    handle::<Ep>();
    handle::<Psp>();
    handle::<Rsp>();
    handle::<Cr>();
    handle::<Srq>();
    error::<Error>();
    any_thread::<dat_core::Result<Ep>>();
    any_thread::<Registry>();
    any_thread::<Memory>();
    any_thread::<MemorySource<'_>>();
    any_thread::<ProxyAgent>();
    any_thread::<Event>();
    any_thread::<(AsyncError, ConnectionEvent, CrArrival, DtoCompletion, RmrBindCompletion)>();
    any_thread::<(Bind<'_>, Connect<'_>, EpAttributes, EpUpdate, EpSpec, EvdOptions, IaOptions)>();
    any_thread::<(CrParam, EpParam, EpStatus, EvdParam, LmrParam, PspParam, RmrParam, RspParam)>();
    any_thread::<(SrqAttributes, SrqParam, LmrTriplet, RmrTriplet, Timeout, WaitResult)>();
};

#[test]
fn a_handle_has_the_size_of_a_pointer() {
    let pointer = size_of::<usize>();
    assert_eq!(size_of::<Ia>(), pointer);
    assert_eq!(size_of::<Ep>(), pointer);
    assert_eq!(size_of::<Option<Ep>>(), pointer);
    assert_eq!(size_of::<Evd>(), pointer);
    assert_eq!(size_of::<Lmr>(), pointer);
}

#[test]
fn an_error_is_at_most_two_pointers_and_its_result_no_larger() {
    assert!(size_of::<Error>() <= 2 * size_of::<usize>(), "{}", size_of::<Error>());
    assert_eq!(size_of::<dat_core::Result<()>>(), size_of::<Error>());
}

/// Counts the allocations of each thread.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system allocator does everything; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller passes a layout of nonzero size.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller guarantees that `alloc` returned the block for this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Number of allocations of this thread during `work`, and its result.
fn allocations<T>(work: impl FnOnce() -> T) -> (u64, T) {
    let before = ALLOCATIONS.with(Cell::get);
    let value = work();
    (ALLOCATIONS.with(Cell::get) - before, value)
}

#[test]
fn allocations_are_counted() {
    assert_eq!(allocations(|| Box::new(7_u64)).0, 1);
    assert_eq!(allocations(|| 7_u64).0, 0);
}

#[test]
fn an_error_without_its_own_text_does_not_allocate() {
    let (count, error) = allocations(|| {
        let error = Error::new(ReturnType::QueueFull, Subtype::NoSubtype).during("dat_evd_post_se");
        error.clone()
    });
    assert_eq!(count, 0);
    assert!(!error.reason().is_empty() && !error.advice().is_empty(), "it has a text all the same");
    // The posts, which a consumer may repeat until the queue is full.
    for post in [
        "dat_ep_post_send",
        "dat_ep_post_send_with_invalidate",
        "dat_ep_post_recv",
        "dat_ep_post_rdma_read",
        "dat_ep_post_rdma_read_to_rmr",
        "dat_ep_post_rdma_write",
        "dat_ib_post_rdma_write_immed",
        "dat_ib_post_fetch_and_add",
        "dat_ib_post_cmp_and_swap",
        "dat_ib_post_send_ud",
        "dat_srq_post_recv",
        "dat_rmr_bind",
    ] {
        let full = (ReturnType::InsufficientResources, Subtype::ResourceCredits);
        let (count, error) = allocations(|| Error::new(full.0, full.1).during(post));
        assert_eq!((count, error.operation()), (0, post));
    }
    let (count, _) = allocations(|| Error::new(ReturnType::QueueFull, Subtype::NoSubtype).on("EP"));
    assert!(count > 0, "a text of its own is allocated");
}

#[test]
fn errors_of_full_and_empty_queues_do_not_allocate() {
    let ia = open_ia();
    let evd = ia.evd_create(&EvdOptions::new(2, EvdFlags::SOFTWARE)).expect("a dispatcher");
    for value in 0..2 {
        evd.post_software_event(value).expect("room");
    }
    let (count, error) = allocations(|| evd.post_software_event(2).expect_err("full"));
    assert_eq!((count, error.return_type()), (0, ReturnType::QueueFull));
    let mut event = Event::default();
    while evd.dequeue(&mut event).expect("live") {}
    let (count, found) = allocations(|| evd.dequeue(&mut event).expect("live"));
    assert_eq!((count, found), (0, false));
    let (count, waited) = allocations(|| evd.wait(Timeout::ZERO, 1, &mut event).expect("live"));
    assert_eq!((count, waited), (0, WaitResult::TimedOut { queued: 0 }));
    let cno = ia.cno_create(None).expect("made");
    // The first sleep of a thread may allocate.
    cno.wait(Timeout::ZERO).expect_err("not triggered");
    let (count, error) = allocations(|| cno.wait(Timeout::ZERO).expect_err("not triggered"));
    assert_eq!((count, error.return_type()), (0, ReturnType::QueueEmpty));
}

#[test]
fn posting_and_dequeueing_do_not_allocate() {
    let ia = open_ia();
    let pz = ia.pz_create().expect("a zone");
    let memory = Memory::zeroed(64).expect("memory");
    let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL).expect("a region");
    let attributes = EpAttributes { max_request_dtos: 2, ..ia.default_ep_attributes().clone() };
    let evd = |flags| ia.evd_create(&EvdOptions::new(16, flags)).expect("a dispatcher");
    let (dto, events) =
        (evd(EvdFlags::DTO), evd(EvdFlags::CONNECTION | EvdFlags::CONNECTION_REQUEST));
    let spec = EpSpec::new(&pz).attributes(&attributes);
    let spec = spec.recv_evd(&dto).request_evd(&dto).connect_evd(&events);
    let end = || ia.ep_create(&spec).expect("an endpoint");
    let (client, server) = (end(), end());
    let psp = ia.psp_create_any(&events, EpProvision::Consumer).expect("a service point");
    client.connect(&Connect::to_psp(&psp)).expect("unconnected");
    let mut event = Event::default();
    events.wait(Timeout::Infinite, 1, &mut event).expect("a request");
    let Event::ConnectionRequest(arrival) = &event else { panic!("{event:?}") };
    arrival.request.accept(Some(&server), b"").expect("a request");
    let local = [lmr.triplet(0, 8).expect("inside")];
    let remote = lmr.remote_triplet(32, 8).expect("inside");
    let none = CompletionFlags::empty();
    let mut round = || {
        server.post_recv(&local, 1, none).expect("connected");
        client.post_send(&local, 2, none).expect("connected");
        client.post_rdma_write(&local, 3, remote, none).expect("connected");
        let full = client.post_rdma_read(&local, 4, remote, none).expect_err("two are outstanding");
        assert_eq!(full.subtype(), Subtype::ResourceCredits);
        let mut seen = 0;
        while dto.dequeue(&mut event).expect("live") {
            seen += 1;
        }
        assert_eq!(seen, 3);
    };
    // The first round may allocate.
    round();
    let (count, ()) = allocations(|| (0..100).for_each(|_| round()));
    assert_eq!(count, 0);
}
