//! How to write a link.
//!
//! A provider over the [engine](crate::engine) consists of a *link*, a *transport* and little more. The link carries
//! frames to one peer, in order. The transport connects and accepts links. The engine does the rest: queue pairs,
//! completions, RDMA, memory protection, credits and the handshake.
//!
//! This page writes one over UNIX stream sockets, in the order in which the parts are best written. The complete
//! program is at the end: 200 lines for the link, 180 for the transport and the provider, and a `main` that sends a
//! megabyte. Its dependencies are `dat-core`, `dat-provider`, `dat-provider-kit` and `rustix` with the feature `net`. A test
//! runs the conformance suite over it (`tests/unix_link.rs`).
//!
//! Two rules hold for all methods:
//!
//! - **Nothing blocks.** The thread that calls may be that of the consumer, in a post or a poll, or the thread of the
//!   adapter, on which all its links depend. It holds the lock of the queue pair.
//! - **Spans live as long as the call.** A [`Span`](dat_provider::mem::Span) is registered memory: the peer may write
//!   it meanwhile, and the program may unmap it. [`bytes::gather`](crate::bytes::gather) and
//!   [`bytes::scatter`](crate::bytes::scatter) copy from and to spans and report memory that is lost.
//!
//! # 1. The writer
//!
//! [`Writer`](crate::link::Writer) has three methods without a default.
//!
//! [`write`](crate::link::Writer::write) takes a [`Frame`](crate::frame::Frame) and its payload, whole or not at all.
//! A frame becomes bytes by [`Frame::encode`](crate::frame::Frame::encode), and the payload follows. The result says
//! where the frame is now:
//!
//! | result | the frame | what the engine does |
//! | --- | --- | --- |
//! | [`Taken`](crate::link::WriteResult::Taken) | is sent | goes on |
//! | [`Buffered`](crate::link::WriteResult::Buffered) | is copied, the rest is sent later | calls `flush` when the descriptor is writable |
//! | [`Full`](crate::link::WriteResult::Full) | was not taken | writes it again after a `flush` that returned false |
//! | [`Unreadable`](crate::link::WriteResult::Unreadable) | was not taken, because its memory is lost | fails the operation |
//!
//! The error is an [`End`](crate::link::End): why the link has ended. An error of the writer does not end the reader,
//! which may still find frames that the peer sent before.
//!
//! [`flush`](crate::link::Writer::flush) sends what was copied, and returns whether anything is left.
//!
//! [`shut_down`](crate::link::Writer::shut_down) ends this direction after the last byte. The bytes may still wait, so
//! it sets a flag, and the flush that sends the last byte shuts the socket down. The other direction stays open.
//!
//! The example copies each frame, which is simple. A link for speed passes the spans to the system directly, as
//! provider-tcp does, and copies only what the socket did not take.
//!
//! # 2. The reader
//!
//! [`Reader`](crate::link::Reader) has three methods without a default, too.
//!
//! [`read`](crate::link::Reader::read) passes the frames that have arrived to a [`FrameSink`](crate::link::FrameSink).
//! For each frame, in this order:
//!
//! 1. [`frame::decode`](crate::frame::decode) makes a frame of the bytes of its head, or says that bytes are missing
//!    or that they cannot become a frame. It checks everything that does not depend on the connection: the bytes of a
//!    peer need no other check here.
//! 2. [`begin`](crate::link::FrameSink::begin) announces it.
//! 3. [`destinations`](crate::link::FrameSink::destinations) names the memory for the payload from an offset on. Call it
//!    again for each portion, because a region may have been deregistered since the last one. Bytes for which it names
//!    no memory are dropped. If the memory cannot be written,
//!    [`lose_memory`](crate::link::FrameSink::lose_memory) reports it, and reading goes on.
//! 4. [`end`](crate::link::FrameSink::end) completes it; without a payload it follows `begin` directly.
//!
//! `read` returns [`Drained`](crate::link::Progress::Drained) once nothing is left, or
//! [`More`](crate::link::Progress::More) at the end of its budget, so that one busy link does not stop the others. After
//! `More` the engine calls again without waiting for the descriptor, so frames may be left in a buffer of the link.
//!
//! It returns the end of the link after all frames before it, and the same end from then on. An end between two frames
//! is [`Closed`](crate::link::End::Closed); in the middle of one, the peer is [`Gone`](crate::link::End::Gone).
//!
//! [`discard`](crate::link::Reader::discard) reads without passing anything on. The engine calls it while it closes a
//! link, because a socket that is closed with unread bytes is reset, and the peer may lose what was sent last.
//!
//! [`descriptor`](crate::link::Reader::descriptor) is what the thread of the adapter waits on: readable while bytes are
//! unread, and writable when `flush` can send.
//!
//! # 3. The transport
//!
//! [`Transport`](crate::engine::Transport) has two methods without a default.
//!
//! [`connect`](crate::engine::Transport::connect) starts a link to the listener of a qualifier and returns an
//! [`Attempt`](crate::engine::Attempt): a link that is connected, or a
//! [`Connector`](crate::engine::Connector) for one that is not connected yet. The engine calls
//! [`advance`](crate::engine::Connector::advance) when what the attempt [`awaits`](crate::engine::Connector::awaits)
//! has happened, until there is a result; dropping it ends the attempt. A TCP connect waits for its descriptor. A UNIX
//! socket is connected at once, or its listener has a full backlog: no descriptor reports the end of that, so the
//! example waits for a time.
//!
//! A link is a [`Connected`](crate::engine::Connected): both halves, the address of the peer, and the local port. The
//! active side reports its port to the peer in the handshake, so it differs from those of other connections of that
//! adapter; the port of the passive side is the qualifier. The passive side needs the address of its peer from the
//! transport: the example binds the socket of the active side to a name that has it. The handshake itself belongs to the
//! engine: the link has carried nothing before.
//!
//! The failure decides the event that the consumer gets, with its cause:
//! [`Refused`](crate::engine::ConnectError::Refused) if nothing listens,
//! [`Unreachable`](crate::engine::ConnectError::Unreachable) without a route, and
//! [`Local`](crate::engine::ConnectError::Local) with an errno if this side is the reason.
//!
//! [`listen`](crate::engine::Transport::listen) creates the acceptor of a qualifier, or of one of its own choice.
//! A qualifier in use must be `DAT_CONN_QUAL_IN_USE`; [`qualifier::refused`](crate::qualifier::refused) makes the error
//! from an errno.
//!
//! Common service points of DAT 2.0 name the address at which they listen, too. They need
//! [`listen_at`](crate::engine::Transport::listen_at), which is unsupported by default.
//!
//! # 4. The acceptor
//!
//! [`Acceptor`](crate::engine::Acceptor) is a listener. Its [`descriptor`](crate::engine::Acceptor::descriptor) is
//! readable while a link waits, and [`accept`](crate::engine::Acceptor::accept) takes one, or none if the peer was
//! faster to leave. [`is_there`](crate::engine::Acceptor::is_there) reports whether the program has closed the
//! descriptor, for example by closing all of them: the adapter then fails, instead of reading a file of the program.
//! Dropping the acceptor stops listening.
//!
//! # 5. The provider
//!
//! [`Provider`](dat_provider::Provider) names the adapters and opens one. [`engine::open`](crate::engine::open) makes an
//! adapter of the transport, the [`Limits`](crate::parameters::Limits) that it reports and its
//! [`Identity`](crate::engine::Identity). Behind the question mark of a name are parameters:
//! [`parameters::parse`](crate::parameters::parse) knows those that set limits, takes those of the provider from a table,
//! and refuses all others. In the example, adapters reach each other if their `space=` is equal. dat-core takes out those
//! that every adapter has (`compat`, `trace` and `fault.`).
//!
//! # 6. What a product has in addition
//!
//! - **After `fork`** a child must not keep links of its parent open: descriptors are
//!   [`fork::Private`](crate::fork::Private).
//! - **Other users** can connect to an abstract socket. Check the credentials of the peer
//!   ([`OtherUser`](crate::engine::ConnectError::OtherUser)), or require a
//!   [`secret`](crate::engine::Transport::secret).
//! - **Without a free descriptor** `accept` fails and the listener stays readable. Keep one in reserve, and close it to
//!   refuse the link.
//! - **A peer that is lost without a sign**, such as a machine without power: [`Liveness`](crate::link::Liveness).
//! - **Speed**: [`hold`](crate::link::Writer::hold) sends several frames in one call,
//!   [`max_next_piece`](crate::link::Writer::max_next_piece) makes frames longer,
//!   [`max_first_piece`](crate::link::Writer::max_first_piece) makes those that begin a request shorter,
//!   [`access`](crate::link::Writer::access) does RDMA without the peer, and a
//!   [`doorbell`](crate::link::Reader::doorbell) saves polls of links on which nothing arrives.
//!
//! If the transport is a byte stream, sections 1 and 2 exist already: implement
//! [`Stream`](crate::stream_link::Stream), and [`halves`](crate::stream_link::halves) are the reader and the writer.
//!
//! # The program
//!
//! ```
#![doc = include_str!("../examples/unix_link.rs")]
//! ```
//!
//! Test a link of your own in the same way: the suite needs only a registry with the provider, and
//! `dat_cli::run` makes the `dat` command of it (docs/provider-guide.md).
