//! Datagrams in both directions between two sides, with every byte compared.
//!
//! It needs an RDMA device, whose address `DAT_TEST_RDMA` gives: `.ci/guest` has one. By default
//! both sides run in this process, each on its own adapter. If `DAT_TEST_DATAGRAMS` is `listen
//! PORT` or `connect ADDRESS PORT`, this process is one side: tests/guest/two-hosts runs them in
//! two guests.

use std::net::IpAddr;

use dat_core::{
    Connect, DatagramAddress, DatagramEventKind, DtoStatus, Ep, EpAttributes, EpProvision, EpSpec,
    EvdFlags, EvdOptions, Event, Lmr, Memory, Operation,
};
use verbs_side::{NONE, Side, device, next};

/// Selects the side that this process runs.
const ROLE: &str = "DAT_TEST_DATAGRAMS";

/// Number of bytes before the message in a receive.
const PREFIX: u64 = DatagramAddress::PREFIX;

/// Number of round trips for each length.
const ROUNDS: usize = 20;

/// Private data of the request and of the answer.
const ASKED: &[u8] = b"asked";
const ANSWERED: &[u8] = b"answered";

/// One side with its memory: a part to send from, and one to receive into.
struct Party {
    side: Side,
    ep: Ep,
    memory: Memory,
    lmr: Lmr,
    /// Maximum length of a message in bytes.
    most: u64,
    cookies: u64,
}

impl Party {
    fn new(address: IpAddr) -> Self {
        let side = Side::open(address);
        let attributes = side.ia.attributes().transport.clone();
        let most = attributes.iter().find(|named| named.name == "MAX_DATAGRAM").expect("a size");
        let most: u64 = most.value.parse().expect("bytes");
        let service_type = EpAttributes::SERVICE_DATAGRAM;
        let attributes = EpAttributes { service_type, ..side.ia.default_ep_attributes().clone() };
        let spec = EpSpec::new(&side.pz).recv_evd(&side.done).request_evd(&side.done);
        let spec = spec.connect_evd(&side.connect).attributes(&attributes);
        let ep = side.ia.ep_create(&spec).expect("an endpoint");
        let (memory, lmr) = side.memory((2 * most + PREFIX) as usize);
        let mut party = Self { side, ep, memory, lmr, most, cookies: 0 };
        party.receive();
        party
    }

    /// The lengths of messages, up to the maximum.
    fn lengths(&self) -> [u64; 4] {
        [1, 64, 255, self.most]
    }

    fn receive(&mut self) {
        self.cookies += 1;
        let into = [self.lmr.triplet(self.most, PREFIX + self.most).expect("inside")];
        self.ep.post_recv(&into, self.cookies, NONE).expect("there is room");
    }

    fn send(&mut self, message: &[u8], to: &DatagramAddress) {
        self.memory.write(0, message).expect("inside");
        self.cookies += 1;
        let from = [self.lmr.triplet(0, message.len() as u64).expect("inside")];
        self.ep.post_send_datagram(&from, to, self.cookies, NONE).expect("there is room");
    }

    /// The next message; completions of this side's sends may come before.
    fn message(&mut self) -> Vec<u8> {
        loop {
            let Event::Dto(done) = next(&self.side.done) else { panic!("no completion") };
            assert_eq!(done.status, DtoStatus::Success, "{done:?}");
            if done.operation == Operation::ReceiveDatagram {
                let length = (done.length - PREFIX) as usize;
                let at = (self.most + PREFIX) as usize;
                let message = self.memory.to_vec(at, length).expect("inside");
                self.receive();
                return message;
            }
        }
    }

    /// The address of the other side, and the private data of its answer.
    fn address(&self, passive: bool) -> (DatagramAddress, Vec<u8>) {
        let Event::Datagram(event) = next(&self.side.connect) else { panic!("no address") };
        assert_eq!((event.kind, event.passive), (DatagramEventKind::Established, passive));
        (event.remote.expect("established"), event.private_data.to_vec())
    }

    /// Sends back what arrives, with each byte incremented.
    fn answer(mut self, port: Option<u64>, listening: impl FnOnce(u64)) {
        let requests = EvdOptions::new(16, EvdFlags::CONNECTION_REQUEST);
        let requests = self.side.ia.evd_create(&requests).expect("a dispatcher");
        let psp = match port {
            Some(port) => self.side.ia.psp_create(port, &requests, EpProvision::Consumer),
            None => self.side.ia.psp_create_any(&requests, EpProvision::Consumer),
        };
        let psp = psp.expect("a service point");
        listening(psp.qualifier());
        let Event::ConnectionRequest(arrival) = next(&requests) else { panic!("no request") };
        assert!(arrival.datagram);
        let told = arrival.request.query().expect("pending").private_data;
        assert!(told.starts_with(ASKED), "{told:?}");
        arrival.request.accept(Some(&self.ep), ANSWERED).expect("it carries datagrams");
        let (to, _) = self.address(true);
        for length in self.lengths() {
            for _ in 0..ROUNDS {
                let mut message = self.message();
                assert_eq!(message.len() as u64, length);
                message.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
                self.send(&message, &to);
            }
        }
        // The last answer must be sent before this side closes.
        while self.ep.status().is_ok_and(|status| !status.request_idle) {
            std::thread::yield_now();
        }
        println!("all answered");
    }

    fn ask(mut self, to: IpAddr, port: u64) {
        let request = Connect::to(to, port).private_data(ASKED);
        self.ep.connect(&request).expect("an attempt");
        let (to, told) = self.address(false);
        assert!(told.starts_with(ANSWERED), "{told:?}");
        for length in self.lengths() {
            for round in 0..ROUNDS {
                let message: Vec<u8> = (0..length).map(|at| (at as usize + round) as u8).collect();
                self.send(&message, &to);
                let answer = self.message();
                let expected = message.iter().map(|byte| byte.wrapping_add(1));
                assert!(answer.into_iter().eq(expected), "{length} bytes, round {round}");
            }
        }
        println!("all compared");
    }
}

#[test]
fn messages_of_every_length_arrive_in_both_directions() {
    let Some(address) = device("datagrams there and back") else { return };
    let role = std::env::var(ROLE).unwrap_or_default();
    let role: Vec<&str> = role.split(' ').filter(|word| !word.is_empty()).collect();
    let party = Party::new(address);
    match role[..] {
        ["listen", port] => {
            let port = port.parse().expect("a port");
            party.answer(Some(port), |_| println!("listening"));
        }
        ["connect", to, port] => {
            party.ask(to.parse().expect("an address"), port.parse().expect("a port"));
        }
        [] => {
            let (tell, told) = crossbeam_channel::unbounded();
            let answers = std::thread::spawn(move || {
                party.answer(None, |port| tell.send(port).expect("it waits"));
            });
            Party::new(address).ask(address, told.recv().expect("it listens"));
            answers.join().expect("all were answered");
        }
        _ => panic!("{ROLE} is neither listen PORT nor connect ADDRESS PORT"),
    }
}
