//! The users that can open a page, and pages that are not what they should be.

use std::os::fd::OwnedFd;
use std::path::PathBuf;

use dat_core::monitor::{PageError, Watch};
use nix::unistd::{Uid, setuid};
use proptest::prelude::RngCore;
use proptest::test_runner::{RngAlgorithm, TestRng};
use rustix::fs::{MemfdFlags, SealFlags};

use crate::child::{in_child, succeeds};
use crate::{alone, find, open, own, pages};

#[test]
fn the_length_of_a_page_cannot_change_while_it_is_read() {
    let _alone = alone();
    let _ia = open("loopback");
    let page = pages("self").pop().expect("one");
    let file = std::fs::File::options().write(true).open(page).expect("it exists");
    let length = file.metadata().expect("it exists").len();
    for wrong in [0, 4096, length + 4096] {
        let error = file.set_len(wrong).expect_err("the length is sealed");
        assert_eq!(error.raw_os_error(), Some(nix::libc::EPERM));
    }
    assert_eq!(own(&mut Watch::new()).adapters.len(), 1);
}

#[test]
fn only_the_same_user_can_open_the_page() {
    let _alone = alone();
    let _ia = open("loopback");
    let page = pages("self").pop().expect("one");
    let metadata = std::fs::metadata(&page).expect("it exists");
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    assert_eq!(metadata.uid(), Uid::effective().as_raw());
    if !Uid::effective().is_root() {
        // Only root can become another user; the mode has been checked.
        return;
    }
    let parent = std::process::id();
    let name = page.file_name().expect("a number").to_owned();
    let nobody = Uid::from_raw(65_534);
    succeeds(in_child(move || {
        let page = PathBuf::from(format!("/proc/{parent}/fd")).join(name);
        let opens = || std::fs::File::open(&page).is_ok();
        let is_open_to_root = opens();
        setuid(nobody).expect("root may");
        is_open_to_root && !opens() && find(&mut Watch::new(), parent).is_none()
    }));
}

/// A memory file with the name of a page.
fn impostor(length: u64, seals: SealFlags, content: &[u8]) -> OwnedFd {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = rustix::fs::memfd_create("dat-monitor", flags).expect("memory");
    rustix::fs::ftruncate(&file, length).expect("memory");
    let mut rest = content;
    let mut at = 0;
    while !rest.is_empty() {
        let written = rustix::io::pwrite(&file, rest, at).expect("memory");
        (rest, at) = (&rest[written..], at + written as u64);
    }
    rustix::fs::fcntl_add_seals(&file, seals).expect("allowed");
    file
}

#[test]
fn pages_of_strangers_are_refused_or_shown_and_never_crash_the_reader() {
    let _alone = alone();
    let own = std::process::id();
    let errors = || -> Vec<PageError> {
        let (_, errors) = Watch::new().sample();
        errors.into_iter().filter(|error| error.process == own).collect()
    };
    assert!(errors().is_empty());
    let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
    // The length and the header are those of a genuine page.
    let ia = open("loopback");
    let page = pages("self").pop().expect("one");
    let genuine = std::fs::read(page).expect("it exists");
    let length = genuine.len() as u64;
    drop(ia);

    let growing = SealFlags::GROW;
    for (what, length, seals, content) in [
        ("it could shrink", length, growing, &[] as &[u8]),
        ("it is short", 4096, seals, &[]),
        ("it is empty", 0, seals, &[]),
        ("it has no format", length, seals, &[7; 64]),
        ("it is of zeros", length, seals, &[]),
    ] {
        let file = impostor(length, seals, content);
        assert_eq!(errors().len(), 1, "{what}");
        drop(file);
    }

    let mut generator = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut random = || generator.next_u64();
    for round in 0..21_u64 {
        let mut content = genuine[..128].to_vec();
        content.resize(64 << 10, 0);
        // The kinds of slots are small numbers, and so is the number of slots, except in some rounds.
        content[128..].chunks_exact_mut(8).for_each(|word| {
            let value = if round % 3 == 0 { random() % 4 } else { random() };
            word.copy_from_slice(&value.to_ne_bytes());
        });
        let slots = if round % 5 == 0 { random() } else { random() % 100 };
        content[48..56].copy_from_slice(&slots.to_ne_bytes());
        // Some are written without end.
        content[16..24].copy_from_slice(&(round % 7 / 6).to_ne_bytes());
        let file = impostor(length, seals, &content);
        let (processes, errors) = Watch::new().sample();
        let is_shown = processes.iter().any(|view| view.process == own);
        let is_refused = errors.iter().any(|error| error.process == own);
        assert!(is_shown != is_refused, "round {round}");
        drop(file);
    }
}
