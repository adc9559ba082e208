//! Open instances of one device: what they share, and when it ends. One test only, since it counts
//! the threads of the process.

use std::fs;
use std::time::{Duration, Instant};

use dat_core::Close;
use verbs_side::{Side, device};

/// How many threads of the process have that name.
fn threads(name: &str) -> usize {
    let tasks = fs::read_dir("/proc/self/task").expect("proc(5)");
    let comm = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).ok();
    tasks.flatten().filter_map(comm).filter(|comm| comm.trim_end() == name).count()
}

#[test]
fn instances_of_a_device_share_its_threads_until_the_last_one_ends() {
    let Some(address) = device("what open instances share") else { return };
    assert_eq!((threads("dat-cm"), threads("dat-events")), (0, 0));
    let one = Side::open(address);
    let other = Side::open(address);
    assert_eq!((threads("dat-cm"), threads("dat-events")), (1, 1), "two open instances");
    close(one);
    assert_eq!((threads("dat-cm"), threads("dat-events")), (1, 1), "one open instance");
    // The other one still works, and a third shares its threads.
    let third = Side::open(address);
    assert_eq!((threads("dat-cm"), threads("dat-events")), (1, 1), "two open instances again");
    close(other);
    close(third);
    // A thread that drops the last object of the device itself ends by itself.
    let deadline = Instant::now() + Duration::from_secs(10);
    while (threads("dat-cm"), threads("dat-events")) != (0, 0) {
        assert!(Instant::now() < deadline, "none is open, and a thread goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
    close(Side::open(address));
}

fn close(side: Side) {
    let ia = side.ia.clone();
    drop(side);
    ia.close(Close::Abrupt).expect("live");
}
