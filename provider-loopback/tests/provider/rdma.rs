//! RDMA writes and reads, memory windows, and the protection of the peer's memory.

use crate::common::{Buffer, Event, World, bounded, connected, fresh_address, in_world};
use dat_core::flags::{CompletionFlags, Privileges};
use dat_core::provider::{BindRequest, WindowScope};
use dat_core::{DtoStatus, Operation, RmrTriplet};
use {DtoStatus::*, Operation::*};

#[test]
fn writes_and_reads_copy_exactly_what_they_name() {
    connected(|world, a, b| {
        let (mine, theirs) = (world.buffer(1000), world.buffer(1000));
        let bytes = mine.fill(1);
        // The remote range may be longer than the local segments.
        a.write(1, &[mine.segment(0, 10), mine.segment(500, 20)], theirs.remote(100, 50));
        let mut expected = vec![0; 1000];
        expected[100..110].copy_from_slice(&bytes[..10]);
        expected[110..130].copy_from_slice(&bytes[500..520]);
        assert_eq!(theirs.bytes(), expected);
        // The local segments may be longer than the remote range.
        let bytes = theirs.fill(2);
        let before = mine.bytes();
        a.read(2, &[mine.segment(7, 3), mine.segment(200, 100)], theirs.remote(900, 30));
        let mut expected = before;
        expected[7..10].copy_from_slice(&bytes[900..903]);
        expected[200..227].copy_from_slice(&bytes[903..930]);
        assert_eq!(mine.bytes(), expected);
        assert_eq!(a.done(), [(RdmaWrite, 1, 30, Success), (RdmaRead, 2, 30, Success)]);
        assert!(b.done().is_empty(), "the peer gets no completion");
    });
}

#[test]
fn an_empty_range_needs_no_valid_key() {
    connected(|_, a, _b| {
        let nowhere = RmrTriplet { address: 1, length: 0, context: 12345 };
        a.write(1, &[], nowhere);
        a.read(2, &[], nowhere);
        assert_eq!(a.done(), [(RdmaWrite, 1, 0, Success), (RdmaRead, 2, 0, Success)]);
    });
}

#[test]
fn keys_work_between_adapters() {
    bounded(|| {
        let (here, there) = (World::new(), World::at(fresh_address()));
        let (a, b) = (here.side(), there.side());
        there.join(&a, &b);
        let (mine, theirs) = (here.buffer(50), there.buffer(50));
        let bytes = mine.fill(1);
        a.write(1, &[mine.segment(0, 50)], theirs.remote(0, 50));
        assert_eq!(theirs.bytes(), bytes);
        b.receive(2, &[theirs.segment(10, 5)]);
        a.send(3, &[mine.segment(0, 5)]);
        assert_eq!(theirs.bytes()[10..15], bytes[..5]);
    });
}

/// Checks on a new connection that an access is refused.
fn refused(world: &World, mine: &Buffer, remote: RmrTriplet, operation: Operation) {
    let (a, b) = world.pair();
    b.receive(1, &[]);
    let local = [mine.segment(0, remote.length as usize)];
    match operation {
        RdmaWrite => a.write(2, &local, remote),
        _ => a.read(2, &local, remote),
    }
    assert_eq!(a.ended(), (vec![(operation, 2, RemoteAccess)], Event::Broken), "{remote:?}");
    assert_eq!(b.ended(), (vec![(Receive, 1, Flushed)], Event::Broken));
}

#[test]
fn access_beyond_bounds_privileges_and_domain_is_refused() {
    in_world(|world| {
        let (mine, theirs) = (world.buffer(100), world.buffer(100));
        let before = theirs.fill(1);
        let base = theirs.remote(0, 10);
        let end = base.address + 100;
        for operation in [RdmaWrite, RdmaRead] {
            for bad in [
                RmrTriplet { context: 0, ..base },
                RmrTriplet { context: base.context ^ 0x55, ..base },
                RmrTriplet { address: base.address - 1, ..base },
                RmrTriplet { address: end - 9, ..base },
                RmrTriplet { address: end, ..base },
                RmrTriplet { address: u64::MAX - 3, ..base },
                RmrTriplet { address: 0, ..base },
            ] {
                refused(world, &mine, bad, operation);
            }
        }
        let other = world.adapter.create_domain().unwrap();
        let foreign = Buffer::new(&*other, 100, Privileges::ALL);
        refused(world, &mine, foreign.remote(0, 10), RdmaWrite);
        refused(world, &mine, foreign.remote(0, 10), RdmaRead);
        let local = Privileges::LOCAL_READ | Privileges::LOCAL_WRITE;
        let readable = Buffer::new(&*world.domain, 100, local | Privileges::REMOTE_READ);
        refused(world, &mine, readable.remote(0, 10), RdmaWrite);
        let writable = Buffer::new(&*world.domain, 100, local | Privileges::REMOTE_WRITE);
        refused(world, &mine, writable.remote(0, 10), RdmaRead);
        let private = Buffer::new(&*world.domain, 100, local);
        assert_eq!(private.remote_key, 0);
        let guessed = RmrTriplet { context: private.local_key, ..private.remote(0, 10) };
        refused(world, &mine, guessed, RdmaWrite);
        refused(world, &mine, guessed, RdmaRead);
        let freed = theirs.remote(0, 10);
        theirs.region.deregister().unwrap();
        refused(world, &mine, freed, RdmaWrite);
        assert_eq!(theirs.bytes(), before);
        assert_eq!(mine.bytes(), [0; 100]);
    });
}

#[test]
fn invalid_local_memory_fails_locally() {
    in_world(|world| {
        let other = world.adapter.create_domain().unwrap();
        let foreign = Buffer::new(&*other, 64, Privileges::ALL);
        let theirs = world.buffer(64);
        let (a, _b) = world.pair();
        a.write(1, &[foreign.segment(0, 8)], theirs.remote(0, 8));
        assert_eq!(a.ended(), (vec![(RdmaWrite, 1, LocalProtection)], Event::Broken));
        let (a, _b) = world.pair();
        let read_only = Buffer::new(&*world.domain, 64, Privileges::LOCAL_READ);
        a.read(1, &[read_only.segment(0, 8)], theirs.remote(0, 8));
        assert_eq!(a.ended(), (vec![(RdmaRead, 1, LocalProtection)], Event::Broken));
    });
}

/// Memory of a buffer, by the key of a window.
fn through(key: u32, buffer: &Buffer, offset: usize, length: usize) -> RmrTriplet {
    RmrTriplet { context: key, ..buffer.remote(offset, length) }
}

#[test]
fn a_window_gives_access_to_its_range_with_its_privileges() {
    connected(|world, a, b| {
        let local = Privileges::LOCAL_READ | Privileges::LOCAL_WRITE;
        let theirs = Buffer::new(&*world.domain, 100, local);
        let mine = world.buffer(100);
        let bytes = mine.fill(1);
        let window = world.domain.create_window(7, WindowScope::Domain).unwrap();
        let first = b.bind(&*window, &theirs, (20, 10), Privileges::REMOTE_WRITE, 1);
        a.write(2, &[mine.segment(0, 10)], through(first, &theirs, 20, 10));
        assert_eq!(a.done(), [(RdmaWrite, 2, 10, Success)]);
        assert_eq!(theirs.bytes()[20..30], bytes[..10]);
        let second = b.bind(&*window, &theirs, (0, 100), Privileges::REMOTE, 3);
        assert_ne!(first, second);
        a.read(4, &[mine.segment(0, 10)], through(second, &theirs, 20, 10));
        assert_eq!(a.done(), [(RdmaRead, 4, 10, Success)]);
        refused(world, &mine, through(first, &theirs, 20, 10), RdmaWrite);
        let third = b.bind(&*window, &theirs, (20, 10), Privileges::REMOTE_WRITE, 5);
        refused(world, &mine, through(third, &theirs, 20, 10), RdmaRead);
        refused(world, &mine, through(third, &theirs, 19, 10), RdmaWrite);
        // The key is not valid in local segments.
        let (c, _d) = world.pair();
        let mut segment = theirs.segment(20, 10);
        segment.key = third;
        c.write(6, &[segment], mine.remote(0, 10));
        assert_eq!(c.ended(), (vec![(RdmaWrite, 6, LocalProtection)], Event::Broken));
    });
}

#[test]
fn a_window_is_closed_by_length_zero_by_drop_and_with_its_region() {
    connected(|world, _a, b| {
        let (mine, theirs) = (world.buffer(100), world.buffer(100));
        let window = world.domain.create_window(7, WindowScope::Domain).unwrap();
        let key = b.bind(&*window, &theirs, (0, 10), Privileges::REMOTE_WRITE, 1);
        let close = BindRequest {
            window: &*window,
            region: None,
            address: 0,
            remote_address: 0,
            length: 0,
            privileges: Privileges::empty(),
            key: None,
            cookie: 2,
            flags: CompletionFlags::SUPPRESS,
        };
        b.qp.post_bind(&close).unwrap();
        assert_eq!(b.done(), [(Bind, 1, 0, Success)]);
        refused(world, &mine, through(key, &theirs, 0, 10), RdmaWrite);
        let window = world.domain.create_window(77, WindowScope::Domain).unwrap();
        let key = b.bind(&*window, &theirs, (20, 10), Privileges::REMOTE_WRITE, 5);
        let done = b.completions();
        assert_eq!((done[0].operation, done[0].cookie, done[0].extra), (Bind, 5, 77));
        drop(window);
        refused(world, &mine, through(key, &theirs, 20, 10), RdmaWrite);
        let window = world.domain.create_window(7, WindowScope::Domain).unwrap();
        let key = b.bind(&*window, &theirs, (0, 10), Privileges::REMOTE_WRITE, 1);
        theirs.region.deregister().unwrap();
        refused(world, &mine, through(key, &theirs, 0, 10), RdmaWrite);
    });
}

#[test]
fn a_bind_waits_for_earlier_requests_and_the_old_key_stays_valid() {
    connected(|world, a, b| {
        let (mine, theirs) = (world.buffer(100), world.buffer(100));
        let window = world.domain.create_window(7, WindowScope::Domain).unwrap();
        let old = b.bind(&*window, &theirs, (0, 10), Privileges::REMOTE_WRITE, 1);
        b.send(2, &[]);
        let new = b.bind(&*window, &theirs, (0, 10), Privileges::REMOTE_WRITE, 3);
        assert_eq!(b.done(), [(Bind, 1, 0, Success)]);
        a.write(4, &[mine.segment(0, 10)], through(old, &theirs, 0, 10));
        assert_eq!(a.done(), [(RdmaWrite, 4, 10, Success)], "the new bind has not executed");
        a.receive(5, &[]);
        assert_eq!(b.done(), [(Send, 2, 0, Success), (Bind, 3, 0, Success)]);
        a.write(6, &[mine.segment(0, 10)], through(new, &theirs, 0, 10));
        assert_eq!(a.done(), [(Receive, 5, 0, Success), (RdmaWrite, 6, 10, Success)]);
        // A flushed bind leaves the previous key valid.
        b.send(7, &[]);
        let flushed = b.bind(&*window, &theirs, (0, 20), Privileges::REMOTE_WRITE, 8);
        b.break_off();
        let expected = vec![(Send, 7, Flushed), (Bind, 8, Flushed)];
        assert_eq!(b.ended(), (expected, Event::Disconnected));
        refused(world, &mine, through(flushed, &theirs, 0, 10), RdmaWrite);
        let (c, _d) = world.pair();
        c.write(9, &[mine.segment(0, 10)], through(new, &theirs, 0, 10));
        assert_eq!(c.done(), [(RdmaWrite, 9, 10, Success)]);
    });
}

#[test]
fn a_bind_to_freed_memory_fails() {
    connected(|world, a, b| {
        let theirs = world.buffer(100);
        let window = world.domain.create_window(7, WindowScope::Domain).unwrap();
        theirs.region.deregister().unwrap();
        b.bind(&*window, &theirs, (0, 10), Privileges::REMOTE_WRITE, 1);
        assert_eq!(b.ended(), (vec![(Bind, 1, RmrFailed)], Event::Broken));
        assert_eq!(a.ended(), (vec![], Event::Broken));
    });
}
