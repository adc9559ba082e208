//! The creation of queue pairs.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Weak};

use dat_core::monitor;
use dat_provider::verbs::{LossPolicy, VerbsOptions};
use dat_provider::{ConnectionSink, QueuePairLimits, QueuePairSpec, Service};
use dat_sync::Mutex;
use dat_sync::biased::BiasedLock;

use super::link::{Link, LinkSink};
use super::{
    Control, MAX_INLINE, QueuePair, QueuePairAttributes, QueuePairInit, QueuePairState,
    QueuePairType, datagram,
};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::request::Sge;

impl QueuePair {
    pub(crate) fn create(domain: &Arc<Domain>, init: &QueuePairInit) -> Result<Arc<Self>> {
        let init = checked(domain, init)?;
        let engine = domain.context().engine;
        let mut uses =
            vec![domain.add_use()?, init.send_queue.add_use()?, init.receive_queue.add_use()?];
        if let Some(shared) = &init.shared_receives {
            uses.push(shared.add_use()?);
        }
        let sink = Arc::new(LinkSink::default());
        let adapter = &*engine.adapter;
        let (kit, number) = if init.kind == QueuePairType::Ud {
            datagram::create(adapter, |number, binding| {
                let mut spec = spec(domain, &init, number, Arc::clone(&sink) as _);
                spec.service = Service::Datagram;
                spec.verbs.binding = binding;
                spec
            })?
        } else {
            let number = engine.numbers.assign(adapter)?;
            let made =
                adapter.create_queue_pair(spec(domain, &init, number, Arc::clone(&sink) as _));
            (made.inspect_err(|_| engine.numbers.release(number))?, number)
        };
        let queue_pair = Arc::new_cyclic(|weak_self: &Weak<Self>| Self {
            number,
            user: AtomicU64::new(init.user),
            domain: Arc::clone(domain),
            kit,
            is_open: AtomicBool::new(false),
            takes_receives: AtomicBool::new(false),
            twin: Mutex::default(),
            inline: BiasedLock::new(None),
            posting: Mutex::default(),
            modifying: Mutex::default(),
            control: Mutex::new(Control {
                state: QueuePairState::Reset,
                attributes: QueuePairAttributes {
                    cap: init.capacity,
                    ..QueuePairAttributes::default()
                },
                link: Link::default(),
                special: VecDeque::new(),
                has_arrival: false,
                reports_drained: false,
            }),
            weak_self: Weak::clone(weak_self),
            is_destroyed: AtomicBool::new(false),
            uses: Mutex::new(uses),
            init,
        });
        sink.set(&queue_pair);
        engine.numbers.set(number, &queue_pair);
        monitor::sample_devices();
        Ok(queue_pair)
    }
}

/// Checks the sizes, and rounds those of 0 up where something is needed.
fn checked(domain: &Domain, init: &QueuePairInit) -> Result<QueuePairInit> {
    let engine = domain.context().engine;
    let (operations, segments) = (engine.attributes.ia.max_dto_per_ep, engine.max_segments());
    let asked = init.capacity;
    let sizes = [
        ("max_send_wr", asked.max_send_wr, operations),
        ("max_recv_wr", asked.max_recv_wr, operations),
        ("max_send_sge", asked.max_send_sge, segments),
        ("max_recv_sge", asked.max_recv_sge, segments),
        ("max_inline_data", asked.max_inline_data, MAX_INLINE),
    ];
    if let Some((name, size, most)) = sizes.into_iter().find(|(_, size, most)| size > most) {
        return Err(Error::invalid(format!(
            "cannot create a queue pair with {name} = {size}: the device has at most {most}"
        )));
    }
    let mut init = init.clone();
    // Devices keep inline data in the place of the segments: programs use that much without a request.
    if asked.max_inline_data == 0 {
        let place = asked.max_send_sge.saturating_mul(size_of::<Sge>() as u32);
        init.capacity.max_inline_data = place.min(MAX_INLINE);
    }
    if init.shared_receives.is_some() {
        (init.capacity.max_recv_wr, init.capacity.max_recv_sge) = (0, 0);
    }
    Ok(init)
}

/// The specification of the engine's queue pair. It takes more requests than promised: completions that the program has
/// not polled count there, and requests that waited for the connection must all fit.
pub(super) fn spec(
    domain: &Domain,
    init: &QueuePairInit,
    number: u32,
    sink: Arc<dyn ConnectionSink>,
) -> QueuePairSpec {
    let ia = &domain.context().engine.attributes.ia;
    let size = init.capacity;
    let limits = QueuePairLimits {
        max_receives: size.max_recv_wr,
        max_requests: size.max_send_wr.saturating_mul(2),
        max_receive_segments: size.max_recv_sge.max(1),
        max_request_segments: size.max_send_sge.max(1),
        max_message_size: ia.max_message_size,
        max_reads_in: ia.max_rdma_read_per_ep_in,
        max_reads_out: ia.max_rdma_read_per_ep_out,
    };
    let shared = init.shared_receives.as_ref();
    QueuePairSpec {
        tag: number.into(),
        service: if init.kind == QueuePairType::Rc {
            Service::Connection
        } else {
            Service::UnreliableConnection
        },
        domain: Some(Arc::clone(&domain.kit)),
        request_queue: Some(Arc::clone(&init.send_queue.kit)),
        receive_queue: Some(Arc::clone(&init.receive_queue.kit)),
        shared_receives: shared.map(|shared| Arc::clone(&shared.kit)),
        limits,
        verbs: VerbsOptions { losses: LossPolicy::Keep, ..VerbsOptions::default() },
        ..QueuePairSpec::new(sink)
    }
}
