//! The errors that explain why memory was not registered.

use std::process::Command;
use std::ptr::{NonNull, null_mut};

use dat_core::mem::Span;
use dat_core::{Error, MemorySource, Privileges, ReturnType};
use verbs_side::{Side, device};

/// Marks the process that has the limit.
const LIMITED: &str = "DAT_TEST_RDMA_LIMITED";
const LIMIT_BYTES: usize = 65_536;

/// Maps some pages.
fn pages(length: usize, protection: i32) -> *mut libc::c_void {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping, at an address that the kernel chooses, overlaps nothing.
    let place = unsafe { libc::mmap(null_mut(), length, protection, flags, -1, 0) };
    assert_ne!(place, libc::MAP_FAILED);
    place
}

fn refusal(side: &Side, place: *mut libc::c_void, length: usize, privileges: Privileges) -> Error {
    let place = NonNull::new(place.cast()).expect("mapped");
    // SAFETY: the registration fails, so no transfer accesses the memory.
    let span = unsafe { Span::new(place, length) };
    let made = side.ia.lmr_create(MemorySource::Span(span), &side.pz, privileges);
    made.expect_err("nothing that could be registered")
}

#[test]
fn an_address_range_that_is_not_mapped_is_named() {
    let Some(address) = device("memory that is not mapped") else { return };
    let side = Side::open(address);
    let place = pages(8192, libc::PROT_READ | libc::PROT_WRITE);
    let hole = place.wrapping_byte_add(4096);
    // SAFETY: one of the two mapped pages, which is not in use.
    assert_eq!(unsafe { libc::munmap(hole, 4096) }, 0);
    let error = refusal(&side, place, 8192, Privileges::LOCAL_WRITE);
    assert!(error.is(ReturnType::InvalidParameter), "{error}");
    assert!(error.to_string().contains(&format!("mapped at {:#x}", hole.addr())), "{error}");
}

#[test]
fn a_permission_that_is_missing_is_named() {
    let Some(address) = device("memory that can't be written") else { return };
    let side = Side::open(address);
    let place = pages(4096, libc::PROT_READ);
    let error = refusal(&side, place, 4096, Privileges::LOCAL_WRITE);
    assert!(error.is(ReturnType::InvalidParameter), "{error}");
    assert!(error.to_string().contains("permission"), "{error}");
}

#[test]
fn the_limit_of_locked_memory_is_named_with_its_value() {
    let Some(address) = device("the limit of locked memory") else { return };
    if std::env::var_os(LIMITED).is_some() {
        let side = Side::open(address);
        let length = LIMIT_BYTES * 4;
        let place = pages(length, libc::PROT_READ | libc::PROT_WRITE);
        let error = refusal(&side, place, length, Privileges::ALL);
        assert!(error.is(ReturnType::InsufficientResources), "{error}");
        let text = error.to_string();
        assert!(text.contains("RLIMIT_MEMLOCK") && text.contains("65536"), "{text}");
        return;
    }
    let limit = format!("--memlock={LIMIT_BYTES}:{LIMIT_BYTES}");
    let mut limited = Command::new("prlimit");
    limited.arg(limit);
    // SAFETY: the call has no preconditions.
    if unsafe { libc::geteuid() } == 0 {
        // The limit does not apply to a privileged user.
        let somebody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        limited.args(somebody).args(["--inh-caps=-all", "--bounding-set=-all"]);
    }
    let status = limited
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "the_limit_of_locked_memory_is_named_with_its_value", "--nocapture"])
        .env(LIMITED, "1")
        .status()
        .expect("prlimit of util-linux");
    assert!(status.success(), "{status}");
}
