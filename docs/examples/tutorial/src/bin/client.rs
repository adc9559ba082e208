//! The client of the tutorial: writes to the memory of the server.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use dat_core::{Close, Connect, ConnectionEventKind, Result};
use dat_tutorial::{PORT, Side, from_bytes};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().and_then(|text| text.parse().ok());
    let server: IpAddr = server.unwrap_or(Ipv4Addr::LOCALHOST.into());
    let side = Side::open(&arguments.next().unwrap_or_else(|| "tcp-lo".to_owned()))?;

    side.ep.connect(&Connect::to(server, PORT).timeout(Duration::from_secs(10)))?;
    let private_data = side.connection(ConnectionEventKind::Established)?;
    let place = from_bytes(&private_data).expect("the server sends its address");

    let message = b"hello, server\0";
    side.memory.write(0, message)?;
    let piece = side.lmr.triplet(0, message.len() as u64)?;
    side.ep.post_rdma_write(&[piece], 1, place, Default::default())?;
    side.completed()?;

    // The server takes no part in a write: a message tells it.
    side.ep.post_send(&[], 2, Default::default())?;
    side.completed()?;
    println!("written");

    side.ep.disconnect(Close::Graceful)?;
    side.connection(ConnectionEventKind::Disconnected)?;
    Ok(())
}
