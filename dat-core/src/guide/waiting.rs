//! Waiting for events.
//!
//! | way | call | fits |
//! | --- | --- | --- |
//! | poll | [`Evd::dequeue`](crate::Evd::dequeue), [`queued_events`](crate::Evd::queued_events) | the lowest latency, at the cost of a processor; a program with other work between two polls |
//! | block | [`Evd::next_event`](crate::Evd::next_event), [`wait`](crate::Evd::wait) | a thread with one dispatcher |
//! | notification object | [`Cno::wait`](crate::Cno::wait) | a thread with many dispatchers |
//! | descriptor | [`Evd::arm`](crate::Evd::arm), then poll(2) or epoll(7) | an event loop that also has sockets and timers |
//! | task | `EventStream`, with the feature `tokio` | an asynchronous program |
//!
//! A blocking wait first spins for a short time, so it costs little if the event comes soon. Only one thread at a time
//! may wait on a dispatcher. With [`wait`](crate::Evd::wait) a thread can require that several events are
//! queued before it is woken, the *threshold*; it then takes the others without waiting.
//!
//! A notification object ([`Cno`](crate::Cno)) is triggered when an event arrives at one of its dispatchers and no
//! thread waits there. Triggers do not add up: after a wait, take the events of all its dispatchers, of which the
//! returned one is only a hint.
//!
//! The descriptor becomes readable only after `arm`. Always check the result of `arm`: `true` means that an event came
//! first, and that the program must not sleep.
//!
//! In the program the events are those of software ([`post_software_event`](crate::Evd::post_software_event)), by which one thread
//! wakes another. All other events are waited for in the same way.
//!
//! ```
//! use std::os::fd::AsFd;
//! use std::time::Duration;
//!
//! use dat_core::{EvdFlags, EvdOptions, Event, Registry, Timeout, WaitResult};
//! use rustix::event::{PollFd, PollFlags, poll};
//!
//! fn main() -> dat_core::Result<()> {
//!     let registry = Registry::new();
//!     registry.add_provider(dat_provider_loopback::provider())?;
//!     let ia = registry.open("loopback")?;
//!     let evd = ia.evd_create(&EvdOptions::new(16, EvdFlags::SOFTWARE))?;
//!
//!     // Poll: take what is there, into storage that is used again.
//!     let mut event = Event::default();
//!     assert!(!evd.dequeue(&mut event)?, "nothing is queued");
//!
//!     // Block: another thread posts two events.
//!     std::thread::scope(|threads| {
//!         let poster = evd.clone();
//!         threads.spawn(move || -> dat_core::Result<()> {
//!             poster.post_software_event(1)?;
//!             poster.post_software_event(2)
//!         });
//!         let waited = evd.wait(Timeout::After(Duration::from_secs(5)), 2, &mut event)?;
//!         assert_eq!((waited, &event), (WaitResult::Event { more: 1 }, &Event::Software(1)));
//!         assert_eq!(evd.next_event(Timeout::Infinite)?, Some(Event::Software(2)));
//!         dat_core::Result::Ok(())
//!     })?;
//!
//!     // A time-out is not an error.
//!     assert_eq!(evd.next_event(Duration::from_millis(1))?, None);
//!
//!     // One thread waits for two dispatchers.
//!     let cno = ia.cno_create(None)?;
//!     let options = EvdOptions::new(16, EvdFlags::SOFTWARE).with_cno(&cno);
//!     let both = [ia.evd_create(&options)?, ia.evd_create(&options)?];
//!     both[0].post_software_event(3)?;
//!     both[1].post_software_event(4)?;
//!     cno.wait(Duration::from_secs(5).into())?;
//!     let events = both.iter().flat_map(|evd| evd.queued_events());
//!     assert!(events.eq([Ok(Event::Software(3)), Ok(Event::Software(4))]));
//!
//!     // An event loop: arm, sleep, take.
//!     if !evd.arm()? {
//!         evd.post_software_event(5)?; // by another thread, in a real program
//!         let fd = evd.as_fd();
//!         poll(&mut [PollFd::new(&fd, PollFlags::IN)], None).expect("poll");
//!     }
//!     assert!(evd.queued_events().eq([Ok(Event::Software(5))]));
//!     Ok(())
//! }
//! ```
//!
//! Pages: dat_evd_dequeue(3DAT), dat_evd_wait(3DAT), dat_cno_wait(3DAT), dat_evd_post_se(3DAT). Next:
//! [`errors`](super::errors).
