//! RDMA write and read.
//!
//! An RDMA operation moves bytes between local segments and memory of the peer, whose program takes no part in it. The
//! owner of the memory prepares two things:
//!
//! - **Privileges.** A region permits exactly the accesses that it was registered for:
//!   [`REMOTE_WRITE`](crate::Privileges::REMOTE_WRITE) and [`REMOTE_READ`](crate::Privileges::REMOTE_READ) for the peer,
//!   [`LOCAL_WRITE`](crate::Privileges::LOCAL_WRITE) for receives and for the target of an RDMA read,
//!   [`LOCAL_READ`](crate::Privileges::LOCAL_READ) for what is sent or written.
//! - **An advertisement.** The peer needs the address, the length and the remote context of the memory:
//!   [`Lmr::remote_triplet`](crate::Lmr::remote_triplet). How it gets them is up to the program; private data and
//!   messages are the usual ways. [`RmrTriplet::to_bytes`](crate::RmrTriplet::to_bytes) has a byte order that is the
//!   same on all machines.
//!
//! A context permits access to its whole region, for every endpoint of its zone. To open only a part of it, and to
//! close it again without a new registration, bind a remote memory region ([`Rmr`](crate::Rmr)) to the part.
//!
//! The completion of a write says that the local memory can be used again. The peer is not notified of the write. Send
//! it a message afterwards on the same endpoint: it arrives after the bytes. A read completes when its bytes are in
//! local memory; what is posted behind it may overtake it, except with
//! [`BARRIER_FENCE`](crate::CompletionFlags::BARRIER_FENCE).
//!
//! An access that the region does not permit completes with an error and breaks the connection.
//!
//! ```
//! use std::time::Duration;
//!
//! use dat_core::{
//!     Connect, EpSpec, EvdFlags, EvdOptions, Event, Evd, Memory, Privileges, EpProvision,
//!     Registry, RmrTriplet,
//! };
//!
//! fn next(evd: &Evd) -> dat_core::Result<Event> {
//!     Ok(evd.next_event(Duration::from_secs(5))?.expect("an event within five seconds"))
//! }
//!
//! /// Waits for a completion, and checks its cookie.
//! fn complete(evd: &Evd, cookie: u64) -> dat_core::Result<()> {
//!     let Event::Dto(done) = next(evd)? else { panic!("not a completion") };
//!     done.result().expect("a success");
//!     assert_eq!(done.cookie, cookie);
//!     Ok(())
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
//!     // The server opens its memory to the peer, and an empty receive awaits the message at the end.
//!     let shared = Memory::copy_of(b"counter = 0")?;
//!     let privileges = Privileges::REMOTE_READ | Privileges::REMOTE_WRITE;
//!     let shared_lmr = ia.lmr_create(&shared, &pz, privileges)?;
//!     server.receive(&[], 1)?;
//!
//!     let psp = ia.psp_create_any(&far, EpProvision::Consumer)?;
//!     client.connect(&Connect::to_psp(&psp))?;
//!     let Event::ConnectionRequest(arrival) = next(&far)? else { panic!("not a request") };
//!     let advertisement = shared_lmr.remote_triplet(0, shared.len() as u64)?;
//!     arrival.request.accept(Some(&server), &advertisement.to_bytes())?;
//!     let Event::Connection(established) = next(&near)? else { panic!("not a connection event") };
//!     let remote = RmrTriplet::from_bytes(&established.private_data).expect("an advertisement");
//!
//!     // The client reads all of it, changes the last byte, and writes that byte back.
//!     let copy = Memory::zeroed(remote.length as usize)?;
//!     let copy_lmr = ia.lmr_create(&copy, &pz, Privileges::LOCAL_READ | Privileges::LOCAL_WRITE)?;
//!     client.rdma_read(&[copy_lmr.triplet(0, remote.length)?], 2, remote)?;
//!     complete(&near, 2)?;
//!     assert_eq!(copy.to_vec(0, copy.len())?, b"counter = 0");
//!
//!     copy.write(10, b"1")?;
//!     let last = RmrTriplet { address: remote.address + 10, length: 1, ..remote };
//!     client.rdma_write(&[copy_lmr.triplet(10, 1)?], 3, last)?;
//!     client.send(&[], 4)?; // says that it is done
//!     complete(&near, 3)?;
//!     complete(&near, 4)?;
//!
//!     let Event::Connection(_) = next(&far)? else { panic!("not a connection event") };
//!     complete(&far, 1)?;
//!     assert_eq!(shared.to_vec(0, shared.len())?, b"counter = 1");
//!     Ok(())
//! }
//! ```
//!
//! Pages: dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT), dat_rmr_bind(3DAT). Next:
//! [`waiting`](super::waiting).
