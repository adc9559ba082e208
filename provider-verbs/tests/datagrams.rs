//! Properties of datagrams that depend on the device: their maximum size, and receives that wait
//! for the first address.

use dat_core::{
    Connect, DatagramAddress, DatagramEventKind, DtoStatus, Ep, EpAttributes, EpProvision, EpSpec,
    EpUpdate, EvdFlags, EvdOptions, Event, ReturnType,
};
use verbs_side::{NONE, Side, device, next};

const PREFIX: u64 = DatagramAddress::PREFIX;

fn endpoint(side: &Side) -> Ep {
    let service_type = EpAttributes::SERVICE_DATAGRAM;
    let attributes = EpAttributes { service_type, ..side.ia.default_ep_attributes().clone() };
    let spec = EpSpec::new(&side.pz).recv_evd(&side.done).request_evd(&side.done);
    let spec = spec.connect_evd(&side.connect).attributes(&attributes);
    side.ia.ep_create(&spec).expect("an endpoint")
}

/// The address of the answering endpoint, as the requesting one gets it.
fn resolve(side: &Side, asks: &Ep, answers: &Ep) -> DatagramAddress {
    let requests = EvdOptions::new(16, EvdFlags::CONNECTION_REQUEST);
    let requests = side.ia.evd_create(&requests).expect("a dispatcher");
    let psp = side.ia.psp_create_any(&requests, EpProvision::Consumer).expect("a service point");
    let to = Connect::to(side.ia.attributes().address, psp.qualifier());
    asks.connect(&to).expect("an attempt");
    let Event::ConnectionRequest(arrival) = next(&requests) else { panic!("no request") };
    assert!(arrival.datagram);
    arrival.request.accept(Some(answers), b"").expect("it carries datagrams");
    let mut address = None;
    for _ in 0..2 {
        let Event::Datagram(event) = next(&side.connect) else { panic!("no address") };
        assert_eq!(event.kind, DatagramEventKind::Established);
        if !event.passive {
            address = event.remote;
        }
    }
    psp.free().expect("live");
    address.expect("the requesting side gets the address")
}

/// The cookie of the next completion, which must be a success.
fn done(side: &Side) -> u64 {
    let Event::Dto(done) = next(&side.done) else { panic!("no completion") };
    assert_eq!(done.status, DtoStatus::Success, "{done:?}");
    done.cookie
}

#[test]
fn the_attributes_have_the_maximum_datagram_size() {
    let Some(address) = device("the size of a datagram") else { return };
    let side = Side::open(address);
    let attributes = &side.ia.attributes().transport;
    let most = attributes.iter().find(|named| named.name == "MAX_DATAGRAM").expect("a size");
    let most: u64 = most.value.parse().expect("bytes");
    let (one, other) = (endpoint(&side), endpoint(&side));
    let to = resolve(&side, &one, &other);
    let (_memory, lmr) = side.memory(2 * (most as usize + 64));
    let piece = |at, length| [lmr.triplet(at, length).expect("inside")];
    other.post_recv(&piece(most + 64, PREFIX + most), 1, NONE).expect("posted");
    let error = one.post_send_datagram(&piece(0, most + 1), &to, 2, NONE).expect_err("too long");
    assert!(error.is(ReturnType::LengthError), "{error}");
    one.post_send_datagram(&piece(0, most), &to, 3, NONE).expect("as long as may be");
    let mut cookies = [done(&side), done(&side)];
    cookies.sort_unstable();
    assert_eq!(cookies, [1, 3]);
}

#[test]
fn an_address_serves_endpoints_of_other_zones() {
    let Some(address) = device("an address for another zone") else { return };
    let side = Side::open(address);
    let (one, other) = (endpoint(&side), endpoint(&side));
    let to = resolve(&side, &one, &other);
    let beside = Side { pz: side.ia.pz_create().expect("a zone"), ..side.clone() };
    let stranger = endpoint(&beside);
    let (_there, receives) = side.memory(64);
    let (_here, sends) = beside.memory(64);
    // It never requested an address itself.
    other.post_recv(&[receives.triplet(0, 64).expect("inside")], 1, NONE).expect("posted");
    let piece = [sends.triplet(0, 5).expect("inside")];
    stranger.post_send_datagram(&piece, &to, 2, NONE).expect("posted");
    drop(to);
    let mut cookies = [done(&side), done(&side)];
    cookies.sort_unstable();
    assert_eq!(cookies, [1, 2]);
}

#[test]
fn an_endpoint_changes_until_its_address_is_known_and_keeps_its_receives() {
    let Some(address) = device("changing an endpoint for datagrams") else { return };
    let side = Side::open(address);
    let (one, other) = (endpoint(&side), endpoint(&side));
    let (_memory, lmr) = side.memory(128);
    other.post_recv(&[lmr.triplet(0, 64).expect("inside")], 1, NONE).expect("posted");
    let attributes = EpAttributes { max_recv_dtos: 3, ..other.query().expect("live").attributes };
    let change = EpUpdate::new().attributes(&attributes);
    other.modify(&change).expect("it has no peer yet");
    let to = resolve(&side, &one, &other);
    let error = other.modify(&change).expect_err("a peer knows it");
    assert!(error.is(ReturnType::InvalidState), "{error}");
    one.post_send_datagram(&[lmr.triplet(64, 4).expect("inside")], &to, 2, NONE).expect("posted");
    let mut cookies = [done(&side), done(&side)];
    cookies.sort_unstable();
    assert_eq!(cookies, [1, 2]);
}
