//! Sends messages back and forth over a queue pair that is connected without the connection
//! manager: both sides exchange the numbers of their queue pairs and their addresses over TCP.
//! Works with `ibv_rc_pingpong` of ibverbs-utils.
//!
//! `rc_pingpong GID_INDEX [SERVER]`, port 18515.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use rdma_verbs::verbs::{
    Access, AddressVector, Capabilities, CompletionChannel, CompletionKind, CompletionQueue,
    Context, Gid, GlobalRoute, LinkLayer, Memory, MemoryRegion, Mtu, Operation, ProtectionDomain,
    QueuePair, QueuePairInit, QueuePairType, ReceiveSide, RequestData, SendRequest, SendSide,
    Service, devices,
};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

const PORT: u8 = 1;
const LENGTH: usize = 4096;
const ROUNDS: u32 = 1000;
const RECEIVES: u32 = 500;

fn main() -> Outcome<()> {
    let mut arguments = std::env::args().skip(1);
    let index: u8 = arguments.next().ok_or("usage: rc_pingpong GID_INDEX [SERVER]")?.parse()?;
    let device = devices()?.into_iter().next().ok_or("no RDMA device")?;
    let context = device.open()?;
    let domain = ProtectionDomain::new(&context)?;
    let channel = CompletionChannel::new(&context)?;
    let queue = CompletionQueue::new(&context, RECEIVES + 1, 0, Some(&channel))?;
    let capabilities = Capabilities {
        max_send_wr: 1,
        max_recv_wr: RECEIVES,
        max_send_sge: 1,
        max_recv_sge: 1,
        max_inline_data: 0,
    };
    let queue_pair = QueuePair::new(
        &domain,
        &QueuePairInit {
            key: 0,
            send_queue: &queue,
            receive_queue: &queue,
            shared: None,
            capabilities,
            queue_pair_type: QueuePairType::Rc,
        },
    )?;
    queue_pair.to_init(PORT, 0, Service::Connected(Access::empty()))?;
    let memory = MemoryRegion::new(&domain, Memory::zeroed(LENGTH), Access::LOCAL_WRITE)?;
    let mut posted = 0;
    post_receives(&queue_pair, &memory, &mut posted)?;

    let own = Side::own(&context, &queue_pair, index)?;
    match arguments.next() {
        Some(server) => {
            let mut stream = TcpStream::connect((server, 18515))?;
            stream.write_all(&own.to_text())?;
            let other = Side::read(&mut stream)?;
            connect(&context, &queue_pair, &own, &other, index)?;
            stream.write_all(b"done\0")?;
            exchange(&queue_pair, &queue, &memory, posted, true)
        }
        None => {
            let listener = TcpListener::bind(("::", 18515))?;
            println!("listening on port 18515");
            let (mut stream, _) = listener.accept()?;
            let other = Side::read(&mut stream)?;
            connect(&context, &queue_pair, &own, &other, index)?;
            stream.write_all(&own.to_text())?;
            stream.read_exact(&mut [0; 5])?;
            exchange(&queue_pair, &queue, &memory, posted, false)
        }
    }
}

/// The data that each side sends to the other over TCP.
struct Side {
    lid: u16,
    number: u32,
    packet_number: u32,
    gid: Gid,
}

impl Side {
    fn own(context: &Context, queue_pair: &QueuePair, index: u8) -> Outcome<Self> {
        Ok(Self {
            lid: context.query_port(PORT)?.lid,
            number: queue_pair.number(),
            packet_number: std::process::id() & 0xff_ffff,
            gid: context.gid(PORT, index.into())?,
        })
    }

    /// `LID:NUMBER:PACKET:GID`, with a zero byte at the end.
    fn to_text(&self) -> Vec<u8> {
        let gid: String = self.gid.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{:04x}:{:06x}:{:06x}:{gid}\0", self.lid, self.number, self.packet_number).into()
    }

    fn read(stream: &mut TcpStream) -> Outcome<Self> {
        let mut text = [0; 4 + 1 + 6 + 1 + 6 + 1 + 32 + 1];
        stream.read_exact(&mut text)?;
        let text = std::str::from_utf8(&text)?.trim_end_matches('\0');
        let [lid, number, packet, gid] = text.split(':').collect::<Vec<_>>()[..] else {
            return Err(format!("not an address: {text}").into());
        };
        Ok(Self {
            lid: u16::from_str_radix(lid, 16)?,
            number: u32::from_str_radix(number, 16)?,
            packet_number: u32::from_str_radix(packet, 16)?,
            gid: Gid(u128::from_str_radix(gid, 16)?.to_be_bytes()),
        })
    }
}

fn connect(
    context: &Context,
    queue_pair: &QueuePair,
    own: &Side,
    other: &Side,
    index: u8,
) -> Outcome<()> {
    let attributes = context.query_port(PORT)?;
    let route = GlobalRoute {
        destination: other.gid,
        source_index: index,
        hop_limit: 1,
        ..GlobalRoute::default()
    };
    let is_global = attributes.link_layer == LinkLayer::Ethernet || other.gid != Gid::default();
    queue_pair.to_ready_to_receive(&ReceiveSide {
        address: AddressVector {
            port: PORT,
            lid: other.lid,
            route: is_global.then_some(route),
            ..AddressVector::default()
        },
        mtu: Mtu::Bytes1024,
        peer: other.number,
        packet_number: other.packet_number,
        responder_resources: 1,
        rnr_timer: 12,
    })?;
    let side = SendSide { packet_number: own.packet_number, ..SendSide::default() };
    Ok(queue_pair.to_ready_to_send(&side)?)
}

fn post_receives(
    queue_pair: &QueuePair,
    memory: &Arc<MemoryRegion>,
    posted: &mut u32,
) -> Outcome<()> {
    while *posted < RECEIVES {
        queue_pair.post_receive(1, &[memory.segment(0..LENGTH)?])?;
        *posted += 1;
    }
    Ok(())
}

/// Answers each message with another one, until both sides have received [`ROUNDS`] of them.
fn exchange(
    queue_pair: &QueuePair,
    queue: &CompletionQueue,
    memory: &Arc<MemoryRegion>,
    mut posted: u32,
    begins: bool,
) -> Outcome<()> {
    let segments = [memory.segment(0..LENGTH)?];
    let request = SendRequest::new(2, Operation::Send, RequestData::Segments(&segments));
    let (mut sent, mut received, mut in_flight) = (0, 0, false);
    if begins {
        queue_pair.post_send(&request)?;
        in_flight = true;
    }
    // Messages to answer: the send queue holds one request at a time.
    let mut owed = 0;
    while sent < ROUNDS || received < ROUNDS {
        let done = queue.wait()?;
        match done.kind {
            Some(CompletionKind::Send) => {
                sent += 1;
                in_flight = false;
            }
            Some(CompletionKind::Receive) => {
                received += 1;
                owed += 1;
                posted -= 1;
                if posted <= 1 {
                    post_receives(queue_pair, memory, &mut posted)?;
                }
            }
            _ => return Err(done.status.to_string().into()),
        }
        if !in_flight && owed > 0 && sent < ROUNDS {
            queue_pair.post_send(&request)?;
            in_flight = true;
            owed -= 1;
        }
    }
    println!("{ROUNDS} messages of {LENGTH} bytes in each direction");
    Ok(())
}
