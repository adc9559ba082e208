//! The server of the tutorial: lets the client write to its memory.

use dat_core::{ConnectionEventKind, EpProvision, Event, Result};
use dat_tutorial::{PORT, SIZE, Side, to_bytes};

fn main() -> Result<()> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "tcp-lo".to_owned());
    let side = Side::open(&name)?;
    let _psp = side.ia.psp_create(PORT, &side.evd, EpProvision::Consumer)?;
    println!("listening");

    // Before the client can send.
    side.ep.post_recv(&[side.lmr.triplet(SIZE as u64 - 64, 64)?], 1, Default::default())?;

    let Event::ConnectionRequest(arrival) = side.next()? else { panic!("no request") };
    let place = side.lmr.remote_triplet(0, SIZE as u64 - 64)?;
    arrival.request.accept(Some(&side.ep), &to_bytes(place))?;
    side.connection(ConnectionEventKind::Established)?;

    // The message says that the write is complete: it arrives after it.
    side.completed()?;
    let text = side.memory.to_vec(0, 64)?;
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    println!("the client wrote: {}", String::from_utf8_lossy(text));

    side.connection(ConnectionEventKind::Disconnected)?;
    Ok(())
}
