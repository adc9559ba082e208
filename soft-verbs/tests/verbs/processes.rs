//! Two processes, over shared memory and over TCP.

use std::io::{BufRead, Write};
use std::mem::ManuallyDrop;
use std::process::Child;
use std::time::Duration;

use dat_soft_verbs::*;
use dat_two_processes::fork::in_child;
use dat_two_processes::process;

use crate::world::{Side, connected_to, pair};

/// The environment variable with the parameters of the device.
const VARIABLE: &str = "SOFT_VERBS";
/// Over shared memory, and over TCP.
const TRANSPORTS: [&str; 2] = ["", "shm=no"];

/// The other process: sends the place of its memory, and then returns each message.
#[test]
#[ignore = "the other process of the tests below"]
fn peer() {
    let side = Side::new(QueuePairType::Rc);
    process::announce(side.qp.number().into());
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line).expect("the number of the parent");
    side.init();
    side.receive(1, side.sge(0, 64));
    connected_to(&side, line.trim().parse().expect("a number"));
    let Remote { address, key } = side.remote(4096);
    side.memory.write(128, &address.to_ne_bytes()).expect("inside");
    side.memory.write(136, &key.to_ne_bytes()).expect("inside");
    side.post(9, SendOperation::Send, side.sge(128, 12));
    loop {
        let mut done = [WorkCompletion::default()];
        if side.queue.poll(&mut done) == 0 || done[0].opcode != WcOpcode::RECV {
            std::thread::yield_now();
            continue;
        }
        assert_eq!(done[0].status, WcStatus::SUCCESS);
        side.receive(1, side.sge(0, 64));
        side.post(9, SendOperation::Send, side.sge(0, done[0].byte_len));
    }
}

/// This side, the other process, and its memory.
fn start(parameters: &str) -> (Side, Child, Remote) {
    let mut command = process::command("processes::peer");
    command.env(VARIABLE, parameters);
    let (mut child, number) = process::started(&mut command);
    let number = u32::try_from(number.expect("it announces its number")).expect("24 bits");
    let side = Side::new(QueuePairType::Rc);
    side.init();
    (0..4).for_each(|n| side.receive(n, side.sge(0, 64)));
    let input = child.stdin.as_mut().expect("piped");
    writeln!(input, "{}", side.qp.number()).expect("it reads");
    connected_to(&side, number);
    assert_eq!(side.brief(1), [(0, WcStatus::SUCCESS)]);
    let word = |at| side.memory.to_vec(at, 8).expect("inside").try_into().expect("eight bytes");
    let address = u64::from_ne_bytes(word(0));
    let key = u64::from_ne_bytes(word(8)) as u32;
    (side, child, Remote { address, key })
}

fn end(mut child: Child) {
    child.kill().expect("it runs");
    child.wait().expect("it has ended");
}

#[test]
fn all_operations_reach_another_process() {
    for parameters in TRANSPORTS {
        let (side, child, remote) = start(parameters);
        side.memory.write(1000, b"message!").expect("inside");
        side.post(20, SendOperation::Send, side.sge(1000, 8));
        let done = side.sorted(2);
        assert_eq!(done, [(1, WcStatus::SUCCESS), (20, WcStatus::SUCCESS)]);
        assert_eq!(side.memory.to_vec(0, 8).expect("inside"), b"message!");
        side.memory.write(2000, &7_u64.to_ne_bytes()).expect("inside");
        side.post(21, SendOperation::Write(remote), side.sge(2000, 8));
        side.post(22, SendOperation::FetchAdd { remote, add: 5 }, side.sge(2008, 8));
        side.post(23, SendOperation::Read(remote), side.sge(2016, 8));
        assert_eq!(side.brief(3), [21, 22, 23].map(|n| (n, WcStatus::SUCCESS)));
        let word = |at| side.memory.to_vec(at, 8).expect("inside");
        assert_eq!([word(2008), word(2016)], [7_u64, 12].map(|n| n.to_ne_bytes().to_vec()));
        end(child);
    }
}

#[test]
fn a_long_message_reaches_another_process() {
    for parameters in TRANSPORTS {
        let (side, child, remote) = start(parameters);
        let bytes: Vec<u8> = (0..40_000_u32).map(|n| n as u8).collect();
        side.memory.write(4096, &bytes).expect("inside");
        side.post(21, SendOperation::Write(remote), side.sge(4096, 40_000));
        side.done(1);
        side.memory.write(4096, &[0; 40_000]).expect("inside");
        side.post(22, SendOperation::Read(remote), side.sge(4096, 40_000));
        side.done(1);
        assert!(side.memory.to_vec(4096, 40_000).expect("inside") == bytes, "{parameters}");
        end(child);
    }
}

#[test]
fn a_killed_process_fails_the_request_that_waits_for_it_and_flushes_the_rest() {
    for parameters in TRANSPORTS {
        let (side, child, remote) = start(parameters);
        process::stop(&child);
        // A stopped process answers no read.
        side.post(20, SendOperation::Send, side.sge(0, 8));
        side.post(21, SendOperation::FetchAdd { remote, add: 1 }, side.sge(0, 8));
        end(child);
        let done = side.brief(5);
        let failed: Vec<_> = done.iter().filter(|(_, it)| *it != WcStatus::WR_FLUSH_ERR).collect();
        assert!(
            failed.last().is_some_and(|(_, status)| *status == WcStatus::RETRY_EXC_ERR),
            "{done:?}"
        );
        assert_eq!(side.qp.state(), QueuePairState::Err);
    }
}

#[test]
fn a_killed_process_is_not_noticed_before_the_next_request() {
    for parameters in TRANSPORTS {
        let (side, child, _) = start(parameters);
        end(child);
        side.expect_nothing();
        assert_eq!(side.qp.state(), QueuePairState::Rts);
        side.post(20, SendOperation::Send, side.sge(0, 8));
        let flushed = |n| (n, WcStatus::WR_FLUSH_ERR);
        let expected = [(20, WcStatus::RETRY_EXC_ERR), flushed(1), flushed(2), flushed(3)];
        assert_eq!(side.brief(4), expected);
    }
}

#[test]
fn a_stopped_process_delays_requests_and_fails_none() {
    for parameters in TRANSPORTS {
        let (side, child, remote) = start(parameters);
        process::stop(&child);
        side.post(20, SendOperation::FetchAdd { remote, add: 1 }, side.sge(0, 8));
        side.post(21, SendOperation::Send, side.sge(0, 8));
        // Longer than the time in which the retries of a packet end.
        std::thread::sleep(Duration::from_millis(700));
        side.expect_nothing();
        assert_eq!(side.qp.state(), QueuePairState::Rts);
        process::go_on(&child);
        let done = side.sorted(3);
        assert_eq!(done, [1, 20, 21].map(|n| (n, WcStatus::SUCCESS)), "{parameters}");
        end(child);
    }
}

/// Each side gets a message of the other one.
fn exchange(sides: &[Side; 2]) -> bool {
    let [one, other] = sides;
    let both = [(one, other), (other, one)];
    both.into_iter().all(|(from, to)| {
        to.receive(1, to.sge(0, 64));
        from.post(2, SendOperation::Send, from.sge(0, 8));
        to.brief(1) == [(1, WcStatus::SUCCESS)] && from.brief(1) == [(2, WcStatus::SUCCESS)]
    })
}

#[test]
fn a_child_has_a_device_of_its_own_and_does_not_disturb_its_parent() {
    let of_parent = pair();
    assert!(exchange(&of_parent));
    in_child(|| {
        let [one, _] = &of_parent;
        let sges = [one.sge(0, 8)];
        let is_refused = one
            .post_with(7, SendOperation::Send, &sges, SendFlags::SIGNALED)
            .is_err_and(|error| error.errno != 0);
        is_refused && exchange(&pair())
    });
    assert!(exchange(&of_parent));
}

#[test]
fn operations_end_if_the_program_closes_the_descriptors_of_the_device() {
    in_child(|| {
        // Their channels own descriptors that are closed.
        let sides = ManuallyDrop::new(pair());
        let is_connected = exchange(&sides);
        let [one, other] = &*sides;
        other.receive(1, other.sge(0, 64));
        // SAFETY: nothing of the test uses a descriptor.
        let is_closed = unsafe { libc::close_range(3, u32::MAX, 0) } == 0;
        one.post(5, SendOperation::Send, one.sge(0, 8));
        let done = one.brief(1);
        for side in &*sides {
            // It can be destroyed without descriptors.
            side.move_to(QueuePairState::Err).expect("from every state");
            side.qp.destroy().expect("not used");
        }
        is_connected && is_closed && done[0].0 == 5
    });
}

#[test]
fn a_connection_may_be_established_while_the_attributes_change() {
    for _ in 0..20 {
        // Over TCP, the call that changes them may be the one that reads the answer of the peer.
        let (_side, child, _) = start("shm=no");
        end(child);
    }
}

/// A process with a wrong value of the variable.
#[test]
#[ignore = "the other process of the test below"]
fn misled() {
    for attempt in 0..3 {
        let error = devices()[0].open().expect_err("the variable is wrong");
        assert_eq!(error.errno, libc::EINVAL, "attempt {attempt}: {error}");
    }
    process::announce(3);
}

#[test]
fn a_wrong_variable_fails_each_open() {
    let mut command = process::command("processes::misled");
    command.env(VARIABLE, "monitor=nonsense");
    let (mut child, refused) = process::started(&mut command);
    assert_eq!(refused, Some(3));
    child.wait().expect("a child");
}
