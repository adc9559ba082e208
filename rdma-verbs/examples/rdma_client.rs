//! Exchanges messages of 16 bytes with `rdma_server`, the example or that of rdmacm-utils.
//!
//! `rdma_client SERVER [PORT]`

use rdma_verbs::Result;
use rdma_verbs::cm::{AddressInfo, CmId, CmQueuePairInit, ConnectParameters, Hints, PortSpace};
use rdma_verbs::verbs::{Capabilities, QueuePairType, SendFlags};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let node = arguments.next().unwrap_or_else(|| "127.0.0.1".to_owned());
    let port = arguments.next().unwrap_or_else(|| "7471".to_owned());
    let hints = Hints { port_space: Some(PortSpace::Tcp), ..Hints::default() };
    let to = AddressInfo::resolve(Some(&node), Some(&port), Some(&hints))?;

    let size = Capabilities {
        max_send_wr: 1,
        max_recv_wr: 1,
        max_send_sge: 1,
        max_recv_sge: 1,
        max_inline_data: 16,
    };
    let init = CmQueuePairInit::new(QueuePairType::Rc, size);
    let id = CmId::create_endpoint(&to, None, Some(&init))?;
    let received = id.register_messages(&[0_u8; 16][..])?;
    let sent = id.register_messages(&b"a Rust message\0\0"[..])?;
    id.post_receive(1, &[received.segment(0..16)?])?;
    id.connect(&ConnectParameters::default())?;
    id.post_send(2, &[sent.segment(0..16)?], SendFlags::SIGNALED)?;
    println!("sent: {}", id.send_completion()?.status);
    let done = id.receive_completion()?;
    println!("received {} bytes: {}", done.length, done.status);
    id.disconnect()
}
