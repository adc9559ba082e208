//! Memory that is freed while other threads work.

use std::time::Instant;

use super::*;
use crate::common::{Setup, connected};
use dat_core::flags::Privileges;

#[test]
fn deregistered_memory_is_not_accessed() {
    in_world(|world| {
        // Long, so that memory is deregistered during a copy.
        let length = if cfg!(miri) { 256 } else { 4 << 20 };
        let source = world.buffer(length);
        // Only one side has the domain of the target; the other side copies into it as well.
        let domain = world.adapter.create_domain().unwrap();
        for round in 0..if cfg!(miri) { 3 } else { 45 } {
            let setup = Setup { domain: Some(Arc::clone(&domain)), ..Setup::default() };
            let (a, b) = world.pair_with(Setup::default(), setup);
            let target = Buffer::new(&*domain, length, Privileges::ALL);
            let started = AtomicBool::new(false);
            thread::scope(|scope| {
                scope.spawn(|| {
                    // Writes to the target in one of three ways until the connection breaks.
                    for cookie in 0.. {
                        match round % 3 {
                            0 => a.write(
                                cookie,
                                &[source.segment(0, length)],
                                target.remote(0, length),
                            ),
                            1 => {
                                // The read waits behind a send, so that the thread that posts the receive copies.
                                b.send(cookie, &[]);
                                let from = source.remote(0, length);
                                b.read(cookie, &[target.segment(0, length)], from);
                                a.receive(cookie, &[]);
                            }
                            _ => {
                                b.receive(cookie, &[target.segment(0, length)]);
                                a.send(cookie, &[source.segment(0, length)]);
                            }
                        }
                        started.store(true, Ordering::Release);
                        let (a_log, b_log) = (split(a.log()), split(b.log()));
                        if !a_log.1.is_empty() || !b_log.1.is_empty() {
                            return;
                        }
                    }
                });
                scope.spawn(|| {
                    while !started.load(Ordering::Acquire) {
                        std::hint::spin_loop();
                    }
                    thread::sleep(Duration::from_micros(round * 7));
                    target.region.deregister().unwrap();
                    // A copy that still runs would write the end of the target last.
                    let mark = [0xEE; 64];
                    target.memory.write(length - 64, &mark).unwrap();
                    let until = Instant::now() + Duration::from_millis(5);
                    while Instant::now() < until {
                        let tail = target.memory.to_vec(length - 64, 64).unwrap();
                        assert_eq!(tail, mark, "accessed after deregister");
                    }
                });
            });
        }
    });
}

#[test]
fn deregistering_while_connections_begin_and_end_does_not_deadlock() {
    in_world(|world| {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    world.buffer(64).region.deregister().unwrap();
                }
            });
            for round in 0..rounds(500) {
                let (a, b) = world.pair();
                b.receive(1, &[]);
                a.send(2, &[]);
                a.send(3, &[]);
                match round % 3 {
                    0 => a.break_off(),
                    1 => drop(b),
                    _ => b.qp.shutdown(),
                }
            }
            stop.store(true, Ordering::Relaxed);
        });
    });
}

#[test]
fn memory_of_one_domain_can_be_freed_while_another_is_in_use() {
    connected(|world, a, b| {
        let other = world.adapter.create_domain().unwrap();
        let buffer = world.buffer(64);
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..rounds(2000) {
                    Buffer::new(&*other, 64, Privileges::ALL).region.deregister().unwrap();
                }
            });
            for cookie in 0..rounds(2000) {
                b.receive(cookie, &[buffer.segment(0, 8)]);
                a.send(cookie, &[buffer.segment(8, 8)]);
                assert_eq!((a.done().len(), b.done().len()), (1, 1));
            }
        });
    });
}
