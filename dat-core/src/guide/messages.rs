//! Sending and receiving.
//!
//! Only registered memory can be sent from or received into. [`Memory`](crate::Memory) owns bytes, and
//! [`Ia::lmr_create`](crate::Ia::lmr_create) registers them as a local memory region
//! ([`Lmr`](crate::Lmr)). The adapter may access the bytes at any time, so a program reads and writes them by copies:
//! [`Memory::write`](crate::Memory::write), [`Memory::read`](crate::Memory::read). Registration takes long in comparison
//! with a message: register large regions once, and use pieces of them.
//!
//! A post names pieces of regions, its *segments* ([`Lmr::triplet`](crate::Lmr::triplet)), and a *cookie*, a number that
//! its completion returns. A message may be gathered from several segments and scattered into others; the segments of
//! the two sides need not correspond.
//!
//! - **A receive must wait for each message.** Post it before the peer can send: before accept or connect. A receive
//!   that is too short for its message ends the connection.
//! - Receives take the messages in the order of the sends, and complete in the order of their posts.
//! - A post returns at once. Until its completion arrives, the memory belongs to the operation: neither change what is
//!   being sent, nor read what is being received.
//! - The completion of a send says that its memory can be used again. Only an answer says that the peer has processed
//!   the message.
//! - A dispatcher must hold all completions that may be outstanding at once.
//!
//! ```
//! use std::time::Duration;
//!
//! use dat_core::{
//!     Connect, EpSpec, EvdFlags, EvdOptions, Event, Evd, Memory, Operation, Privileges,
//!     EpProvision, Registry,
//! };
//!
//! const SIZE: u64 = 64; // of a buffer
//!
//! /// The cookie and the length of the next completion of that kind; skips connection events.
//! fn completed(evd: &Evd, operation: Operation) -> dat_core::Result<(u64, u64)> {
//!     loop {
//!         match evd.next_event(Duration::from_secs(5))?.expect("an event within five seconds") {
//!             Event::Dto(done) if done.operation == operation => {
//!                 return Ok((done.cookie, done.result().expect("a success")));
//!             }
//!             Event::Dto(done) => drop(done.result().expect("a success")),
//!             other => println!("{other}"),
//!         }
//!     }
//! }
//!
//! fn main() -> dat_core::Result<()> {
//!     let registry = Registry::new();
//!     registry.add_provider(dat_provider_loopback::provider())?;
//!     let ia = registry.open("loopback")?;
//!     let pz = ia.pz_create()?;
//!     let streams = EvdFlags::CONNECTION_REQUEST | EvdFlags::CONNECTION | EvdFlags::DTO;
//!     let (near, far) = (
//!         ia.evd_create(&EvdOptions::new(64, streams))?,
//!         ia.evd_create(&EvdOptions::new(64, streams))?,
//!     );
//!     let spec = |evd| EpSpec::new(&pz).recv_evd(evd).request_evd(evd).connect_evd(evd);
//!     let (client, server) = (ia.ep_create(&spec(&near))?, ia.ep_create(&spec(&far))?);
//!
//!     // Four receives wait at the server; the cookie is the number of the buffer.
//!     let inbox = Memory::zeroed(4 * SIZE as usize)?;
//!     let inbox_lmr = ia.lmr_create(&inbox, &pz, Privileges::LOCAL_WRITE)?;
//!     for number in 0..4 {
//!         server.receive(&[inbox_lmr.triplet(number * SIZE, SIZE)?], number)?;
//!     }
//!
//!     let psp = ia.psp_create_any(&far, EpProvision::Consumer)?;
//!     client.connect(&Connect::to_psp(&psp))?;
//!     let arrival = far.next_event(Duration::from_secs(5))?;
//!     let Some(Event::ConnectionRequest(arrival)) = arrival else { panic!("not a request") };
//!     arrival.request.accept(Some(&server), b"")?;
//!
//!     // One message from two segments.
//!     let outbox = Memory::copy_of(b"world!hello, ")?;
//!     let outbox_lmr = ia.lmr_create(&outbox, &pz, Privileges::LOCAL_READ)?;
//!     client.send(&[outbox_lmr.triplet(6, 7)?, outbox_lmr.triplet(0, 6)?], 100)?;
//!
//!     let (cookie, length) = completed(&far, Operation::Receive)?;
//!     let message = inbox.to_vec((cookie * SIZE) as usize, length as usize)?;
//!     assert_eq!(message, b"hello, world!");
//!     // The buffer is free again, so it waits for another message.
//!     server.receive(&[inbox_lmr.triplet(cookie * SIZE, SIZE)?], cookie)?;
//!
//!     assert_eq!(completed(&near, Operation::Send)?, (100, 13));
//!     Ok(())
//! }
//! ```
//!
//! Many endpoints can share one set of receives: [`Srq`](crate::Srq). Flags of
//! [`Ep::post_send`](crate::Ep::post_send) suppress completions, or leave it to the sender whether the
//! receiver is woken.
//!
//! Pages: dat_lmr_create(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_send(3DAT). Next: [`rdma`](super::rdma).
