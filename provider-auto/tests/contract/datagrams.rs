//! Datagrams to queue pairs that tell their peers themselves where they receive.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use dat_provider::error::{Result, ReturnType};
use dat_provider::flags::{Close, CompletionFlags};
use dat_provider::status::{DtoStatus, Operation};
use dat_provider::verbs::DatagramBinding;
use dat_provider::{
    Completion, DATAGRAM_PREFIX, DeviceCounters, Epoch, QueuePairSpec, RemoteAddress, Request,
    Segment, Service, Work,
};

use crate::world::{Side, World, receive};

pub(crate) const PREFIX: usize = DATAGRAM_PREFIX as usize;
const KEY: u64 = 0x1111_1111;
pub(crate) const LO: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// The adapters that have datagrams.
pub(crate) fn worlds() -> [World; 3] {
    [
        World::open(&*dat_provider_shm::provider(), "shm"),
        World::open(&*dat_provider_tcp::provider(), "tcp-lo"),
        World::open(&*dat_provider_auto::provider(), "auto"),
    ]
}

/// A queue pair with a port of its own.
fn side_at(world: &World, port: u16) -> Side {
    world.side_with(|spec| datagram(spec, port))
}

fn datagram(spec: &mut QueuePairSpec, port: u16) {
    spec.service = Service::Datagram;
    spec.verbs.binding = Some(DatagramBinding { port, key: KEY });
}

pub(crate) fn side(world: &World) -> Side {
    side_at(world, 0)
}

fn port(side: &Side) -> u16 {
    side.qp.for_verbs().datagram_port().expect("it has one")
}

/// A queue pair at an address of this machine, to which datagrams go from the same address.
pub(crate) fn to(world: &World, side: &Side, at: IpAddr) -> RemoteAddress {
    let address =
        world.adapter.for_verbs().remote_address(Some(at), SocketAddr::new(at, port(side)), KEY);
    address.expect("an adapter with datagrams")
}

/// Posts a datagram, without waiting for its completion.
pub(crate) fn submit(
    side: &Side,
    to: &RemoteAddress,
    (work, cookie, flags): (Work, u64, CompletionFlags),
    segment: Segment,
) -> Result<()> {
    let (segments, length, checked) = (&[segment][..], segment.length, Epoch::default());
    side.qp.post_datagram(to, &Request { work, segments, length, cookie, flags, checked })
}

pub(crate) fn post(side: &Side, to: &RemoteAddress, work: Work, cookie: u64, length: usize) {
    let request = (work, cookie, CompletionFlags::SOLICITED_WAIT);
    submit(side, to, request, side.segment(0, length)).expect("a datagram");
    assert_eq!(side.done(1), [(Operation::SendDatagram, cookie, DtoStatus::Success)]);
}

/// The completion of the receive 3 at the start of the memory, whose message must be this one.
pub(crate) fn received(side: &Side, message: &[u8]) -> Completion {
    let [done] = side.completions(1)[..] else { panic!("one completion") };
    assert_eq!((done.cookie, done.status), (3, DtoStatus::Success));
    assert_eq!(done.length, (PREFIX + message.len()) as u64);
    assert_eq!(side.memory.to_vec(PREFIX, message.len()).expect("in range"), message);
    done
}

fn header(side: &Side) -> [u8; PREFIX] {
    let mut header = [0; PREFIX];
    side.memory.read(0, &mut header).expect("in range");
    header
}

#[test]
fn a_datagram_tells_its_sender() {
    for world in worlds() {
        let [one, other] = [(); 2].map(|()| side(&world));
        for at in [LO, Ipv4Addr::new(127, 0, 0, 9).into(), Ipv6Addr::LOCALHOST.into()] {
            one.memory.write(0, b"hello").expect("in range");
            other.receive(3, other.segment(0, 100));
            let to = to(&world, &other, at);
            assert_eq!(to.number, u32::from(port(&other)));
            post(&one, &to, Work::Send, 5, 5);
            let done = received(&other, b"hello");
            assert_eq!(done.operation, Operation::ReceiveDatagram);
            assert_eq!((done.datagram_port(), done.immediate()), (port(&one), None));
            let header = header(&other);
            match at {
                IpAddr::V4(v4) => {
                    assert_eq!((header[..20].to_vec(), header[20]), (vec![0; 20], 0x45));
                    assert_eq!(header[32..], [v4.octets(), v4.octets()].concat());
                }
                IpAddr::V6(v6) => {
                    assert_eq!(header[0], 0x60);
                    assert_eq!(header[8..], [v6.octets(), v6.octets()].concat());
                }
            }
        }
    }
}

#[test]
fn a_datagram_carries_immediate_data() {
    for world in worlds() {
        let [one, other] = [(); 2].map(|()| side(&world));
        let to = to(&world, &other, LO);
        for (length, immediate) in [(0, 0), (9, u32::MAX), (16 << 10, 7)] {
            let bytes: Vec<u8> = (0..length).map(|n| n as u8).collect();
            one.memory.write(0, &bytes).expect("in range");
            other.receive(3, other.segment(0, PREFIX + length));
            post(&one, &to, Work::SendImmediate { immediate }, 5, length);
            let done = received(&other, &bytes);
            assert_eq!(done.operation, Operation::ReceiveDatagramImmediate);
            assert_eq!((done.datagram_port(), done.immediate()), (port(&one), Some(immediate)));
        }
    }
}

#[test]
fn a_datagram_with_another_key_is_dropped_and_counted() {
    for world in worlds() {
        let [one, other] = [(); 2].map(|()| side(&world));
        let errors = || world.adapter.counters().receive_errors;
        let to = to(&world, &other, LO);
        other.receive(3, other.segment(0, 100));
        other.qp.for_verbs().set_datagram_key(KEY + 1).expect("its own key");
        post(&one, &to, Work::Send, 5, 5);
        world.eventually(|| {
            other.expect_none();
            errors() == 1
        });
        other.qp.for_verbs().set_datagram_key(KEY).expect("its own key");
        post(&one, &to, Work::Send, 5, 0);
        received(&other, b"");
        assert_eq!(errors(), 1);
    }
}

#[test]
fn a_datagram_for_a_receive_that_is_too_short_is_dropped_and_counted() {
    for world in worlds() {
        let [one, other] = [(); 2].map(|()| side(&world));
        let to = to(&world, &other, LO);
        other.receive(3, other.segment(0, PREFIX + 4));
        post(&one, &to, Work::Send, 5, 5);
        assert_eq!(other.done(1), [(Operation::ReceiveDatagram, 3, DtoStatus::LocalLength)]);
        assert_eq!(world.adapter.counters().dropped_datagrams, 1);
    }
}

/// Sends more datagrams than there are receives, which are posted one by one.
fn late_receives(world: &World, other: &Side, post_receive: impl Fn(Segment)) {
    const COUNT: u8 = 100;
    let one = side(world);
    let to = to(world, other, LO);
    let take = |number: u8| {
        received(other, &[number; 5]);
        other.expect_none();
    };
    let receive = || post_receive(other.segment(0, PREFIX + 5));
    receive();
    for number in 0..COUNT {
        one.memory.write(0, &[number; 5]).expect("in range");
        post(&one, &to, Work::Send, 5, 5);
    }
    take(0);
    for number in 1..COUNT {
        receive();
        take(number);
    }
    assert_eq!(world.adapter.counters(), DeviceCounters::default());
}

#[test]
fn datagrams_wait_for_receives() {
    for world in worlds() {
        let other = side(&world);
        late_receives(&world, &other, |segment| other.receive(3, segment));
    }
}

#[test]
fn datagrams_wait_for_receives_of_a_shared_queue() {
    for world in worlds() {
        let queue = world.shared_receives();
        let other = world.side_with(|spec| {
            datagram(spec, 0);
            spec.shared_receives = Some(Arc::clone(&queue));
        });
        late_receives(&world, &other, |segment| {
            queue.post_receive(&receive(3, &[segment])).expect("space");
        });
    }
}

#[test]
fn a_flushed_queue_pair_drops_the_datagrams_that_wait() {
    for world in worlds() {
        let [one, other] = [(); 2].map(|()| side(&world));
        let to = to(&world, &other, LO);
        for _ in 0..3 {
            post(&one, &to, Work::Send, 5, 5);
        }
        other.qp.disconnect(Close::Abrupt);
        assert_eq!(world.adapter.counters().dropped_datagrams, 3);
        other.receive(3, other.segment(0, PREFIX + 5));
        other.expect_nothing();
        one.memory.write(0, b"hello").expect("in range");
        post(&one, &to, Work::Send, 5, 5);
        received(&other, b"hello");
    }
}

#[test]
fn the_owner_chooses_the_port() {
    for world in worlds() {
        let first = side(&world);
        let error = Side::new(&world, |spec| {
            datagram(spec, port(&first));
        });
        let error = error.err().expect("the port is in use");
        assert!(error.to_string().contains("in use"), "{error}");
        let free = port(&first);
        drop(first);
        assert_eq!(port(&side_at(&world, free)), free);
    }
}

#[test]
fn a_group_reaches_all_members_and_no_others() {
    for world in worlds() {
        let members = [(); 3].map(|()| side(&world));
        let group = IpAddr::from([239, 77, 68, std::process::id() as u8 | 1]);
        let to = world.adapter.for_verbs().remote_address(Some(LO), SocketAddr::new(group, 0), KEY);
        let to = to.expect("an adapter with datagrams");
        for member in &members[..2] {
            for _ in 0..2 {
                member.qp.for_verbs().join_group(group, LO).expect("an interface");
            }
        }
        members.iter().for_each(|member| member.receive(3, member.segment(0, 100)));
        members[0].memory.write(PREFIX, b"hello").expect("in range");
        let send = |from: usize| {
            let side = &members[from];
            side.memory.write(0, b"hello").expect("in range");
            post_and_keep(side, &to);
        };
        send(2);
        for member in &members[..2] {
            let done = received(member, b"hello");
            assert_eq!(done.datagram_port(), port(&members[2]));
            let header = header(member);
            let IpAddr::V4(v4) = group else { panic!("it is one of IPv4") };
            assert_eq!(header[36..], v4.octets());
        }
        assert_eq!(members[2].done(1)[0].0, Operation::SendDatagram);
        members[2].expect_nothing();
        members[1].qp.for_verbs().leave_group(group, LO).expect("a member");
        let error =
            members[1].qp.for_verbs().leave_group(group, LO).expect_err("no member any more");
        assert!(error.is(ReturnType::InvalidParameter), "{error}");
        members[..2].iter().for_each(|member| member.receive(3, member.segment(0, 100)));
        send(2);
        received(&members[0], b"hello");
        members[1].expect_nothing();
    }
}

/// Sends 5 bytes, without waiting for the completion.
fn post_and_keep(side: &Side, to: &RemoteAddress) {
    let request = (Work::Send, 5, CompletionFlags::empty());
    submit(side, to, request, side.segment(0, 5)).expect("a datagram");
}

#[test]
fn a_member_gets_its_own_datagrams() {
    for world in worlds() {
        let member = side(&world);
        let group = IpAddr::from([239, 77, 69, std::process::id() as u8 | 1]);
        member.qp.for_verbs().join_group(group, LO).expect("an interface");
        let to = world.adapter.for_verbs().remote_address(Some(LO), SocketAddr::new(group, 0), KEY);
        member.receive(3, member.segment(0, 100));
        post_and_keep(&member, &to.expect("an adapter with datagrams"));
        let mut operations: Vec<_> = member.done(2).into_iter().map(|done| done.0).collect();
        operations.sort_by_key(|operation| *operation as u32);
        assert_eq!(operations, [Operation::SendDatagram, Operation::ReceiveDatagram]);
    }
}

#[test]
fn others_have_no_port_of_their_own() {
    for world in worlds() {
        let resolved = world.side_with(|spec| spec.service = Service::Datagram);
        assert_eq!(resolved.qp.for_verbs().datagram_port(), None);
        let group = IpAddr::from([239, 77, 68, 1]);
        for refused in [
            resolved.qp.for_verbs().set_datagram_key(1),
            resolved.qp.for_verbs().join_group(group, LO),
            world.pair()[0].qp.for_verbs().leave_group(group, LO),
        ] {
            let error = refused.expect_err("it has no binding");
            assert!(error.is(ReturnType::ModelNotSupported), "{error}");
        }
    }
}
