//! Extended queues whose driver is in the test.

use std::ffi::{c_int, c_uint};
use std::mem::{MaybeUninit, offset_of};

use super::super::fake;
use super::*;
use crate::sys::extended::verbs_context;
use crate::sys::verbs::ibv_context;

/// A queue whose completions have the identifiers 1, 2, and so on up to `last`.
#[repr(C)]
struct Queue {
    extended: ibv_cq_ex,
    last: u64,
    is_polled: bool,
    failure: c_int,
}

/// The queue that begins with the extended one.
fn own<'a>(queue: *mut ibv_cq_ex) -> &'a mut Queue {
    // SAFETY: every queue that these functions get is one of this type, and no reference to it
    // exists during a call.
    unsafe { &mut *queue.cast::<Queue>() }
}

unsafe extern "C" fn start(queue: *mut ibv_cq_ex, attributes: *mut ibv_poll_cq_attr) -> c_int {
    // SAFETY: the caller passes valid attributes.
    assert_eq!(unsafe { (*attributes).comp_mask }, 0);
    let queue = own(queue);
    assert!(!queue.is_polled, "the batch before was not ended");
    if queue.extended.wr_id == queue.last {
        return if queue.failure == 0 { libc::ENOENT } else { queue.failure };
    }
    queue.is_polled = true;
    queue.extended.wr_id += 1;
    // Every third one failed.
    let failed = queue.extended.wr_id % 3 == 0;
    queue.extended.status = if failed { verbs::IBV_WC_WR_FLUSH_ERR } else { 0 };
    0
}

unsafe extern "C" fn next(_queue: *mut ibv_cq_ex) -> c_int {
    panic!("it may end the batch, as that of librxe does");
}

unsafe extern "C" fn end(queue: *mut ibv_cq_ex) {
    assert!(own(queue).is_polled, "no batch was started");
    own(queue).is_polled = false;
}

unsafe extern "C" fn opcode(queue: *mut ibv_cq_ex) -> c_uint {
    assert_eq!(own(queue).extended.status, 0, "it is unknown for a failure");
    verbs::IBV_WC_RECV
}

unsafe extern "C" fn flags(_queue: *mut ibv_cq_ex) -> c_uint {
    verbs::IBV_WC_WITH_IMM
}

unsafe extern "C" fn number(queue: *mut ibv_cq_ex) -> u32 {
    own(queue).extended.wr_id as u32 + 100
}

unsafe extern "C" fn time(queue: *mut ibv_cq_ex) -> u64 {
    own(queue).extended.wr_id * 1_000
}

unsafe extern "C" fn vlan(_queue: *mut ibv_cq_ex) -> u16 {
    42
}

fn queue(last: u64) -> Box<Queue> {
    // SAFETY: all zeros is a valid value of the type: no function and no object.
    let mut extended: ibv_cq_ex = unsafe { MaybeUninit::zeroed().assume_init() };
    extended.start_poll = Some(start);
    extended.next_poll = Some(next);
    extended.end_poll = Some(end);
    extended.read_opcode = Some(opcode);
    extended.read_wc_flags = Some(flags);
    extended.read_imm_data = Some(number);
    extended.read_byte_len = Some(number);
    extended.read_qp_num = Some(number);
    extended.read_vendor_err = Some(number);
    extended.read_completion_ts = Some(time);
    extended.read_cvlan = Some(vlan);
    Box::new(Queue { extended, last, is_polled: false, failure: 0 })
}

fn poll_all(queue: &mut Queue, fields: CompletionFields, into: &mut [Raw]) -> Result<usize> {
    // SAFETY: the queue is alive and used by this thread only.
    unsafe { poll((&raw mut *queue).cast(), fields, into) }
}

#[test]
fn each_completion_is_taken_once_and_its_batch_ended() {
    let (mut queue, mut into) = (queue(5), [Raw::default(); 3]);
    let fields = CompletionFields::DEVICE_TIME;
    assert_eq!(poll_all(&mut queue, fields, &mut into).expect("polled"), 3);
    assert_eq!(into.map(|raw| raw.plain.wr_id), [1, 2, 3]);
    assert_eq!(poll_all(&mut queue, fields, &mut into).expect("polled"), 2);
    assert_eq!(into[..2].iter().map(|raw| raw.plain.wr_id).collect::<Vec<_>>(), [4, 5]);
    assert_eq!(poll_all(&mut queue, fields, &mut into).expect("polled"), 0);
    assert_eq!(poll_all(&mut queue, fields, &mut []).expect("polled"), 0);
}

#[test]
fn a_completion_has_the_fields_that_were_requested() {
    let mut into = [Raw::default(); 3];
    let fields = CompletionFields::DEVICE_TIME | CompletionFields::VLAN;
    assert_eq!(poll_all(&mut queue(3), fields, &mut into).expect("polled"), 3);
    let [first, _, failed] = into;
    assert_eq!((first.device_time, first.vlan), (Some(1_000), Some(42)));
    assert_eq!((first.wall_time, first.flow_tag), (None, None));
    assert_eq!((first.plain.byte_len, first.plain.imm_or_key), (101, 101));
    assert_eq!((first.plain.qp_num, first.plain.vendor_err), (101, 0));
    assert_eq!((failed.device_time, failed.vlan), (Some(3_000), None));
    assert_eq!((failed.plain.vendor_err, failed.plain.byte_len), (103, 0));
    assert_eq!(poll_all(&mut queue(1), CompletionFields::empty(), &mut into).expect("polled"), 1);
    assert_eq!((into[0].device_time, into[0].vlan), (None, None));
}

#[test]
fn a_failed_poll_loses_no_completion_before_it() {
    let (mut queue, mut into) = (queue(2), [Raw::default(); 3]);
    queue.failure = libc::EINVAL;
    let fields = CompletionFields::empty();
    assert_eq!(poll_all(&mut queue, fields, &mut into).expect("two completions"), 2);
    let error = poll_all(&mut queue, fields, &mut into).expect_err("it failed");
    assert_eq!((error.call, error.errno), ("ibv_start_poll", libc::EINVAL));
}

/// Creates no queue, because it would be destroyed by the library; the errno shows what it got.
unsafe extern "C" fn create_queue(
    _context: *mut ibv_context,
    attributes: *mut ibv_cq_init_attr_ex,
) -> *mut ibv_cq_ex {
    // SAFETY: the caller passes valid attributes.
    let attributes = unsafe { &*attributes };
    let plain = attributes.wc_flags == sys::IBV_WC_STANDARD_FLAGS
        && (attributes.comp_mask, attributes.flags) == (0, 0);
    let everything = attributes.wc_flags == sys::IBV_WC_STANDARD_FLAGS | 1 << 7
        && (attributes.comp_mask, attributes.flags) == (1, 1 << 1);
    let is_known = attributes.cqe == 9 && attributes.parent_domain.is_null();
    let errno = match (plain, everything, is_known) {
        (true, _, true) => nix::errno::Errno::ENOMEM,
        (_, true, true) => nix::errno::Errno::ENOSPC,
        _ => nix::errno::Errno::EIO,
    };
    errno.set();
    null_mut()
}

fn with_queues(operations: &mut verbs_context) {
    operations.create_cq_ex = Some(create_queue);
    operations.query_rt_values = Some(clock);
    operations.context.num_comp_vectors = 1;
}

#[test]
fn the_parameters_of_a_queue_reach_the_driver() {
    let context = fake::context(with_queues);
    let create = |init: &ExtendedQueueInit<'_>| {
        ExtendedCompletionQueue::new(&context, init).expect_err("no queue is created").errno
    };
    let plain = ExtendedQueueInit::new(9, CompletionFields::empty());
    assert_eq!(create(&plain), libc::ENOMEM);
    let timed = ExtendedQueueInit::new(9, CompletionFields::DEVICE_TIME);
    assert_eq!(create(&ExtendedQueueInit { ignore_overrun: true, ..timed }), libc::ENOSPC);
    assert_eq!(create(&ExtendedQueueInit { vector: 1, ..plain }), libc::EINVAL);
    let domain = fake::domain(&context);
    let refused = ExtendedQueueInit { parent_domain: Some(&domain), ..plain };
    assert_eq!(create(&refused), libc::EINVAL, "it is not a parent domain");
}

unsafe extern "C" fn clock(_context: *mut ibv_context, values: *mut ibv_values_ex) -> c_int {
    // SAFETY: the caller passes valid values.
    let values = unsafe { &mut *values };
    assert_eq!(values.comp_mask, sys::IBV_VALUES_MASK_RAW_CLOCK);
    values.raw_clock = libc::timespec { tv_sec: 2, tv_nsec: 5 };
    0
}

unsafe extern "C" fn no_clock(_context: *mut ibv_context, values: *mut ibv_values_ex) -> c_int {
    // SAFETY: the caller passes valid values.
    unsafe { (*values).comp_mask = 0 };
    0
}

#[test]
fn the_device_clock_is_one_number() {
    assert_eq!(fake::context(with_queues).device_clock(), Ok(2_000_000_005));
    let context = fake::context(|operations| operations.query_rt_values = Some(no_clock));
    assert_eq!(context.device_clock().expect_err("no clock").errno, libc::EOPNOTSUPP);
}

#[test]
fn a_driver_or_library_without_extended_queues_is_an_error_with_advice() {
    let after = offset_of!(verbs_context, create_cq_ex) + size_of::<usize>();
    let without = |operations: &mut verbs_context| operations.context.num_comp_vectors = 1;
    for context in [fake::context(without), fake::old_context(after, with_queues)] {
        let init = ExtendedQueueInit::new(9, CompletionFields::empty());
        let errors = [
            ExtendedCompletionQueue::new(&context, &init).expect_err("not supported"),
            context.device_clock().expect_err("not supported"),
        ];
        for error in errors {
            assert_eq!(error.errno, libc::EOPNOTSUPP);
            assert!(error.to_string().contains("libibverbs"), "{error}");
        }
    }
}
