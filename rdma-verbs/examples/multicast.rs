//! Sends datagrams to a multicast group, or receives them. Works with `mckey` of rdmacm-utils.
//!
//! `multicast send|receive GROUP ADDRESS`

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rdma_verbs::cm::{
    CmId, CmQueuePairInit, Event, EventChannel, EventKind, Membership, Parameters, PortSpace,
};
use rdma_verbs::verbs::{
    AddressHandle, Capabilities, Memory, Operation, QueuePairType, RequestData, SendFlags,
    SendRequest,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const COUNT: u32 = 10;
const LENGTH: usize = 100;
/// Length of the header in front of a received datagram, in bytes.
const HEADER: usize = 40;

fn next(channel: &Arc<EventChannel>, kind: EventKind) -> Outcome<Event> {
    let event = channel.take_event()?;
    event.outcome()?;
    if event.kind == kind { Ok(event) } else { Err(format!("unexpected: {}", event.kind).into()) }
}

fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [role, group, address] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    else {
        return Err("usage: multicast send|receive GROUP ADDRESS".into());
    };
    let group = SocketAddr::new(group.parse::<IpAddr>()?, 0);
    let address = SocketAddr::new(address.parse::<IpAddr>()?, 0);

    let channel = EventChannel::new()?;
    let id = CmId::new(&channel, 1, PortSpace::Udp)?;
    id.bind(address)?;
    id.resolve_address(Some(address), group, Duration::from_secs(2))?;
    next(&channel, EventKind::AddressResolved)?;
    let size = Capabilities {
        max_send_wr: COUNT,
        max_recv_wr: COUNT,
        max_send_sge: 1,
        max_recv_sge: 1,
        max_inline_data: 0,
    };
    id.create_queue_pair(None, &CmQueuePairInit::new(QueuePairType::Ud, size))?;
    let memory = id.register_messages(Memory::zeroed(HEADER + LENGTH))?;
    if role == "receive" {
        for number in 0..COUNT {
            id.post_receive(number.into(), &[memory.segment(0..HEADER + LENGTH)?])?;
        }
    }
    id.join_multicast(group, Membership::Full, 2)?;
    let event = next(&channel, EventKind::MulticastJoin)?;
    let Parameters::Datagram { address, queue_pair, queue_key } = event.parameters else {
        return Err("not a group of datagrams".into());
    };
    println!("joined {group}");
    if role == "receive" {
        for _ in 0..COUNT {
            let done = id.receive_completion()?;
            if !done.is_success() {
                return Err(done.status.to_string().into());
            }
        }
        println!("{COUNT} datagrams received");
    } else {
        let domain = id.domain().ok_or("no domain")?;
        let handle = AddressHandle::new(&domain, &address)?;
        let own = id.queue_pair().ok_or("no queue pair")?;
        let segments = [memory.segment(0..LENGTH)?];
        for number in 0..COUNT {
            let immediate = Some(own.number());
            let operation =
                Operation::Datagram { handle: &handle, queue_pair, queue_key, immediate };
            let data = RequestData::Segments(&segments);
            let flags = SendFlags::SIGNALED;
            own.post_send(&SendRequest { id: number.into(), operation, data, flags })?;
            println!("{}", id.send_completion()?.status);
        }
        println!("{COUNT} datagrams sent");
    }
    Ok(id.leave_multicast(group)?)
}
