use proptest::prelude::*;

use super::*;

fn secret(text: &str) -> Option<Secret> {
    Secret::new(text.as_bytes())
}

const PORT_OF_DATAGRAMS: DatagramPort = DatagramPort { port: 0x1234, key: 0x0123_4567_89ab_cdef };

fn hello() -> Hello {
    let (datagrams, private_data) = (None, b"hello".to_vec());
    let (is_shared, is_unreliable) = (true, false);
    let side = ConnectionParameters {
        posted: 3,
        is_shared,
        is_unreliable,
        reads: 4,
        datagrams,
        private_data,
    };
    Hello { qualifier: 0x1_2345_6789, port: 99, side }
}

/// Lets both sides talk until one of them has a result.
fn talk(active: Option<Secret>, passive: Option<Secret>, qualifier: u64) -> Step {
    let (mut active, mut message) = Active::new(&hello(), active).expect("random numbers");
    let mut passive = Passive::new(qualifier, passive);
    loop {
        match passive.receive(&message.frame, &message.payload) {
            Step::Send(reply) | Step::Refuse(reply) => {
                match active.receive(&reply.frame, &reply.payload) {
                    Step::Send(next) => message = next,
                    result => return result,
                }
            }
            result => return result,
        }
    }
}

#[test]
fn a_request_arrives_as_it_was_sent() {
    let one = || secret("0123456789abcdef");
    assert_eq!(talk(None, None, hello().qualifier), Step::Incoming(hello()));
    assert_eq!(talk(one(), one(), hello().qualifier), Step::Incoming(hello()));
}

#[test]
fn the_whole_qualifier_counts() {
    let other = hello().qualifier + (1 << 40);
    assert_eq!(talk(None, None, other), Step::Refused(Refusal::NoListener));
}

#[test]
fn a_peer_without_the_same_secret_is_refused() {
    let (one, other) = (|| secret("0123456789abcdef"), || secret("0123456789abcdeX"));
    for (active, passive) in [(one(), None), (None, one()), (one(), other())] {
        let result = talk(active, passive, hello().qualifier);
        assert_eq!(result, Step::Refused(Refusal::Secret));
    }
}

#[test]
fn the_active_side_checks_the_passive_one_and_the_other_way_round() {
    let one = || secret("0123456789abcdef");
    let (mut active, message) = Active::new(&hello(), one()).expect("random numbers");
    let answer = Message::acceptance(&ConnectionParameters::default());
    let result = active.receive(&answer.frame, &answer.payload);
    assert_eq!(result, Step::Refused(Refusal::Secret), "an answer without a challenge");

    let mut passive = Passive::new(hello().qualifier, one());
    let Step::Send(challenge) = passive.receive(&message.frame, &message.payload) else {
        panic!("no challenge");
    };
    // A proof that is reflected does not prove the other role.
    let reflected = challenge.payload[16..].to_vec();
    let proof = Message::new(|length| Body::Proof { length }, 0, reflected);
    let result = passive.receive(&proof.frame, &proof.payload);
    assert_eq!(result, Step::Refuse(Message::refusal(Refusal::Secret)));
    let proof = Message::new(|length| Body::Proof { length }, 0, vec![0; 32]);
    let result = passive.receive(&proof.frame, &proof.payload);
    assert_eq!(result, Step::Refuse(Message::refusal(Refusal::Malformed)), "a second try");
}

#[test]
fn answers_arrive_as_they_were_sent() {
    let active = || Active::new(&hello(), None).expect("random numbers").0;
    for datagrams in [None, Some(PORT_OF_DATAGRAMS)] {
        let (private_data, is_unreliable) = (vec![7; 512], datagrams.is_none());
        let (is_shared, reads) = (true, 1);
        let side = ConnectionParameters {
            posted: 9,
            is_shared,
            is_unreliable,
            reads,
            datagrams,
            private_data,
        };
        let answer = Message::acceptance(&side);
        let ready = Message { frame: Frame::new(Body::Ready), payload: Vec::new() };
        let result = active().receive(&answer.frame, &answer.payload);
        assert_eq!(result, Step::Established(ready, side));
    }
    let answer = Message::rejection(b"no");
    let result = active().receive(&answer.frame, &answer.payload);
    assert_eq!(result, Step::Rejected(b"no".to_vec()));
    let answer = Message::rejection(&[0; 513]);
    let result = active().receive(&answer.frame, &answer.payload);
    assert_eq!(result, Step::Refused(Refusal::Malformed));
}

#[test]
fn a_request_for_datagrams_arrives_with_the_port_and_the_key() {
    for secret in [None, secret("0123456789abcdef")] {
        let mut hello = hello();
        hello.side.datagrams = Some(PORT_OF_DATAGRAMS);
        hello.side.is_unreliable = secret.is_some();
        let (mut active, message) = Active::new(&hello, secret.clone()).expect("random numbers");
        let mut passive = Passive::new(hello.qualifier, secret);
        let mut step = passive.receive(&message.frame, &message.payload);
        if let Step::Send(challenge) = &step {
            let proof = active.receive(&challenge.frame, &challenge.payload);
            let Step::Send(proof) = proof else { panic!("{proof:?}") };
            step = passive.receive(&proof.frame, &proof.payload);
        }
        assert_eq!(step, Step::Incoming(hello));
    }
}

#[test]
fn port_0_receives_no_datagrams() {
    let port = DatagramPort { port: 0, key: 1 };
    let side = ConnectionParameters { datagrams: Some(port), ..ConnectionParameters::default() };
    let answer = Message::acceptance(&side);
    let mut active = Active::new(&hello(), None).expect("random numbers").0;
    let step = active.receive(&answer.frame, &answer.payload);
    assert_eq!(step, Step::Refused(Refusal::Malformed));
}

#[test]
fn another_version_is_refused_with_that_reason() {
    let frame = Frame::new(Body::Hello { version: 200, length: 0 });
    let step = Passive::new(1, None).receive(&frame, &[]);
    assert_eq!(step, Step::Refuse(Message::refusal(Refusal::Version)));
}

#[test]
fn a_secret_is_neither_short_nor_printed() {
    assert!(secret("0123456789abcde").is_none(), "15 bytes");
    let printed = format!("{:?}", secret("0123456789abcdef"));
    assert!(!printed.contains("0123"), "{printed}");
}

proptest! {
    #[test]
    fn any_payload_is_refused_or_understood(
        payload in proptest::collection::vec(any::<u8>(), 0..=1000), has_secret: bool,
    ) {
        let length = payload.len() as u64;
        let secret = has_secret.then(|| secret("0123456789abcdef")).flatten();
        let frames = [
            Body::Hello { version: crate::frame::VERSION, length },
            Body::Proof { length },
            Body::Challenge { length },
            Body::Answer { reply: ConnectReply::Accepted, length },
            Body::Answer { reply: ConnectReply::Rejected, length },
        ];
        let mut active = Active::new(&hello(), secret.clone()).expect("random numbers").0;
        let mut passive = Passive::new(1, secret);
        for body in frames {
            let step = passive.receive(&Frame::new(body), &payload);
            let is_quiet = !matches!(step, Step::Established(..));
            prop_assert!(is_quiet);
            if let Step::Established(_, side) = active.receive(&Frame::new(body), &payload) {
                prop_assert!(side.private_data.len() <= MAX_PRIVATE_DATA);
            }
        }
    }
}
