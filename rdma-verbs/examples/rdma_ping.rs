//! A ping with RDMA reads and writes. Works with `rping` of rdmacm-utils.
//!
//! The client sends the address and key of its data, and the server reads them. The client sends
//! the address and key of a buffer, and the server writes the data into it. Then the client
//! compares the two.
//!
//! `rdma_ping client SERVER COUNT` or `rdma_ping server ADDRESS`, port 7174.

use std::sync::Arc;

use rdma_verbs::cm::{
    AddressInfo, CmId, CmQueuePairInit, ConnectParameters, EventChannel, EventKind, Flags, Hints,
    PortSpace,
};
use rdma_verbs::verbs::{
    Access, Capabilities, CompletionStatus, Memory, MemoryRegion, QueuePairType, RemoteAddress,
    SendFlags,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Length of the data, in bytes; the server of rping accepts it.
const LENGTH: usize = 64;

/// Length of a message, in bytes: address, key and length of memory, in network byte order.
const MESSAGE: usize = 16;

const SIZE: Capabilities = Capabilities {
    max_send_wr: 16,
    max_recv_wr: 2,
    max_send_sge: 1,
    max_recv_sge: 1,
    max_inline_data: 0,
};

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["client", server, count] => client(server, count.parse()?),
        ["server", address] => server(address),
        _ => Err("usage: rdma_ping client SERVER COUNT | rdma_ping server ADDRESS".into()),
    }
}

/// One side of a connection, with its buffers for messages.
struct Side {
    id: CmId,
    sent: Arc<MemoryRegion>,
    received: Arc<MemoryRegion>,
}

impl Side {
    fn new(id: CmId) -> Outcome<Self> {
        let sent = id.register_messages(Memory::zeroed(MESSAGE))?;
        let received = id.register_messages(Memory::zeroed(MESSAGE))?;
        id.post_receive(0, &[received.segment(0..MESSAGE)?])?;
        Ok(Self { id, sent, received })
    }

    fn send(&self, memory: RemoteAddress, length: u32) -> Outcome<()> {
        let mut message = [0; MESSAGE];
        message[..8].copy_from_slice(&memory.address.to_be_bytes());
        message[8..12].copy_from_slice(&memory.key.to_be_bytes());
        message[12..].copy_from_slice(&length.to_be_bytes());
        self.sent.write(0, &message)?;
        self.id.post_send(1, &[self.sent.segment(0..MESSAGE)?], SendFlags::SIGNALED)?;
        self.complete()
    }

    fn complete(&self) -> Outcome<()> {
        let done = self.id.send_completion()?;
        if done.is_success() { Ok(()) } else { Err(done.status.to_string().into()) }
    }

    /// Waits for the next message; `None` if the peer disconnected.
    fn receive(&self) -> Outcome<Option<(RemoteAddress, usize)>> {
        let done = self.id.receive_completion()?;
        match done.status {
            CompletionStatus::Success => {}
            CompletionStatus::Flushed => return Ok(None),
            other => return Err(other.to_string().into()),
        }
        let message = self.received.to_vec(0..MESSAGE)?;
        self.id.post_receive(0, &[self.received.segment(0..MESSAGE)?])?;
        let address = u64::from_be_bytes(message[..8].try_into()?);
        let key = u32::from_be_bytes(message[8..12].try_into()?);
        let length = u32::from_be_bytes(message[12..].try_into()?) as usize;
        Ok(Some((RemoteAddress { address, key }, length)))
    }

    fn expect(&self) -> Outcome<(RemoteAddress, usize)> {
        self.receive()?.ok_or_else(|| "the peer disconnected".into())
    }
}

fn client(server: &str, count: u32) -> Outcome<()> {
    let hints = Hints { port_space: Some(PortSpace::Tcp), ..Hints::default() };
    let to = AddressInfo::resolve(Some(server), Some("7174"), Some(&hints))?;
    let init = CmQueuePairInit::new(QueuePairType::Rc, SIZE);
    let side = Side::new(CmId::create_endpoint(&to, None, Some(&init))?)?;
    let domain = side.id.domain().ok_or("no domain")?;
    let everything = Access::LOCAL_WRITE | Access::REMOTE_READ | Access::REMOTE_WRITE;
    let source = MemoryRegion::new(&domain, Memory::zeroed(LENGTH), everything)?;
    let sink = MemoryRegion::new(&domain, Memory::zeroed(LENGTH), everything)?;
    side.id.connect(&ConnectParameters::default())?;
    for number in 0..count {
        let mut text = format!("rdma-ping-{number}: ").into_bytes();
        text.extend((b'A'..=b'z').cycle().skip(number as usize).take(LENGTH - 1 - text.len()));
        text.push(0);
        source.write(0, &text)?;
        side.send(source.remote(0), LENGTH as u32)?;
        side.expect()?;
        side.send(sink.remote(0), LENGTH as u32)?;
        side.expect()?;
        if sink.to_vec(0..LENGTH)? != text {
            return Err("the data came back changed".into());
        }
        println!("ping {number}: {LENGTH} bytes came back");
    }
    Ok(side.id.disconnect()?)
}

fn server(address: &str) -> Outcome<()> {
    let flags = Flags { passive: true, ..Flags::default() };
    let hints = Hints { flags, port_space: Some(PortSpace::Tcp), ..Hints::default() };
    let at = AddressInfo::resolve(Some(address), Some("7174"), Some(&hints))?;
    let init = CmQueuePairInit::new(QueuePairType::Rc, SIZE);
    let listener = CmId::create_endpoint(&at, None, Some(&init))?;
    listener.listen(0)?;
    println!("listening on port {}", listener.local_port());
    let side = Side::new(listener.take_request()?)?;
    side.id.accept(&ConnectParameters::default())?;
    // The end of the connection is an event, which moves the queue pair to the error state.
    let channel = EventChannel::new()?;
    side.id.migrate(Some(&channel))?;
    let id = side.id.clone();
    let ending = std::thread::spawn(move || {
        while channel.take_event()?.kind != EventKind::Disconnected {}
        id.disconnect()
    });
    let mut count = 0;
    // The client announces its data.
    while let Some((source, length)) = side.receive()? {
        let data = side.id.register_messages(Memory::zeroed(length))?;
        let segment = [data.segment(0..length)?];
        side.id.post_read(2, &segment, SendFlags::SIGNALED, source)?;
        side.complete()?;
        side.send(RemoteAddress::default(), 0)?;
        // It announces the buffer to which they return.
        let (sink, _) = side.expect()?;
        side.id.post_write(3, &segment, SendFlags::SIGNALED, sink)?;
        side.complete()?;
        side.send(RemoteAddress::default(), 0)?;
        count += 1;
    }
    println!("{count} pings answered");
    ending.join().map_err(|_| "the thread of the events panicked")??;
    Ok(())
}
