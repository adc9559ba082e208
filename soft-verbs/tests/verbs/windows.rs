//! Memory windows.

use std::sync::Arc;

use dat_soft_verbs::*;

use crate::world::{Side, all_access, pair, register};

fn bind<'a>(side: &'a Side, offset: u64, length: u64) -> WindowBind<'a> {
    let address = side.memory.address() + offset;
    WindowBind { region: Some(&side.region), address, length, access: Access::REMOTE_WRITE }
}

/// Binds a window of type 2 with the next key.
fn bind_two(side: &Side, window: &Arc<Window>, offset: u64, length: u64) -> u32 {
    let key = window.remote_key();
    let key = key & !0xff | key.wrapping_add(1) & 0xff;
    let operation = SendOperation::Bind { window, key, bind: bind(side, offset, length) };
    side.post_with(50, operation, &[], SendFlags::SIGNALED).expect("a bind");
    let done = side.one();
    assert_eq!((done.status, done.opcode, done.wr_id), (WcStatus::SUCCESS, WcOpcode::BIND_MW, 50));
    assert_eq!(window.remote_key(), key);
    key
}

/// How a write by a key to an offset of the memory ends.
fn write(from: &Side, to: &Side, key: u32, offset: usize) -> WcStatus {
    let remote = Remote { key, ..to.remote(offset) };
    from.post(60, SendOperation::Write(remote), from.sge(0, 8));
    from.one().status
}

#[test]
fn a_window_of_type_1_permits_what_it_is_bound_to() {
    let [one, other] = pair();
    let window = other.domain.allocate_window(WindowType::One).expect("a window");
    let flags = SendFlags::SIGNALED;
    let bound =
        |at| other.qp.bind_window(&window, 5, flags, &bind(&other, at, 64)).expect("a bind");
    let first = bound(0);
    let done = other.one();
    assert_eq!((done.wr_id, done.status, done.opcode), (5, WcStatus::SUCCESS, WcOpcode::BIND_MW));
    assert_eq!(write(&one, &other, first, 8), WcStatus::SUCCESS);
    let second = bound(64);
    other.done(1);
    assert!(first != second && second == window.remote_key());
    assert_eq!(write(&one, &other, second, 64), WcStatus::SUCCESS);
    assert_eq!(write(&one, &other, second, 128), WcStatus::REM_ACCESS_ERR);
}

#[test]
fn a_bind_ends_the_one_before() {
    let [one, other] = pair();
    let window = other.domain.allocate_window(WindowType::Two).expect("a window");
    let first = bind_two(&other, &window, 0, 64);
    assert_eq!(write(&one, &other, first, 8), WcStatus::SUCCESS);
    let second = bind_two(&other, &window, 0, 64);
    assert_eq!(write(&one, &other, second, 8), WcStatus::SUCCESS);
    assert_eq!(write(&one, &other, first, 8), WcStatus::REM_ACCESS_ERR);
}

#[test]
fn a_region_with_a_window_is_not_deregistered() {
    let [_one, other] = pair();
    let window = other.domain.allocate_window(WindowType::Two).expect("a window");
    let key = bind_two(&other, &window, 0, 64);
    assert_eq!(other.region.deregister().expect_err("a window").errno, libc::EBUSY);
    let operation = SendOperation::LocalInvalidate(key);
    other.post_with(7, operation, &[], SendFlags::SIGNALED).expect("an invalidation");
    let done = other.one();
    assert_eq!((done.wr_id, done.status, done.opcode), (7, WcStatus::SUCCESS, WcOpcode::LOCAL_INV));
    other.region.deregister().expect("no window");
    window.deallocate().expect("once");
    assert_eq!(window.deallocate().expect_err("twice").errno, libc::EINVAL);
}

#[test]
fn a_window_is_invalidated_by_either_side() {
    let [one, other] = pair();
    let window = other.domain.allocate_window(WindowType::Two).expect("a window");
    let key = bind_two(&other, &window, 0, 64);
    other.receive(1, other.sge(100, 64));
    one.post(2, SendOperation::SendWithInvalidate(key), one.sge(0, 8));
    let got = other.one();
    assert_eq!((got.opcode, got.wc_flags), (WcOpcode::RECV, WcFlags::WITH_INV.bits()));
    assert_eq!(got.imm_data, key);
    one.done(1);
    let key = bind_two(&other, &window, 0, 64);
    assert_eq!(write(&one, &other, key, 0), WcStatus::SUCCESS);
    let unsignaled = SendFlags::empty();
    other.post_with(3, SendOperation::LocalInvalidate(key), &[], unsignaled).expect("posted");
    other.receive(4, other.sge(100, 64));
    one.post(5, SendOperation::Send, one.sge(0, 8));
    assert_eq!(other.brief(1), [(4, WcStatus::SUCCESS)], "no completion of the invalidation");
    one.done(1);
    assert_eq!(write(&one, &other, key, 0), WcStatus::REM_ACCESS_ERR);
}

#[test]
fn a_bind_that_is_not_permitted_fails() {
    let [_one, other] = pair();
    let window = other.domain.allocate_window(WindowType::Two).expect("a window");
    let region = register(&other.domain, &other.memory, all_access() - Access::MW_BIND);
    let key = window.remote_key();
    let narrow = WindowBind { region: Some(&region), ..bind(&other, 0, 64) };
    let another = SendOperation::Bind { window: &window, key: key ^ 0x100, bind: narrow };
    let refused = other.post_with(1, another, &[], SendFlags::SIGNALED);
    assert_eq!(refused.expect_err("not its key").errno, libc::EINVAL);
    let operation = SendOperation::Bind { window: &window, key, bind: narrow };
    other.post_with(1, operation, &[], SendFlags::SIGNALED).expect("posted");
    assert_eq!(other.brief(1), [(1, WcStatus::MW_BIND_ERR)]);
    assert_eq!(other.qp.state(), QueuePairState::Err);
}

#[test]
fn a_window_is_named_by_addresses_of_its_region_or_from_zero() {
    let [one, other] = pair();
    let region = {
        let (address, length) = (other.memory.address(), other.memory.len() as u64);
        // SAFETY: the memory outlives the region.
        unsafe { other.domain.register(address, length, 0x1000, all_access()) }
    };
    let region = region.expect("memory of the process");
    let window = other.domain.allocate_window(WindowType::One).expect("a window");
    let bind = |access| {
        let bind = WindowBind { region: Some(&region), address: 0x1040, length: 8, access };
        let key = other.qp.bind_window(&window, 5, SendFlags::SIGNALED, &bind).expect("a bind");
        other.done(1);
        key
    };
    let write = |key, address| {
        let remote = Remote { key, address };
        one.post(60, SendOperation::Write(remote), one.sge(0, 8));
        one.one().status
    };
    one.memory.write(0, b"for both").expect("inside");
    let key = bind(Access::REMOTE_WRITE);
    assert_eq!(write(key, 0x1040), WcStatus::SUCCESS);
    let key = bind(Access::REMOTE_WRITE | Access::ZERO_BASED);
    assert_eq!(write(key, 0), WcStatus::SUCCESS);
    let mut bytes = [0; 16];
    other.memory.read(0x40, &mut bytes).expect("inside");
    assert_eq!(&bytes, b"for both\0\0\0\0\0\0\0\0");
    assert_eq!(write(key, 1), WcStatus::REM_ACCESS_ERR);
}
