//! The active side of the handshake.

use dat_provider::error::Result;

use super::secret::{NONCE, PROOF, Role, nonce};
use super::{
    AUTHENTICATED, ConnectionParameters, DATAGRAMS, DatagramPort, HELLO, Hello, Message, Nonce,
    SHARED, Secret, Step, UNRELIABLE, private, take,
};
use crate::frame::{Body, ConnectReply, Frame, Refusal, VERSION};

/// The handshake of the active side.
#[derive(Debug)]
pub struct Active {
    secret: Option<Secret>,
    nonce: Nonce,
    hello: Vec<u8>,
    /// True if the passive side has proved that it knows the secret.
    is_proved: bool,
}

impl Active {
    /// Starts a handshake. Returns the `HELLO` to send.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if the kernel returns no random bytes.
    pub fn new(hello: &Hello, secret: Option<Secret>) -> Result<(Self, Message)> {
        let side = &hello.side;
        let nonce = if secret.is_some() { nonce()? } else { Nonce::default() };
        let flags = side.flags() | if secret.is_some() { AUTHENTICATED } else { 0 };
        let mut payload = Vec::with_capacity(HELLO + side.private_data.len());
        payload.extend_from_slice(&hello.qualifier.to_le_bytes());
        payload.extend_from_slice(&hello.port.to_le_bytes());
        payload.extend_from_slice(&flags.to_le_bytes());
        payload.extend_from_slice(&side.reads.to_le_bytes());
        payload.extend_from_slice(&nonce);
        side.datagrams.into_iter().for_each(|port| port.write(&mut payload));
        payload.extend_from_slice(&side.private_data);
        let body = |length| Body::Hello { version: VERSION, length };
        let message = Message::new(body, side.posted, payload.clone());
        Ok((Self { secret, nonce, hello: payload, is_proved: false }, message))
    }

    /// Processes a frame of the passive side.
    pub fn receive(&mut self, frame: &Frame, payload: &[u8]) -> Step {
        match frame.body {
            Body::Challenge { .. } => self.prove(payload).unwrap_or(Step::Refused(Refusal::Secret)),
            Body::Answer { reply: ConnectReply::Refused(why), .. } => Step::Refused(why),
            // An answer without a challenge comes from a peer that does not know the secret.
            Body::Answer { .. } if self.secret.is_some() && !self.is_proved => {
                Step::Refused(Refusal::Secret)
            }
            Body::Answer { reply: ConnectReply::Rejected, .. } => {
                private(payload).map_or(Step::Refused(Refusal::Malformed), Step::Rejected)
            }
            Body::Answer { reply: ConnectReply::Accepted, .. } => {
                let side = accepted(frame, payload);
                let ready = Message { frame: Frame::new(Body::Ready), payload: Vec::new() };
                side.map_or(Step::Refused(Refusal::Malformed), |side| {
                    Step::Established(ready, side)
                })
            }
            _ => Step::Refused(Refusal::Malformed),
        }
    }

    /// Checks the proof in the challenge and returns the proof of this side.
    fn prove(&mut self, mut payload: &[u8]) -> Option<Step> {
        let secret = self.secret.as_ref().filter(|_| !self.is_proved)?;
        let theirs = take::<NONCE>(&mut payload)?;
        let nonces = [&self.nonce, &theirs];
        if payload.len() != PROOF || !secret.is_proved(Role::Passive, nonces, &self.hello, payload)
        {
            return None;
        }
        let proof = secret.prove(Role::Active, nonces, &self.hello);
        self.is_proved = true;
        Some(Step::Send(Message::new(|length| Body::Proof { length }, 0, proof.to_vec())))
    }
}

fn accepted(frame: &Frame, mut payload: &[u8]) -> Option<ConnectionParameters> {
    let flags = u32::from_le_bytes(take(&mut payload)?);
    let reads = u32::from_le_bytes(take(&mut payload)?);
    let datagrams = DatagramPort::read(flags, &mut payload)?;
    let private_data = private(payload)?;
    (flags & !(SHARED | DATAGRAMS | UNRELIABLE) == 0).then_some(ConnectionParameters {
        posted: frame.posted,
        is_shared: flags & SHARED != 0,
        is_unreliable: flags & UNRELIABLE != 0,
        reads,
        datagrams,
        private_data,
    })
}
