//! The queue pair of an identifier, and the states through which it goes.

use std::net::IpAddr;
use std::sync::Arc;

use super::Identifier;
use super::connect::UDP_QUEUE_KEY;
use super::identifier::Inner;
use crate::access::Access;
use crate::address_handle::{AddressVector, gid_of};
use crate::context::{Context, GidEntry};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::port::PORT;
use crate::queue_pair::{
    AttributeMask as Mask, QueuePair, QueuePairAttributes, QueuePairState, QueuePairType,
};

/// The size of packets as a code: 4096 bytes.
const MTU: u32 = 5;
/// The time after which a packet is repeated, as an exponent: about a second, as over RoCE.
const TIMEOUT: u8 = 18;
const HOP_LIMIT: u8 = 64;

impl Identifier {
    /// Gives it a queue pair, which it moves through its states (rdma_create_qp(3)): receives can be posted then, and
    /// datagrams sent.
    ///
    /// # Errors
    /// `EINVAL` if it has one, is not bound to the device, or if the type is not its own; those of the queue pair.
    pub fn attach(&self, queue_pair: &Arc<QueuePair>) -> Result<()> {
        let mut inner = self.inner.lock();
        if inner.queue_pair.is_some() {
            return Err(Error::invalid("cannot attach a queue pair: the identifier has one"));
        }
        if queue_pair.kind() != self.qp_type() && self.space() != super::PortSpace::Ib {
            return Err(Error::invalid(format!(
                "cannot attach a queue pair of type {:?} to an identifier for {:?}",
                queue_pair.kind(),
                self.qp_type()
            )));
        }
        let context = Arc::clone(queue_pair.domain().context());
        let states: &[_] = if queue_pair.kind() == QueuePairType::Ud {
            &[QueuePairState::Init, QueuePairState::Rtr, QueuePairState::Rts]
        } else {
            &[QueuePairState::Init]
        };
        for state in states {
            let (attributes, mask) = inner.attributes(&context, queue_pair.kind(), *state)?;
            queue_pair.modify(&attributes, mask)?;
        }
        inner.queue_pair = Some(Arc::clone(queue_pair));
        Ok(())
    }

    /// Takes its queue pair away (rdma_destroy_qp(3)).
    pub fn detach(&self) -> Option<Arc<QueuePair>> {
        self.inner.lock().queue_pair.take()
    }

    /// Its queue pair.
    #[must_use]
    pub fn queue_pair(&self) -> Option<Arc<QueuePair>> {
        self.inner.lock().queue_pair.clone()
    }

    /// The attributes with which a queue pair of the program gets to a state (rdma_init_qp_attr(3)).
    ///
    /// # Errors
    /// `EINVAL` if the peer is not known yet, or for a state that needs no attributes.
    pub fn attributes(
        &self,
        context: &Context,
        state: QueuePairState,
    ) -> Result<(QueuePairAttributes, Mask)> {
        self.inner.lock().attributes(context, self.qp_type(), state)
    }
}

impl Inner {
    /// Moves the queue pair to the state in which it sends.
    pub(super) fn get_ready(&self) -> Result<()> {
        let Some(queue_pair) = &self.queue_pair else { return Ok(()) };
        let context = Arc::clone(queue_pair.domain().context());
        // Again to INIT: the accesses of the peer are known now.
        for state in [QueuePairState::Init, QueuePairState::Rtr, QueuePairState::Rts] {
            let (attributes, mask) = self.attributes(&context, queue_pair.kind(), state)?;
            queue_pair.modify(&attributes, mask)?;
        }
        Ok(())
    }

    /// Moves the queue pair to the state in which everything is flushed.
    pub(super) fn flush_queue_pair(&self) -> Result<()> {
        let Some(queue_pair) = &self.queue_pair else { return Ok(()) };
        if queue_pair.kind() == QueuePairType::Ud {
            return Ok(());
        }
        let attributes =
            QueuePairAttributes { qp_state: QueuePairState::Err, ..QueuePairAttributes::default() };
        queue_pair.modify(&attributes, Mask::STATE)
    }

    fn attributes(
        &self,
        context: &Context,
        kind: QueuePairType,
        state: QueuePairState,
    ) -> Result<(QueuePairAttributes, Mask)> {
        let attributes = QueuePairAttributes { qp_state: state, ..QueuePairAttributes::default() };
        let is_datagram = kind == QueuePairType::Ud;
        match state {
            QueuePairState::Init if is_datagram => {
                let mask = Mask::STATE | Mask::PKEY_INDEX | Mask::PORT | Mask::QKEY;
                Ok((
                    QueuePairAttributes { port_num: PORT, qkey: UDP_QUEUE_KEY, ..attributes },
                    mask,
                ))
            }
            QueuePairState::Init => {
                let mask = Mask::STATE | Mask::PKEY_INDEX | Mask::PORT | Mask::ACCESS_FLAGS;
                let qp_access_flags = self.granted();
                Ok((QueuePairAttributes { port_num: PORT, qp_access_flags, ..attributes }, mask))
            }
            QueuePairState::Rtr if is_datagram => Ok((attributes, Mask::STATE)),
            QueuePairState::Rts if is_datagram => Ok((attributes, Mask::STATE | Mask::SQ_PSN)),
            QueuePairState::Rtr => self.receiving(context, kind, attributes),
            QueuePairState::Rts => self.sending(context, kind, attributes),
            _ => Err(Error::invalid(format!(
                "rdma_init_qp_attr has no attributes for the state {state:?}: ask for INIT, RTR or RTS"
            ))),
        }
    }

    /// The accesses of the peer: none before the connection is agreed, then writes, and reads and atomics if this side
    /// has resources for them.
    fn granted(&self) -> Access {
        match (&self.theirs, self.own.responder_resources) {
            (None, _) => Access::empty(),
            (Some(_), 0) => Access::REMOTE_WRITE,
            (Some(_), _) => Access::REMOTE,
        }
    }

    fn receiving(
        &self,
        context: &Context,
        kind: QueuePairType,
        attributes: QueuePairAttributes,
    ) -> Result<(QueuePairAttributes, Mask)> {
        let theirs = self.theirs.as_ref().ok_or_else(|| self.refusal("reach the peer"))?;
        let mut mask = Mask::STATE | Mask::AV | Mask::PATH_MTU | Mask::DEST_QPN | Mask::RQ_PSN;
        if kind == QueuePairType::Rc {
            mask |= Mask::MAX_DEST_RD_ATOMIC | Mask::MIN_RNR_TIMER;
        }
        let attributes = QueuePairAttributes {
            path_mtu: MTU,
            dest_qp_num: theirs.number,
            rq_psn: theirs.psn,
            max_dest_rd_atomic: reads(
                self.own.responder_resources,
                context.attributes().max_qp_rd_atom,
            ),
            ah_attr: self.vector(context, theirs.gid),
            ..attributes
        };
        Ok((attributes, mask))
    }

    fn sending(
        &self,
        context: &Context,
        kind: QueuePairType,
        attributes: QueuePairAttributes,
    ) -> Result<(QueuePairAttributes, Mask)> {
        let theirs = self.theirs.as_ref().ok_or_else(|| self.refusal("reach the peer"))?;
        let mut mask = Mask::STATE | Mask::SQ_PSN;
        if kind == QueuePairType::Rc {
            mask |= Mask::TIMEOUT | Mask::RETRY_CNT | Mask::RNR_RETRY | Mask::MAX_QP_RD_ATOMIC;
        }
        let depth = self.own.initiator_depth.min(theirs.responder_resources);
        let attributes = QueuePairAttributes {
            sq_psn: self.own.psn,
            timeout: self.options.ack_timeout.unwrap_or(TIMEOUT),
            retry_cnt: self.own.retry_count,
            rnr_retry: theirs.rnr_retry_count,
            max_rd_atomic: reads(depth, context.attributes().max_qp_init_rd_atom),
            ..attributes
        };
        Ok((attributes, mask))
    }

    /// The address of a peer, from the local address of the identifier.
    fn vector(&self, context: &Context, peer: [u8; 16]) -> AddressVector {
        let own = self.local.map(|local| gid_of(local.ip())).unwrap_or_default();
        let index = entry_of(own, &context.gids());
        AddressVector {
            dgid: peer,
            sgid_index: index.and_then(|index| u8::try_from(index).ok()).unwrap_or(0),
            hop_limit: HOP_LIMIT,
            traffic_class: self.options.type_of_service,
            is_global: true,
            port_num: PORT,
            ..AddressVector::default()
        }
    }
}

impl Identifier {
    /// The address vector of a peer, for datagrams to it (`rdma_ud_param::ah_attr`).
    #[must_use]
    pub fn address_vector(&self, context: &Context, peer: [u8; 16]) -> AddressVector {
        self.inner.lock().vector(context, peer)
    }
}

/// The index in the GID table for a local address. An address that is not in the table, such as 127.0.0.2, uses the
/// first entry.
fn entry_of(own: [u8; 16], gids: &[GidEntry]) -> Option<usize> {
    let index = gids.iter().position(|entry| entry.gid == own);
    index.or_else(|| gids.iter().position(|entry| entry.gid != [0; 16]))
}

/// The GID that is sent to the peer for a local address. It is the GID of the queue pair, because the peer compares the two.
pub(super) fn known_gid(address: IpAddr) -> [u8; 16] {
    let own = gid_of(address);
    let Ok(engine) = Engine::get() else { return own };
    let gids = engine.gids();
    entry_of(own, &gids).map_or(own, |index| gids[index].gid)
}

/// A number of reads, at most that of the device.
fn reads(wanted: u8, most: u32) -> u8 {
    wanted.min(u8::try_from(most).unwrap_or(u8::MAX))
}
