//! The handler of faults leaves those of the program to the program.
#![allow(unsafe_code, reason = "signal actions are set, and memory is accessed that is not mapped")]

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

use dat_conformance::Node;
use dat_core::{Ia, Registry};
use dat_two_processes::lost_memory;
use dat_two_processes::process::command;
use libc::{c_int, c_void, siginfo_t};

/// An address at which nothing is mapped.
const NOWHERE: usize = 0x0500_0000_1008;
/// The status with which the handlers of these tests end the process.
const HANDLED: i32 = 42;

fn open(parameters: &str) -> Ia {
    let registry = Registry::new();
    registry.add_provider(dat_provider_loopback::provider()).expect("a new registry");
    registry.open(&format!("loopback?{parameters}")).expect("an adapter")
}

/// Sets the action of SIGSEGV, and returns the handler that it replaces.
fn set_action(handler: usize, flags: c_int, blocked: Option<c_int>) -> usize {
    // SAFETY: all zeros is the default action.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    (action.sa_sigaction, action.sa_flags) = (handler, flags);
    if let Some(signal) = blocked {
        // SAFETY: the set is a part of the action.
        unsafe { libc::sigaddset(&raw mut action.sa_mask, signal) };
    }
    let mut old = action;
    // SAFETY: the handlers of these tests call only what a handler may call.
    assert_eq!(unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, &raw mut old) }, 0);
    old.sa_sigaction
}

fn fault() {
    // SAFETY: it is not: the kernel raises a signal, which is what the tests are about.
    unsafe { ptr::without_provenance_mut::<u8>(NOWHERE).write_volatile(1) };
}

/// Ends the process with [`HANDLED`] if the kernel has passed what it passes for [`fault`].
extern "C" fn with_information(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes valid pointers.
    let info = unsafe { &*info };
    // SAFETY: the signal is a fault, which has an address.
    let address = unsafe { info.si_addr() }.addr();
    let mut blocked = std::mem::MaybeUninit::uninit();
    // SAFETY: the call stores the set.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, ptr::null(), blocked.as_mut_ptr()) };
    // SAFETY: the set was stored.
    let is_blocked = |signal| unsafe { libc::sigismember(blocked.as_ptr(), signal) } == 1;
    let is_right = signal == libc::SIGSEGV
        && address == NOWHERE
        && !context.is_null()
        && is_blocked(libc::SIGUSR1)
        && is_blocked(libc::SIGSEGV);
    // SAFETY: the process ends here.
    unsafe { libc::_exit(if is_right { HANDLED } else { 1 }) };
}

extern "C" fn plain(signal: c_int) {
    // SAFETY: the process ends here.
    unsafe { libc::_exit(if signal == libc::SIGSEGV { HANDLED } else { 1 }) };
}

extern "C" fn that_returns(_: c_int) {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    if CALLS.fetch_add(1, Ordering::Relaxed) > 0 {
        // SAFETY: the process ends here.
        unsafe { libc::_exit(1) };
    }
}

static REPLACED: AtomicUsize = AtomicUsize::new(0);

extern "C" fn that_passes_on(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    type Handler = extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
    // SAFETY: it is the handler that the open has installed.
    let handler =
        unsafe { std::mem::transmute::<usize, Handler>(REPLACED.load(Ordering::Relaxed)) };
    handler(signal, info, context);
}

/// Opens an adapter, and then installs a handler that passes faults on.
fn node_with_a_later_handler(_: &str) -> Node {
    let node = Node::on(open(""));
    if REPLACED.load(Ordering::Relaxed) == 0 {
        let handler = that_passes_on as *const () as usize;
        REPLACED.store(set_action(handler, libc::SA_SIGINFO, None), Ordering::Relaxed);
    }
    node
}

#[test]
#[ignore = "a process of its own, which loses memory"]
fn process_with_a_later_handler() {
    lost_memory::the_second_half_is_enough(node_with_a_later_handler);
}

#[test]
#[ignore = "a process of its own, which ends by a fault"]
fn process_that_wants_signals() {
    lost_memory::the_second_half_is_enough(|_| Node::on(open("memory_faults=signal")));
}

#[test]
#[ignore = "a process of its own, which ends by a fault"]
fn process_with_a_handler_with_information() {
    set_action(with_information as *const () as usize, libc::SA_SIGINFO, Some(libc::SIGUSR1));
    let _ia = open("");
    fault();
}

#[test]
#[ignore = "a process of its own, which ends by a fault"]
fn process_with_a_plain_handler() {
    set_action(plain as *const () as usize, 0, None);
    let _ia = open("");
    fault();
}

#[test]
#[ignore = "a process of its own, which ends by a fault"]
fn process_with_a_handler_for_one_fault() {
    set_action(that_returns as *const () as usize, libc::SA_RESETHAND, None);
    let _ia = open("");
    fault();
}

#[test]
#[ignore = "a process of its own, which ends by a fault"]
fn process_without_a_handler() {
    set_action(libc::SIG_DFL, 0, None);
    let _ia = open("");
    fault();
}

#[test]
#[ignore = "a process of its own, which ends by a fault"]
fn process_that_ignores_faults() {
    set_action(libc::SIG_IGN, 0, None);
    let _ia = open("");
    // One that another process has sent is ignored.
    // SAFETY: the call has no memory as an argument.
    unsafe { libc::raise(libc::SIGSEGV) };
    fault();
}

#[test]
#[ignore = "a process of its own, which ends by a signal"]
fn process_that_is_sent_the_signal() {
    set_action(libc::SIG_DFL, 0, None);
    let _ia = open("");
    // SAFETY: the call has no memory as an argument.
    unsafe { libc::raise(libc::SIGSEGV) };
}

#[test]
#[ignore = "a process of its own, which ends by a fault"]
fn process_whose_child_faults() {
    set_action(with_information as *const () as usize, libc::SA_SIGINFO, Some(libc::SIGUSR1));
    let _ia = open("");
    // SAFETY: the child calls only what a child of a process with threads may call.
    let child = unsafe { libc::fork() };
    if child == 0 {
        fault();
    }
    let mut status = 0;
    // SAFETY: the call stores the status.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    std::process::exit(libc::WEXITSTATUS(status));
}

fn run(test: &str) -> ExitStatus {
    command(test).output().expect("a process").status
}

#[test]
fn the_handler_of_the_program_gets_the_faults_of_the_program() {
    for process in [
        "process_with_a_handler_with_information",
        "process_with_a_plain_handler",
        "process_whose_child_faults",
    ] {
        assert_eq!(run(process).code(), Some(HANDLED), "{process}");
    }
}

#[test]
fn without_one_they_end_the_program() {
    for process in [
        "process_without_a_handler",
        "process_that_ignores_faults",
        "process_with_a_handler_for_one_fault",
        "process_that_is_sent_the_signal",
    ] {
        assert_eq!(run(process).signal(), Some(libc::SIGSEGV), "{process}");
    }
}

#[test]
fn a_later_handler_may_pass_the_faults_of_copies_on() {
    assert_eq!(run("process_with_a_later_handler").code(), Some(0));
}

#[test]
fn the_parameter_leaves_the_faults_of_copies_to_the_program() {
    assert_eq!(run("process_that_wants_signals").signal(), Some(libc::SIGSEGV));
}
