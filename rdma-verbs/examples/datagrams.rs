//! Sends datagrams to a service and back. Works with `udaddy` of rdmacm-utils.
//!
//! `datagrams client SERVER` or `datagrams server ADDRESS`, port 7174.

use std::sync::Arc;
use std::time::Duration;

use rdma_verbs::cm::{
    AddressInfo, CmId, CmQueuePairInit, ConnectParameters, Event, EventChannel, EventKind, Flags,
    Hints, Parameters, PortSpace, UDP_QUEUE_KEY,
};
use rdma_verbs::verbs::{
    AddressHandle, Capabilities, Completion, Memory, MemoryRegion, Operation, QueuePairType,
    RequestData, SendFlags, SendRequest,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const COUNT: u32 = 10;
const LENGTH: usize = 100;
/// Length of the header in front of a received datagram, in bytes.
const HEADER: usize = 40;
const TIME: Duration = Duration::from_secs(2);

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["client", server] => client(server),
        ["server", address] => server(address),
        _ => Err("usage: datagrams client SERVER | datagrams server ADDRESS".into()),
    }
}

fn resolve(node: &str, passive: bool) -> Outcome<AddressInfo> {
    let flags = Flags { passive, ..Flags::default() };
    let hints = Hints { flags, port_space: Some(PortSpace::Udp), ..Hints::default() };
    Ok(AddressInfo::resolve(Some(node), Some("7174"), Some(&hints))?)
}

fn next(channel: &Arc<EventChannel>, kind: EventKind) -> Outcome<Event> {
    let event = channel.take_event()?;
    event.outcome()?;
    if event.kind == kind { Ok(event) } else { Err(format!("unexpected: {}", event.kind).into()) }
}

/// Creates the queue pair and posts the receives.
fn prepare(id: &CmId) -> Outcome<Arc<MemoryRegion>> {
    let size = Capabilities {
        max_send_wr: COUNT,
        max_recv_wr: COUNT,
        max_send_sge: 1,
        max_recv_sge: 1,
        max_inline_data: 0,
    };
    id.create_queue_pair(None, &CmQueuePairInit::new(QueuePairType::Ud, size))?;
    let memory = id.register_messages(Memory::zeroed(HEADER + LENGTH))?;
    for number in 0..COUNT {
        id.post_receive(number.into(), &[memory.segment(0..HEADER + LENGTH)?])?;
    }
    Ok(memory)
}

/// Sends the datagrams, each with the number of this side's queue pair for the answer.
fn send(
    id: &CmId,
    memory: &Arc<MemoryRegion>,
    to: &Arc<AddressHandle>,
    number: u32,
) -> Outcome<()> {
    let queue_pair = id.queue_pair().ok_or("no queue pair")?;
    let segments = [memory.segment(0..LENGTH)?];
    for id in 0..COUNT {
        let operation = Operation::Datagram {
            handle: to,
            queue_pair: number,
            queue_key: UDP_QUEUE_KEY,
            immediate: Some(queue_pair.number()),
        };
        let data = RequestData::Segments(&segments);
        let flags = if id + 1 == COUNT { SendFlags::SIGNALED } else { SendFlags::empty() };
        queue_pair.post_send(&SendRequest { id: id.into(), operation, data, flags })?;
    }
    Ok(())
}

fn receive(id: &CmId) -> Outcome<Completion> {
    let mut last = Completion::default();
    for _ in 0..COUNT {
        last = id.receive_completion()?;
        if !last.is_success() {
            return Err(last.status.to_string().into());
        }
    }
    println!("{COUNT} datagrams received");
    Ok(last)
}

fn client(server: &str) -> Outcome<()> {
    let info = resolve(server, false)?;
    let channel = EventChannel::new()?;
    let id = CmId::new(&channel, 1, PortSpace::Udp)?;
    let to = info.first().destination().ok_or("no address")?;
    id.resolve_address(None, to, TIME)?;
    next(&channel, EventKind::AddressResolved)?;
    id.resolve_route(TIME)?;
    next(&channel, EventKind::RouteResolved)?;
    let memory = prepare(&id)?;
    id.connect(&ConnectParameters::default())?;
    let event = next(&channel, EventKind::Established)?;
    let Parameters::Datagram { address, queue_pair, .. } = event.parameters else {
        return Err("not a service of datagrams".into());
    };
    let domain = id.domain().ok_or("no domain")?;
    send(&id, &memory, &AddressHandle::new(&domain, &address)?, queue_pair)?;
    receive(&id)?;
    println!("{}", id.send_completion()?.status);
    Ok(())
}

fn server(address: &str) -> Outcome<()> {
    let info = resolve(address, true)?;
    let channel = EventChannel::new()?;
    let listener = CmId::new(&channel, 1, PortSpace::Udp)?;
    listener.bind(info.first().source().ok_or("no address")?)?;
    listener.listen(0)?;
    println!("listening on port {}", listener.local_port());
    let request = next(&channel, EventKind::ConnectRequest)?.request.ok_or("no request")?;
    let memory = prepare(&request)?;
    request.accept(&ConnectParameters::default())?;
    let last = receive(&request)?;
    // The answer goes to the port that the datagram came from, and the queue pair that it names.
    let domain = request.domain().ok_or("no domain")?;
    let back = AddressHandle::from_completion(&domain, request.port(), &last, &memory, 0)?;
    let number = last.immediate.ok_or("no number of a queue pair")?;
    send(&request, &memory, &back, number)?;
    println!("{}", request.send_completion()?.status);
    Ok(())
}
