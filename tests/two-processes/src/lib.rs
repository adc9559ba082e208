//! Tests and benchmarks for all providers that connect processes, for what the conformance suite,
//! which runs in one process, cannot test.
//!
//! A test program of a provider calls [`tests!`] at its root with a function that opens its adapter
//! with parameters.

pub mod backlog;
pub mod busy_parent;
pub mod child;
pub mod closed;
pub mod completions;
pub mod containers;
pub mod crowd;
pub mod datagrams;
pub mod fork;
pub mod inherited;
pub mod killed;
pub mod limits;
pub mod link_sleep;
pub mod lost;
pub mod lost_memory;
pub mod many;
pub mod network;
pub mod pages;
pub mod ports;
pub mod process;
pub mod silence;
pub mod spin;
pub mod starved;
pub mod thousands;
pub mod traffic;
pub mod waiters;
pub mod write_order;

pub use completions::{NONE, each_once, posts};

/// The tests of these modules, over the adapter that a function opens. At the root of the program:
/// [`process::start`] runs the program again with the name of one test.
#[macro_export]
macro_rules! tests {
    ($open:path) => {
        mod backlog {
            use $crate::{backlog, network};
            #[test]
            #[ignore = "the process that is stopped in the tests below"]
            fn peer() {
                backlog::peer($open);
            }
            #[test]
            #[ignore = "in a network of its own"]
            fn waiting_attempts() {
                backlog::attempts_wait_until_there_is_room($open);
            }
            #[test]
            #[ignore = "in a network of its own"]
            fn time_out() {
                backlog::the_time_out_of_the_consumer_holds($open);
            }
            #[test]
            fn attempts_wait_until_there_is_room() {
                network::run(backlog::LIMIT, "backlog::waiting_attempts");
            }
            #[test]
            fn the_time_out_of_the_consumer_holds() {
                network::run(backlog::LIMIT, "backlog::time_out");
            }
        }
        mod closed {
            #[test]
            #[ignore = "a process of its own, whose descriptors are closed"]
            fn process_that_waits() {
                $crate::closed::a_waiter_finds_it($open);
            }
            #[test]
            #[ignore = "a process of its own, whose descriptors are closed"]
            fn process_that_does_not_wait() {
                $crate::closed::the_thread_finds_it($open);
            }
            #[test]
            #[ignore = "a process of its own, whose descriptors are closed"]
            fn process_that_makes_calls() {
                $crate::closed::a_call_finds_it($open);
            }
            #[test]
            fn descriptors_that_the_program_closes_end_the_adapter_when_it_waits() {
                $crate::process::run("closed::process_that_waits");
            }
            #[test]
            fn descriptors_that_the_program_closes_end_the_adapter_when_a_link_wakes_it() {
                $crate::process::run("closed::process_that_does_not_wait");
            }
            #[test]
            fn descriptors_that_the_program_closes_end_the_adapter_when_it_makes_a_call() {
                $crate::process::run("closed::process_that_makes_calls");
            }
        }
        mod link_sleep {
            #[test]
            #[ignore = "a process of its own, which counts its sockets"]
            fn process_that_waits() {
                $crate::link_sleep::a_waiter_reads_its_only_connection_itself($open);
            }
            #[test]
            fn a_waiter_reads_its_only_connection_itself() {
                $crate::process::run("link_sleep::process_that_waits");
            }
            #[test]
            #[ignore = "a process of its own, which counts its sockets"]
            fn process_that_polls() {
                $crate::link_sleep::polls_for_connection_events_read_the_connection($open);
            }
            #[test]
            fn polls_for_connection_events_read_the_connection() {
                $crate::process::run("link_sleep::process_that_polls");
            }
        }
        mod spin {
            #[test]
            #[ignore = "a process of its own, whose threads are counted"]
            fn process_with_a_spinning_thread() {
                $crate::spin::a_target_without_calls_is_served_by_a_thread_that_never_sleeps($open);
            }
            #[test]
            fn a_target_without_calls_is_served_by_a_thread_that_never_sleeps() {
                $crate::process::run("spin::process_with_a_spinning_thread");
            }
        }
        mod crowd {
            #[test]
            #[ignore = "a process of its own, whose descriptors are its connections"]
            fn process_with_a_crowd() {
                $crate::crowd::a_thousand_connects_at_once_are_all_established($open);
            }
            #[test]
            fn a_thousand_connects_at_once_are_all_established() {
                $crate::process::run("crowd::process_with_a_crowd");
            }
        }
        mod descriptors {
            #[test]
            #[ignore = "a process of its own, whose limit is lowered"]
            fn process_without() {
                $crate::starved::both_sides($open);
            }
            #[test]
            #[ignore = "a process of its own, whose limit is lowered"]
            fn process_with_a_low_soft_limit() {
                $crate::limits::an_open_leaves_the_limit_alone_unless_a_parameter_raises_it($open);
            }
            #[test]
            fn an_open_leaves_the_limit_alone_unless_a_parameter_raises_it() {
                $crate::process::run("descriptors::process_with_a_low_soft_limit");
            }
            #[test]
            #[ignore = "a process of its own, whose limit is lowered"]
            fn process_that_opens() {
                $crate::starved::opening($open);
            }
            #[test]
            fn used_up_they_are_the_reason_why_an_adapter_does_not_open() {
                $crate::process::run("descriptors::process_that_opens");
            }
            #[test]
            #[ignore = "a process of its own, whose limit is lowered"]
            fn process_without_memory() {
                $crate::starved::memory($open);
            }
            #[test]
            fn memory_that_is_used_up_is_the_reason_why_a_region_is_not_registered() {
                $crate::process::run("descriptors::process_without_memory");
            }
            #[test]
            fn used_up_on_both_sides_they_fail_the_attempt_and_leave_nothing() {
                $crate::process::run("descriptors::process_without");
            }
            #[test]
            fn used_up_on_the_passive_side_they_fail_the_attempt() {
                $crate::starved::passive_side($open);
            }
        }
        mod files {
            #[test]
            #[ignore = "a process of its own, whose limit is lowered"]
            fn process_with_small_files() {
                $crate::limits::small_files_raise_no_signal($open);
            }
            #[test]
            fn a_limit_of_their_size_raises_no_signal() {
                $crate::process::run("files::process_with_small_files");
            }
        }
        mod datagrams {
            #[test]
            #[ignore = "the other process of a test below"]
            fn peer() {
                $crate::datagrams::peer($open);
            }
            #[test]
            fn every_length_crosses_between_processes() {
                $crate::datagrams::every_length_crosses_between_processes($open);
            }
            #[test]
            #[ignore = "a process of its own, which closes its descriptors"]
            fn process_that_closes() {
                $crate::datagrams::closed_descriptors_end_it($open);
            }
            #[test]
            #[ignore = "a process of its own, which counts its descriptors"]
            fn process_that_counts() {
                $crate::datagrams::attempts_that_time_out_leave_nothing($open);
            }
            #[test]
            fn attempts_that_time_out_leave_nothing() {
                $crate::process::run("datagrams::process_that_counts");
            }
            #[test]
            fn descriptors_that_the_program_closes_end_it() {
                $crate::process::run("datagrams::process_that_closes");
            }
            #[test]
            fn what_is_lost_is_counted() {
                $crate::datagrams::what_is_lost_is_counted($open);
            }
            #[test]
            fn packets_of_strangers_are_dropped_and_counted() {
                $crate::datagrams::packets_of_strangers_are_dropped_and_counted($open);
            }
            #[test]
            fn every_name_of_an_address_works() {
                $crate::datagrams::every_name_of_an_address_works($open);
            }
            #[test]
            fn a_waiter_is_woken() {
                $crate::datagrams::a_waiter_is_woken($open);
            }
            #[test]
            fn a_poller_gets_each_of_a_burst() {
                $crate::datagrams::a_poller_gets_each_of_a_burst($open);
            }
            #[test]
            fn a_child_keeps_no_socket() {
                $crate::datagrams::a_child_keeps_no_socket($open);
            }
        }
        mod fork {
            #[test]
            fn a_child_does_not_disturb_the_connections_of_its_parent() {
                $crate::fork::a_child_does_not_disturb_the_connections_of_its_parent($open);
            }
            #[test]
            fn a_child_learns_which_process_owns_the_adapter() {
                $crate::fork::a_child_learns_which_process_owns_the_adapter($open);
            }
            #[test]
            fn a_child_that_drops_everything_does_not_disturb_its_parent() {
                $crate::fork::a_child_that_drops_everything_does_not_disturb_its_parent($open);
            }
        }
        mod busy_parent {
            #[test]
            #[ignore = "a process of its own, whose only threads are those of the test"]
            fn process_that_forks() {
                $crate::busy_parent::a_child_uses_an_adapter_whatever_its_parent_was_doing($open);
            }
            #[test]
            fn a_child_uses_an_adapter_whatever_its_parent_was_doing() {
                $crate::process::run("busy_parent::process_that_forks");
            }
        }
        mod inherited {
            #[test]
            #[ignore = "a process of its own, whose descriptors are listed"]
            fn process_that_lists() {
                $crate::inherited::a_child_keeps_no_descriptor_of_its_parent($open);
            }
            #[test]
            fn a_child_keeps_no_descriptor_of_its_parent() {
                $crate::process::run("inherited::process_that_lists");
            }
            #[test]
            fn a_parent_listens_again_while_its_child_lives() {
                $crate::inherited::a_parent_listens_again_while_its_child_lives($open);
            }
            #[test]
            #[ignore = "the process that is killed in the test below"]
            fn process_with_a_child() {
                $crate::inherited::process_with_a_child($open);
            }
            #[test]
            fn a_peer_notices_the_death_of_a_process_whose_child_lives() {
                $crate::inherited::a_peer_notices_the_death_of_a_process_whose_child_lives($open);
            }
        }
        mod killed {
            use $crate::killed::Way;
            #[test]
            #[ignore = "the process that ends in the tests below"]
            fn peer() {
                $crate::traffic::peer($open);
            }
            #[test]
            #[ignore = "a process of its own, which counts its descriptors"]
            fn survivor_of_kill_9() {
                $crate::killed::survivor($open, Way::Kill);
            }
            #[test]
            #[ignore = "a process of its own, which counts its descriptors"]
            fn survivor_of_exec() {
                $crate::killed::survivor($open, Way::Exec);
            }
            #[test]
            fn kill_9_in_the_middle_ends_its_connections_and_no_other() {
                println!("{}", $crate::process::run("killed::survivor_of_kill_9"));
            }
            #[test]
            fn exec_in_the_middle_ends_its_connections_and_no_other() {
                println!("{}", $crate::process::run("killed::survivor_of_exec"));
            }
        }
        mod lost {
            #[test]
            #[ignore = "the other process of the tests below"]
            fn peer() {
                $crate::lost::peer($open);
            }
            #[test]
            fn after_kill_9_of_the_peer_every_cookie_comes_once() {
                $crate::lost::after_kill_9_of_the_peer_every_cookie_comes_once($open);
            }
            #[test]
            fn the_end_of_a_peer_wakes_a_waiter() {
                $crate::lost::the_end_of_a_peer_wakes_a_waiter($open);
            }
            #[test]
            fn a_peer_that_was_stopped_goes_on() {
                $crate::lost::a_peer_that_was_stopped_goes_on($open);
            }
            #[test]
            fn the_death_of_one_peer_does_not_disturb_the_others() {
                $crate::lost::the_death_of_one_peer_does_not_disturb_the_others($open);
            }
        }
        mod memory {
            #[test]
            #[ignore = "a process of its own, which loses memory"]
            fn process_that_loses_memory() {
                $crate::lost_memory::each_operation_fails($open);
            }
            #[test]
            #[ignore = "a process of its own, which loses memory"]
            fn process_that_loses_half_of_it() {
                $crate::lost_memory::the_second_half_is_enough($open);
            }
            // On other processors lost memory raises the signal (provider-kit/src/fault).
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
            #[test]
            fn that_its_owner_loses_fails_operations_and_nothing_else() {
                $crate::process::run("memory::process_that_loses_memory");
            }
            #[cfg(any(target_arch = "x86_64", target_arch = "aarch64", target_arch = "riscv64"))]
            #[test]
            fn of_which_its_owner_loses_half_does_so_too() {
                $crate::process::run("memory::process_that_loses_half_of_it");
            }
            #[test]
            fn that_only_its_owner_reaches_works() {
                $crate::lost_memory::memory_that_only_its_owner_reaches_works($open);
            }
        }
        mod many {
            #[test]
            #[ignore = "a process of its own, which counts its memory"]
            fn process_with_thousands() {
                $crate::thousands::connections($open);
            }
            #[test]
            fn thousands_of_connections_work_and_leave_nothing() {
                println!("{}", $crate::process::run("many::process_with_thousands"));
            }
            #[test]
            fn hundreds_of_connections_share_dispatchers() {
                $crate::many::hundreds_of_connections_share_dispatchers($open);
            }
            #[test]
            fn the_thread_ends_with_its_adapter() {
                $crate::many::the_thread_ends_with_its_adapter($open);
            }
        }
        mod waiters {
            #[test]
            fn each_gets_its_messages() {
                $crate::waiters::each_waiter_gets_its_messages($open);
            }
            #[test]
            fn one_that_times_out_loses_nothing() {
                $crate::waiters::a_wait_that_times_out_loses_nothing($open);
            }
            #[test]
            fn none_calls_an_agent() {
                $crate::waiters::a_waiter_calls_no_agent($open);
            }
        }
    };
}
