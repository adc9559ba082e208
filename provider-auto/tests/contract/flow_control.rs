//! Senders of datagrams wait for their receivers.

use dat_provider::error::ReturnType;
use dat_provider::flags::{Close, CompletionFlags};
use dat_provider::status::DtoStatus;
use dat_provider::{DeviceCounters, RemoteAddress, Segment, Work};

use crate::datagrams::{LO, PREFIX, post, received, side, submit, to, worlds};
use crate::world::Side;

/// Posts a datagram of this length, if there is space for one more. The caller counts completions.
fn try_post(side: &Side, to: &RemoteAddress, length: usize) -> bool {
    let request = (Work::Send, 5, CompletionFlags::empty());
    match submit(side, to, request, side.segment(0, length)) {
        Ok(()) => true,
        Err(error) => {
            assert!(error.is(ReturnType::InsufficientResources), "{error}");
            false
        }
    }
}

#[test]
fn senders_wait_for_a_slower_receiver_and_nothing_is_lost() {
    /// More than the receive queue of a socket has space for.
    const COUNT: u32 = 3000;
    const LENGTH: usize = 2048;
    for world in worlds() {
        let (senders, other) = ([(); 2].map(|()| side(&world)), side(&world));
        let to = to(&world, &other, LO);
        let (mut posted, mut sent, mut received) = ([0; 2], [0; 2], [0; 2]);
        let receive = || other.receive(3, other.segment(0, PREFIX + LENGTH));
        receive();
        while received != [COUNT; 2] {
            for (index, sender) in senders.iter().enumerate() {
                sent[index] += sender.poll().len() as u32;
                loop {
                    let number: u32 = posted[index];
                    let bytes = [number.to_ne_bytes(), (index as u32).to_ne_bytes()].concat();
                    sender.memory.write(0, &bytes).expect("in range");
                    if number == COUNT || !try_post(sender, &to, LENGTH) {
                        break;
                    }
                    posted[index] += 1;
                }
            }
            for done in other.poll() {
                assert_eq!((done.cookie, done.status), (3, DtoStatus::Success));
                let number = |at| {
                    let bytes = other.memory.to_vec(PREFIX + at, 4).expect("in range");
                    u32::from_ne_bytes(bytes.try_into().expect("4 bytes"))
                };
                let index = number(4) as usize;
                assert_eq!(number(0), received[index], "lost, or in another order");
                received[index] += 1;
                receive();
            }
            if posted == [COUNT; 2] {
                assert_eq!(world.adapter.counters(), DeviceCounters::default());
            }
        }
        for (sender, sent) in senders.iter().zip(sent) {
            sender.completions((COUNT - sent) as usize);
        }
        assert_eq!(world.adapter.counters(), DeviceCounters::default());
    }
}

#[test]
fn a_receiver_that_is_gone_delays_its_sender_for_a_limited_time() {
    for world in worlds() {
        let [one, other] = [(); 2].map(|()| side(&world));
        let to = to(&world, &other, LO);
        drop(other);
        for _ in 0..200 {
            post(&one, &to, Work::Send, 5, 100);
        }
    }
}

#[test]
fn a_flushed_queue_pair_sends_nothing_that_waits() {
    const LENGTH: usize = 16 << 10;
    for world in worlds() {
        let [one, other] = [(); 2].map(|()| side(&world));
        let to = to(&world, &other, LO);
        let posted = std::iter::from_fn(|| try_post(&one, &to, LENGTH).then_some(())).count();
        one.qp.disconnect(Close::Abrupt);
        let done = one.done(posted);
        let (first, last) = (done[0].2, done[posted - 1].2);
        assert_eq!((first, last), (DtoStatus::Success, DtoStatus::Flushed));
        one.memory.write(0, b"hello").expect("in range");
        other.qp.disconnect(Close::Abrupt);
        other.receive(3, other.segment(0, PREFIX + 5));
        post(&one, &to, Work::Send, 5, 5);
        received(&other, b"hello");
    }
}

#[test]
fn a_datagram_that_cannot_be_read_completes_after_those_that_wait() {
    for world in worlds() {
        let [one, other] = [(); 2].map(|()| side(&world));
        let to = to(&world, &other, LO);
        for _ in 0..3 {
            assert!(try_post(&one, &to, 16 << 10));
        }
        let unknown = Segment { key: one.registration.local_key ^ 1, ..one.segment(0, 5) };
        let request = (Work::Send, 9, CompletionFlags::empty());
        submit(&one, &to, request, unknown).expect("its memory is checked later");
        let done: Vec<_> =
            one.done(4).into_iter().map(|(_, cookie, status)| (cookie, status)).collect();
        let sent = (5, DtoStatus::Success);
        assert_eq!(done, [sent, sent, sent, (9, DtoStatus::LocalProtection)]);
    }
}
