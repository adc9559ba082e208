//! Creation of dispatchers.

use std::sync::Arc;

use super::count::Receivers;
use super::notifier::Notifier;
use super::queue::{NoCompletions, Queue, SlowPathPoller};
use super::{Evd, EvdInner, processors};
use crate::cno::Cno;
use crate::counters::CounterSet;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::EvdFlags;
use crate::ia::{Ia, IaInner};
use crate::kind::ObjectKind;
use crate::lifecycle::Hold;
use crate::provider::{CompletionPoller, CompletionSink};
use crate::sync::{BiasedLock, Mutex};
use crate::wakeup::reserve_always_ready;

/// The parameters of a new event dispatcher.
///
/// ```
/// use dat_core::{EvdFlags, EvdOptions};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// let cno = ia.cno_create(None)?;
/// let flags = EvdFlags::DTO | EvdFlags::CONNECTION;
/// let evd = ia.evd_create(&EvdOptions::new(100, flags).with_cno(&cno))?;
/// assert!(evd.query()?.qlen >= 100);
/// assert_eq!(evd.query()?.flags, flags);
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct EvdOptions {
    /// Number of events that it must hold; at least 1.
    pub min_qlen: u32,
    /// The streams that may feed it.
    pub flags: EvdFlags,
    /// The notification object that it triggers.
    pub cno: Option<Cno>,
}

impl EvdOptions {
    /// A dispatcher without a notification object.
    #[must_use]
    pub const fn new(min_qlen: u32, flags: EvdFlags) -> Self {
        Self { min_qlen, flags, cno: None }
    }

    /// Adds a notification object.
    #[must_use]
    pub fn with_cno(mut self, cno: &Cno) -> Self {
        self.cno = Some(cno.clone());
        self
    }
}

const CREATE: &str = "dat_evd_create";

impl Ia {
    /// Creates an event dispatcher (dat_evd_create).
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` for a length of 0 or above the adapter's maximum, or no flags;
    /// `DAT_MODEL_NOT_SUPPORTED` for streams that the provider cannot merge; `DAT_INVALID_HANDLE`
    /// for a notification object that was freed or belongs to another adapter;
    /// `DAT_INSUFFICIENT_RESOURCES` if the adapter has no resources left.
    pub fn evd_create(&self, options: &EvdOptions) -> Result<Evd> {
        let ia = self.inner();
        let adapter = ia.adapter(CREATE)?;
        check_options(ia, options).map_err(|error| ia.describe(error, CREATE))?;
        reserve_always_ready();
        // The first count starts a thread, which takes too long for a wait.
        processors::several();
        let cno = match &options.cno {
            Some(cno) => Some(Hold::new(cno.inner(), ia, CREATE, Subtype::InvalidHandleCno)?),
            None => None,
        };
        let base = ia.new_object(ObjectKind::Evd, CREATE)?;
        let notifier = Arc::new(Notifier::new(ia, base.id));
        let polled = ia.progress.as_ref().filter(|_| polls_make_progress(options.flags)).cloned();
        let (completions, mut poller): (_, Box<dyn CompletionPoller>) =
            if options.flags.intersects(EvdFlags::COMPLETIONS) {
                let sink = Arc::clone(&notifier) as Arc<dyn CompletionSink>;
                let parts = adapter
                    .create_completion_queue(options.min_qlen as usize, sink)
                    .map_err(|error| ia.describe(error, CREATE))?;
                (Some(parts.queue), parts.poller)
            } else if polled.is_some() {
                (None, Box::new(SlowPathPoller {}))
            } else {
                (None, Box::new(NoCompletions {}))
            };
        let descriptor = poller.descriptor();
        let inner = Arc::new(EvdInner {
            base,
            flags: options.flags,
            completions,
            queue: BiasedLock::new(Queue::new(options.min_qlen as usize, poller)),
            polled,
            descriptor,
            notifier,
            streams: Mutex::default(),
            counter_set: CounterSet::default(),
            receivers: Receivers::default(),
            cno: Mutex::new(None),
        });
        inner.notifier.bind(&inner);
        ia.insert(&inner.base, Arc::downgrade(&inner), CREATE)?;
        inner.attach_cno(cno);
        if ia.counts_all {
            inner.set_counted(true);
        }
        Ok(Evd { inner })
    }
}

/// Returns true if empty polls offer to make the progress of connections. Those for completions make it by reading
/// their links.
fn polls_make_progress(flags: EvdFlags) -> bool {
    flags.intersects(EvdFlags::CONNECTION | EvdFlags::CONNECTION_REQUEST)
        && !flags.intersects(EvdFlags::COMPLETIONS)
}

fn check_options(ia: &IaInner, options: &EvdOptions) -> Result<()> {
    check_qlen(ia, options.min_qlen)?;
    if options.flags.is_empty() || !(EvdFlags::all().contains(options.flags)) {
        return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg4)
            .because(format!(
                "flags {:#x} name no event stream, or an unknown one",
                options.flags.bits()
            ))
            .advise("name the event streams that the dispatcher will receive"));
    }
    if let Some((one, other)) = ia.attributes.provider.evd_stream_merging.conflict(options.flags) {
        return Err(Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because(format!("the provider cannot merge the streams {one} and {other}"))
            .advise("create a dispatcher for each of them"));
    }
    Ok(())
}

pub(super) fn check_qlen(ia: &IaInner, qlen: u32) -> Result<()> {
    let most = ia.attributes.ia.max_evd_qlen;
    if qlen == 0 || qlen > most {
        return Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg2)
            .because(format!(
                "evd_min_qlen {qlen} is not between 1 and the adapter's maximum of {most}"
            ))
            .advise(format!("request 1 to {most} events")));
    }
    Ok(())
}
