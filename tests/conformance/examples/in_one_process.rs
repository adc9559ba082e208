//! The program of the README: two endpoints of one process, connected over loopback.
#![allow(clippy::items_after_test_module, reason = "the README shows what follows the test")]

#[cfg(test)]
mod tests {
    #[test]
    fn the_program_of_the_readme_runs() {
        super::main().expect("every assertion holds");
    }
}

use dat_core::{
    Connect, EpProvision, EpSpec, EvdFlags, EvdOptions, Event, Memory, Privileges, Registry,
    Timeout,
};

fn main() -> dat_core::Result<()> {
    let registry = Registry::from_environment(); // dat.conf, if there is one
    registry.add_provider(dat_provider_loopback::provider())?;
    let ia = registry.open("loopback")?;
    let pz = ia.pz_create()?;
    let evd = ia.evd_create(&EvdOptions::new(256, EvdFlags::DEFAULT))?;
    let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    let (client, server) = (ia.ep_create(&spec)?, ia.ep_create(&spec)?);

    let memory = Memory::copy_of(b"hello.....")?;
    let lmr = ia.lmr_create(&memory, &pz, Privileges::ALL)?;
    server.receive(&[lmr.triplet(5, 5)?], 1)?;

    let psp = ia.psp_create_any(&evd, EpProvision::Consumer)?;
    client.connect(&Connect::to_psp(&psp))?;
    if let Some(Event::ConnectionRequest(arrival)) = evd.next_event(Timeout::Infinite)? {
        arrival.request.accept(Some(&server), b"welcome")?;
    }
    client.send(&[lmr.triplet(0, 5)?], 2)?;
    for event in evd.queued_events() {
        println!("{}", event?);
    }
    assert_eq!(memory.to_vec(0, 10)?, b"hellohello");
    Ok(())
}
