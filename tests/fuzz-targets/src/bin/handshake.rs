//! Both sides of the handshake, with any frames of the peer: private data that is too long, and peers that do not know
//! the secret, get no further.

#![cfg_attr(fuzzing, no_main)]

use dat_fuzz_targets::Input;
use dat_provider_kit::frame::{Body, Frame, VERSION, decode};
use dat_provider_kit::handshake::{
    Active, ConnectionParameters, Hello, MAX_PRIVATE_DATA, Message, Passive, Secret, Step,
};

const QUALIFIER: u64 = 7;

fn secret(is_used: bool) -> Option<Secret> {
    is_used.then(|| Secret::new(b"a secret of sixteen").expect("long enough"))
}

/// The next frame: one that a side would send, with changes, or any bytes.
fn message(input: &mut Input<'_>, last: Option<&Message>) -> Option<Message> {
    let mut message = match (input.byte() % 4, last) {
        (0, Some(last)) => last.clone(),
        (1, _) => {
            let payload = input.part(700).to_vec();
            let length = payload.len() as u64;
            let bodies = [
                Body::Hello { version: VERSION, length },
                Body::Challenge { length },
                Body::Proof { length },
                Body::Ready,
            ];
            Message { frame: Frame::new(input.one_of(&bodies)), payload }
        }
        (2, _) => {
            let payload = input.part(700).to_vec();
            let side =
                ConnectionParameters { private_data: payload, ..ConnectionParameters::default() };
            Message::acceptance(&side)
        }
        _ => {
            let (frame, _) = decode(&input.array::<56>()).ok().flatten()?;
            let length = frame.payload().min(2000) as usize;
            let mut payload = input.bytes(length).to_vec();
            payload.resize(length, 0);
            return Some(Message { frame, payload });
        }
    };
    for _ in 0..input.byte() % 4 {
        let (at, change) = (usize::from(input.half()), input.byte());
        if let Some(byte) = message.payload.get_mut(at) {
            *byte ^= change;
        }
    }
    Some(message)
}

fn check(side: &ConnectionParameters) {
    assert!(side.private_data.len() <= MAX_PRIVATE_DATA, "{} bytes", side.private_data.len());
}

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let [active_knows, passive_knows] = [1, 2].map(|bit| input.clone().byte() & bit != 0);
    let is_honest = input.byte() & 4 != 0;
    let side = ConnectionParameters {
        reads: 4,
        private_data: b"hello".to_vec(),
        ..ConnectionParameters::default()
    };
    let hello = Hello { qualifier: QUALIFIER, port: 99, side };
    let active = Active::new(&hello, secret(active_knows)).expect("random numbers");
    let (mut active, mut to_passive) = active;
    let mut passive = Passive::new(QUALIFIER, secret(passive_knows));
    // True while each side has received only messages of the other one.
    let mut is_untouched = true;
    for _ in 0..4 {
        if !is_honest {
            let Some(changed) = message(&mut input, Some(&to_passive)) else { return };
            is_untouched &= changed == to_passive;
            to_passive = changed;
        }
        let to_active = match passive.receive(&to_passive.frame, &to_passive.payload) {
            Step::Send(reply) | Step::Refuse(reply) => reply,
            Step::Incoming(hello) => {
                check(&hello.side);
                assert_eq!(hello.qualifier, QUALIFIER);
                assert!(!passive_knows || active_knows, "a stranger got a request through");
                Message::acceptance(&hello.side)
            }
            other => panic!("not a step of the passive side: {other:?}"),
        };
        let Some(reply) = message(&mut input, Some(&to_active)) else { return };
        is_untouched &= reply == to_active;
        match active.receive(&reply.frame, &reply.payload) {
            Step::Send(next) => to_passive = next,
            Step::Established(_, side) => {
                check(&side);
                assert!(!active_knows || passive_knows, "a stranger was taken for the peer");
                return;
            }
            Step::Rejected(data) => return assert!(data.len() <= MAX_PRIVATE_DATA),
            Step::Refused(_) => return,
            other => panic!("not a step of the active side: {other:?}"),
        }
    }
    assert!(!is_untouched, "an honest handshake has no end");
}

dat_fuzz_targets::target!(run);
