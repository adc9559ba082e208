//! Extended completion queues: completions with the time at which the device wrote them
//! (ibv_create_cq_ex(3)), and the clock of the device.

use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dat_sync::Mutex;

use super::completion_queue::take;
use super::{
    Completion, CompletionChannel, CompletionQueue, Context, Error, ProtectionDomain, Result,
    WorkCompletion, field, key_to_pointer,
};
use crate::sys::completion_ex::{
    self as sys, ibv_cq_ex, ibv_cq_init_attr_ex, ibv_poll_cq_attr, ibv_values_ex,
};
use crate::sys::operations;
use crate::sys::verbs::{self, ibv_cq};

bitflags::bitflags! {
    /// The additional fields of an extended queue, besides a [`Completion`] (ibv_create_cq_ex(3)).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    pub struct CompletionFields: u64 {
        /// [`ExtendedCompletion::device_time`]
        const DEVICE_TIME = sys::IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
        /// [`ExtendedCompletion::wall_time`]
        const WALL_TIME = sys::IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
        /// [`ExtendedCompletion::vlan`]
        const VLAN = sys::IBV_WC_EX_WITH_CVLAN;
        /// [`ExtendedCompletion::flow_tag`]
        const FLOW_TAG = sys::IBV_WC_EX_WITH_FLOW_TAG;
    }
}

/// The parameters of an extended completion queue.
#[derive(Clone, Copy, Debug)]
pub struct ExtendedQueueInit<'a> {
    /// Minimum number of completions that it holds.
    pub depth: u32,
    /// The key by which events of the channel name it.
    pub key: u64,
    /// The channel that reports its completions.
    pub channel: Option<&'a Arc<CompletionChannel>>,
    /// The completion vector that signals its events, below [`Context::completion_vectors`].
    pub vector: u32,
    /// The additional fields, besides a [`Completion`].
    pub fields: CompletionFields,
    /// True if an overrun overwrites completions, and does not end the queue. The program must then
    /// post no more than the queue can hold.
    pub ignore_overrun: bool,
    /// The [parent domain](ProtectionDomain::parent) in which it is created.
    pub parent_domain: Option<&'a Arc<ProtectionDomain>>,
}

impl ExtendedQueueInit<'_> {
    /// A queue of that depth that reports these fields, without a channel.
    #[must_use]
    pub const fn new(depth: u32, fields: CompletionFields) -> Self {
        Self {
            depth,
            key: 0,
            channel: None,
            vector: 0,
            fields,
            ignore_overrun: false,
            parent_domain: None,
        }
    }
}

/// A completion of an extended queue. The fields that were not requested are `None`.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ExtendedCompletion {
    /// The fields of every queue, except the index of the partition key of a datagram, which is 0.
    pub completion: Completion,
    /// When the device wrote it, in ticks of its clock ([`Context::device_clock`]).
    pub device_time: Option<u64>,
    /// When the device wrote it, converted to the time of day.
    pub wall_time: Option<SystemTime>,
    /// The VLAN tag of a packet that arrived.
    pub vlan: Option<u16>,
    /// The tag of the flow rule that a packet matched.
    pub flow_tag: Option<u32>,
}

/// An extended completion queue (ibv_create_cq_ex(3)). Queue pairs, events and every other call use
/// its [`queue`](Self::queue).
///
/// ```
/// use rdma_verbs::verbs::{CompletionFields, Context, ExtendedCompletionQueue, ExtendedQueueInit};
///
/// fn with_times(context: &Context) -> rdma_verbs::Result<()> {
///     let init = ExtendedQueueInit::new(64, CompletionFields::DEVICE_TIME);
///     let queue = ExtendedCompletionQueue::new(context, &init)?;
///     if let Some(done) = queue.poll_one()? {
///         println!("{} at tick {:?}", done.completion.id, done.device_time);
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct ExtendedCompletionQueue {
    raw: ExtendedPointer,
    queue: Arc<CompletionQueue>,
    fields: CompletionFields,
    /// Held while the current completion of the queue is read.
    polling: Mutex<()>,
}

#[derive(Clone, Copy, Debug)]
struct ExtendedPointer(NonNull<ibv_cq_ex>);

// SAFETY: the library's calls on the queue are thread safe, and the fields of the current completion
// are read with `polling` locked.
unsafe impl Send for ExtendedPointer {}
// SAFETY: the same holds for shared references to the queue.
unsafe impl Sync for ExtendedPointer {}

/// A completion as the device returns it.
#[derive(Clone, Copy, Default)]
struct Raw {
    plain: WorkCompletion,
    device_time: Option<u64>,
    /// In nanoseconds since 1970.
    wall_time: Option<u64>,
    vlan: Option<u16>,
    flow_tag: Option<u32>,
}

impl ExtendedCompletionQueue {
    /// Creates a queue.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device, its driver or the library has no extended queues, or does not report
    /// one of the fields; `EINVAL`: the device does not support that depth, there is no such vector,
    /// or the domain is not a parent domain of this device; `ENOMEM`: it has no queue left.
    pub fn new(context: &Context, init: &ExtendedQueueInit<'_>) -> Result<Arc<Self>> {
        let raw = create(context, init)?;
        let plain: NonNull<ibv_cq> = raw.cast();
        let queue = CompletionQueue::created(plain, context, init.channel, init.parent_domain);
        let (fields, polling) = (init.fields, Mutex::default());
        Ok(Arc::new(Self { raw: ExtendedPointer(raw), queue, fields, polling }))
    }

    /// The queue, for queue pairs and for calls that every queue has. Completions that are polled
    /// there have no further fields.
    #[must_use]
    pub fn queue(&self) -> &Arc<CompletionQueue> {
        &self.queue
    }

    /// The additional fields, besides a [`Completion`].
    #[must_use]
    pub fn fields(&self) -> CompletionFields {
        self.fields
    }

    /// Takes completions and returns their number, as [`CompletionQueue::poll`].
    ///
    /// # Errors
    /// The device failed the queue, for example after an overrun.
    pub fn poll(&self, into: &mut [ExtendedCompletion]) -> Result<usize> {
        take(into, |raw| self.poll_raw(raw), |raw| self.complete(raw))
    }

    /// Takes one completion, if there is one.
    ///
    /// # Errors
    /// As [`poll`](Self::poll).
    pub fn poll_one(&self) -> Result<Option<ExtendedCompletion>> {
        let mut one = [ExtendedCompletion::default()];
        Ok((self.poll(&mut one)? == 1).then_some(one[0]))
    }

    fn complete(&self, raw: &Raw) -> Option<ExtendedCompletion> {
        Some(ExtendedCompletion {
            completion: self.queue.complete(&raw.plain)?,
            device_time: raw.device_time,
            wall_time: raw.wall_time.and_then(|nanoseconds| {
                SystemTime::UNIX_EPOCH.checked_add(Duration::from_nanos(nanoseconds))
            }),
            vlan: raw.vlan,
            flow_tag: raw.flow_tag,
        })
    }

    fn poll_raw(&self, into: &mut [Raw]) -> Result<usize> {
        let _polling = self.polling.lock();
        // SAFETY: the queue is alive and reports these fields; the lock excludes other threads.
        unsafe { poll(self.raw.0.as_ptr(), self.fields, into) }
    }
}

/// `ibv_create_cq_ex` of the queue.
fn create(context: &Context, init: &ExtendedQueueInit<'_>) -> Result<NonNull<ibv_cq_ex>> {
    const CALL: &str = "ibv_create_cq_ex";
    let is_of_device =
        |domain: &Arc<ProtectionDomain>| domain.is_parent() && domain.context() == context;
    if init.vector >= context.completion_vectors() || !init.parent_domain.is_none_or(is_of_device) {
        return Err(Error::new(CALL, libc::EINVAL));
    }
    let mut attributes = ibv_cq_init_attr_ex {
        cqe: init.depth,
        cq_context: key_to_pointer(init.key),
        channel: init.channel.map_or(null_mut(), |channel| channel.raw()),
        comp_vector: init.vector,
        wc_flags: sys::IBV_WC_STANDARD_FLAGS | init.fields.bits(),
        comp_mask: 0,
        flags: 0,
        parent_domain: null_mut(),
    };
    if init.ignore_overrun {
        attributes.comp_mask |= sys::IBV_CQ_INIT_ATTR_MASK_FLAGS;
        attributes.flags = sys::IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    }
    if let Some(domain) = init.parent_domain {
        attributes.comp_mask |= sys::IBV_CQ_INIT_ATTR_MASK_PD;
        attributes.parent_domain = domain.raw();
    }
    // SAFETY: the context is open, the channel and the domain are alive, and the domain is of this
    // device; the kernel refuses a channel of another one.
    let raw = unsafe { operations::create_cq_ex(context.raw(), &raw mut attributes) };
    NonNull::new(raw).ok_or_else(|| Error::last(CALL))
}

/// Calls a function of the queue on its current completion; 0 if the driver does not have it.
macro_rules! read {
    ($queue:ident, $function:ident) => {
        // SAFETY: the caller guarantees a live queue with a current completion.
        field!($queue, $function).map_or(0, |function| unsafe { function($queue) })
    };
}

/// Takes completions, each in a batch of its own (`ibv_start_poll`, `ibv_end_poll`): some drivers,
/// such as librxe, end a batch themselves if `ibv_next_poll` finds no completion, and the end of it
/// would take one more.
///
/// # Safety
/// The queue must be alive and report these fields, and no other thread may read its current
/// completion.
unsafe fn poll(queue: *mut ibv_cq_ex, fields: CompletionFields, into: &mut [Raw]) -> Result<usize> {
    const CALL: &str = "ibv_start_poll";
    let (Some(start), Some(end)) = (field!(queue, start_poll), field!(queue, end_poll)) else {
        return Err(Error::new(CALL, libc::EOPNOTSUPP));
    };
    let mut count = 0;
    for raw in into {
        let mut attributes = ibv_poll_cq_attr::default();
        // SAFETY: the caller guarantees a live queue, which has no current completion.
        let code = unsafe { start(queue, &raw mut attributes) };
        match Error::check(CALL, code) {
            Ok(()) => {}
            Err(error) if error.errno == libc::ENOENT || count != 0 => break,
            Err(error) => return Err(error),
        }
        // SAFETY: the queue has a current completion.
        *raw = unsafe { current(queue, fields) };
        // SAFETY: a batch was started.
        unsafe { end(queue) };
        count += 1;
    }
    Ok(count)
}

/// The current completion.
///
/// # Safety
/// As [`poll`]; the queue must have a current completion.
unsafe fn current(queue: *mut ibv_cq_ex, fields: CompletionFields) -> Raw {
    let mut plain = WorkCompletion {
        wr_id: field!(queue, wr_id),
        status: field!(queue, status),
        qp_num: read!(queue, read_qp_num),
        ..WorkCompletion::default()
    };
    let mut raw = Raw::default();
    if plain.status == verbs::IBV_WC_SUCCESS {
        plain.opcode = read!(queue, read_opcode);
        plain.wc_flags = read!(queue, read_wc_flags);
        plain.byte_len = read!(queue, read_byte_len);
        if plain.wc_flags & (verbs::IBV_WC_WITH_IMM | verbs::IBV_WC_WITH_INV) != 0 {
            plain.imm_or_key = read!(queue, read_imm_data);
        }
        if plain.opcode & verbs::IBV_WC_RECV != 0 {
            plain.src_qp = read!(queue, read_src_qp);
            plain.slid = u16::try_from(read!(queue, read_slid)).unwrap_or(0);
            plain.sl = read!(queue, read_sl);
            plain.dlid_path_bits = read!(queue, read_dlid_path_bits);
        }
        let has = |field| fields.contains(field);
        raw.vlan = has(CompletionFields::VLAN).then(|| read!(queue, read_cvlan));
        raw.flow_tag = has(CompletionFields::FLOW_TAG).then(|| read!(queue, read_flow_tag));
    } else {
        plain.vendor_err = read!(queue, read_vendor_err);
    }
    if fields.contains(CompletionFields::DEVICE_TIME) {
        raw.device_time = Some(read!(queue, read_completion_ts));
    }
    if fields.contains(CompletionFields::WALL_TIME) {
        raw.wall_time = Some(read!(queue, read_completion_wallclock_ns));
    }
    Raw { plain, ..raw }
}

impl Context {
    /// The time of the clock of the device, in ticks (ibv_query_rt_values_ex(3)). The frequency is
    /// [`ExtendedDeviceAttributes::clock_frequency`](super::ExtendedDeviceAttributes::clock_frequency),
    /// and [`time_between`](super::ExtendedDeviceAttributes::time_between) converts ticks to a
    /// duration.
    ///
    /// # Errors
    /// `EOPNOTSUPP`: the device has no clock that programs can read, or its driver or the library
    /// does not support it.
    pub fn device_clock(&self) -> Result<u64> {
        const CALL: &str = "ibv_query_rt_values_ex";
        let raw_clock = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut values = ibv_values_ex { comp_mask: sys::IBV_VALUES_MASK_RAW_CLOCK, raw_clock };
        // SAFETY: the context is open.
        let code = unsafe { operations::query_rt_values(self.raw(), &mut values) };
        Error::check(CALL, code)?;
        if values.comp_mask & sys::IBV_VALUES_MASK_RAW_CLOCK == 0 {
            return Err(Error::new(CALL, libc::EOPNOTSUPP));
        }
        let (seconds, ticks) = (values.raw_clock.tv_sec as u64, values.raw_clock.tv_nsec as u64);
        Ok(seconds.wrapping_mul(1_000_000_000).wrapping_add(ticks))
    }
}

#[cfg(test)]
mod tests;
