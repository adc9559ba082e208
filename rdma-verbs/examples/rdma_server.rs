//! Answers one `rdma_client`, the example or that of rdmacm-utils.
//!
//! `rdma_server [ADDRESS [PORT]]`

use rdma_verbs::Result;
use rdma_verbs::cm::{
    AddressInfo, CmId, CmQueuePairInit, ConnectParameters, Flags, Hints, PortSpace,
};
use rdma_verbs::verbs::{Capabilities, QueuePairType, SendFlags};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let node = arguments.next();
    let port = arguments.next().unwrap_or_else(|| "7471".to_owned());
    let flags = Flags { passive: true, ..Flags::default() };
    let hints = Hints { flags, port_space: Some(PortSpace::Tcp), ..Hints::default() };
    let at = AddressInfo::resolve(node.as_deref(), Some(&port), Some(&hints))?;

    let size = Capabilities {
        max_send_wr: 1,
        max_recv_wr: 1,
        max_send_sge: 1,
        max_recv_sge: 1,
        max_inline_data: 16,
    };
    let init = CmQueuePairInit::new(QueuePairType::Rc, size);
    let listener = CmId::create_endpoint(&at, None, Some(&init))?;
    listener.listen(0)?;
    println!("listening on port {}", listener.local_port());
    let id = listener.take_request()?;
    let received = id.register_messages(&[0_u8; 16][..])?;
    let sent = id.register_messages(&b"a Rust answer\0\0\0"[..])?;
    id.post_receive(1, &[received.segment(0..16)?])?;
    id.accept(&ConnectParameters::default())?;
    let done = id.receive_completion()?;
    println!("received {} bytes: {}", done.length, done.status);
    id.post_send(2, &[sent.segment(0..16)?], SendFlags::SIGNALED)?;
    println!("sent: {}", id.send_completion()?.status);
    id.disconnect()
}
