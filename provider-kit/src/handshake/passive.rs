//! The passive side of the handshake.

use super::secret::{NONCE, Role, nonce};
use super::{
    AUTHENTICATED, ConnectionParameters, DATAGRAMS, DatagramPort, Hello, Message, Nonce, SHARED,
    Secret, Step, UNRELIABLE, private, take,
};
use crate::frame::{Body, Frame, Refusal, VERSION};

/// The handshake of the passive side, up to the connection request.
#[derive(Debug)]
pub struct Passive {
    /// The qualifier of the listener; requests for others are refused as if nothing listened.
    qualifier: u64,
    secret: Option<Secret>,
    challenge: Option<Challenge>,
}

#[derive(Debug)]
struct Challenge {
    hello: Hello,
    bytes: Vec<u8>,
    theirs: Nonce,
    own: Nonce,
}

impl Passive {
    /// Expects a `HELLO` for this qualifier.
    #[must_use]
    pub const fn new(qualifier: u64, secret: Option<Secret>) -> Self {
        Self { qualifier, secret, challenge: None }
    }

    /// Processes a frame of the active side.
    pub fn receive(&mut self, frame: &Frame, payload: &[u8]) -> Step {
        let step = match (frame.body, self.challenge.take()) {
            (Body::Hello { version: VERSION, .. }, None) => self.receive_hello(frame, payload),
            (Body::Hello { .. }, None) => Err(Refusal::Version),
            (Body::Proof { .. }, Some(challenge)) => self.receive_proof(challenge, payload),
            _ => Err(Refusal::Malformed),
        };
        step.unwrap_or_else(|why| Step::Refuse(Message::refusal(why)))
    }

    fn receive_hello(&mut self, frame: &Frame, payload: &[u8]) -> Result<Step, Refusal> {
        let (hello, theirs, is_authenticated) = parse(frame, payload).ok_or(Refusal::Malformed)?;
        if is_authenticated != self.secret.is_some() {
            return Err(Refusal::Secret);
        }
        let Some(secret) = &self.secret else { return self.accept_hello(hello) };
        let own = nonce().map_err(|_| Refusal::Secret)?;
        let proof = secret.prove(Role::Passive, [&theirs, &own], payload);
        let reply = [own.as_slice(), &proof].concat();
        self.challenge = Some(Challenge { hello, bytes: payload.to_vec(), theirs, own });
        Ok(Step::Send(Message::new(|length| Body::Challenge { length }, 0, reply)))
    }

    fn receive_proof(&self, challenge: Challenge, proof: &[u8]) -> Result<Step, Refusal> {
        let Challenge { hello, bytes, theirs, own } = challenge;
        let secret = self.secret.as_ref().ok_or(Refusal::Malformed)?;
        if !secret.is_proved(Role::Active, [&theirs, &own], &bytes, proof) {
            return Err(Refusal::Secret);
        }
        self.accept_hello(hello)
    }

    /// The qualifier is checked last, so that a peer without the secret cannot probe for listeners.
    fn accept_hello(&self, hello: Hello) -> Result<Step, Refusal> {
        if hello.qualifier != self.qualifier {
            return Err(Refusal::NoListener);
        }
        Ok(Step::Incoming(hello))
    }
}

fn parse(frame: &Frame, mut payload: &[u8]) -> Option<(Hello, Nonce, bool)> {
    let bytes = &mut payload;
    let qualifier = u64::from_le_bytes(take(bytes)?);
    let port = u64::from_le_bytes(take(bytes)?);
    let flags = u32::from_le_bytes(take(bytes)?);
    let reads = u32::from_le_bytes(take(bytes)?);
    let nonce = take::<NONCE>(bytes)?;
    if flags & !(SHARED | AUTHENTICATED | DATAGRAMS | UNRELIABLE) != 0 {
        return None;
    }
    let datagrams = DatagramPort::read(flags, bytes)?;
    let private_data = private(payload)?;
    let side = ConnectionParameters {
        posted: frame.posted,
        is_shared: flags & SHARED != 0,
        is_unreliable: flags & UNRELIABLE != 0,
        reads,
        datagrams,
        private_data,
    };
    Some((Hello { qualifier, port, side }, nonce, flags & AUTHENTICATED != 0))
}
