//! Tests of both sides of a work queue.

use super::*;

/// An open work queue.
fn open(tag: u64, max: u32, internal: u32) -> (Posts, Arc<WorkQueue>) {
    let mut posts = WorkQueue::create(tag, 0, max, internal).expect("memory");
    posts.set_open(true);
    let work_queue = Arc::clone(&posts.work_queue);
    (posts, work_queue)
}

fn post(posts: &mut Posts, cookie: u64, flags: CompletionFlags) -> u32 {
    let record = Record { cookie, flags, operation: Operation::RdmaRead, ..Record::default() };
    posts.write(&record).expect("a free slot")
}

/// The number of outstanding posts.
fn pending(posts: &Posts) -> u32 {
    posts.next_number().wrapping_sub(posts.work_queue.head())
}

/// The number of queue credits that the consumer's posts occupy.
fn used(posts: &Posts) -> u32 {
    pending(posts).wrapping_add(posts.work_queue.unpolled())
}

#[test]
fn a_failure_names_operation_and_cookie() {
    let (mut posts, work_queue) = open(7, 4, 0);
    let number = post(&mut posts, 5, CompletionFlags::SUPPRESS);
    let done = work_queue.complete(number, DtoStatus::RemoteAccess).expect("reported");
    let completion = done.completion;
    assert_eq!((completion.tag, completion.cookie), (7, 5));
    assert_eq!(completion.operation, Operation::RdmaRead);
    assert_eq!(used(&posts), 1, "until it is polled");
}

#[test]
fn suppressed_posts_complete_with_the_next_reported_one() {
    let (mut posts, work_queue) = open(7, 4, 1);
    post(&mut posts, 1, CompletionFlags::SUPPRESS);
    post(&mut posts, 2, CompletionFlags::SUPPRESS);
    let number = post(&mut posts, 3, CompletionFlags::empty());
    let done = work_queue.complete(number, DtoStatus::Success).expect("reported");
    assert_eq!((done.completion.cookie, used(&posts), pending(&posts)), (3, 1, 0));
}

#[test]
fn a_credit_is_occupied_until_the_poll() {
    let (mut posts, work_queue) = open(0, 2, 0);
    let first = post(&mut posts, 1, CompletionFlags::empty());
    post(&mut posts, 2, CompletionFlags::empty());
    assert!(posts.write(&Record::default()).is_none());
    assert!(work_queue.complete(first, DtoStatus::Success).is_some());
    assert!(posts.write(&Record::default()).is_none());
    work_queue.release();
    assert!(posts.write(&Record::default()).is_some());
    assert!(posts.write(&Record::default()).is_none());
}

#[test]
fn internal_posts_take_no_credit() {
    let (mut posts, work_queue) = open(0, 2, 2);
    let own = Record { internal: true, ..Record::default() };
    let first = post(&mut posts, 1, CompletionFlags::SUPPRESS);
    posts.write(&own).expect("a free slot");
    let second = post(&mut posts, 2, CompletionFlags::empty());
    assert!(posts.write(&Record::default()).is_none());
    let last = posts.write(&own).expect("a free slot");
    posts.unwrite();
    assert_eq!(used(&posts), 2);
    // The suppressed post returns its queue credit together with the other one.
    assert!(work_queue.succeed(first, 0).is_none() && work_queue.succeed(second, 0).is_none());
    assert!(work_queue.complete(second, DtoStatus::Success).is_some());
    assert_eq!((used(&posts), pending(&posts)), (1, 0));
    work_queue.release();
    assert_eq!((used(&posts), work_queue.succeed(last, 0).is_none()), (0, true));
}

#[test]
fn posts_are_accepted_while_slots_and_credits_are_free() {
    let (max, internal) = (3, 2);
    let (mut posts, work_queue) = open(0, max, internal);
    // Outstanding posts, oldest first: whether they are internal. Credits of completions that
    // were not polled.
    let (mut outstanding, mut unpolled) = (std::collections::VecDeque::<bool>::new(), 0);
    let mut seed = 1_u32;
    for step in 0..20_000 {
        if step % 1_000 == 0 {
            posts.set_open(step % 2_000 == 0);
        }
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let credits = outstanding.iter().filter(|&&internal| !internal).count() as u32 + unpolled;
        match seed >> 29 {
            0..=2 => {
                let written = posts.write(&Record::default()).is_some();
                assert_eq!(written, outstanding.len() < 8 && credits < max, "step {step}");
                outstanding.extend(written.then_some(false));
            }
            3 => {
                let own = Record { internal: true, ..Record::default() };
                let written = posts.write(&own).is_some();
                assert_eq!(written, outstanding.len() < 8, "step {step}");
                outstanding.extend(written.then_some(true));
            }
            4 if outstanding.pop_back().is_some() => posts.unwrite(),
            5 | 6 => {
                let reported = work_queue.complete(work_queue.head(), DtoStatus::Success);
                let expected = outstanding.pop_front() == Some(false);
                assert_eq!(reported.is_some(), expected, "step {step}");
                unpolled += u32::from(reported.is_some());
            }
            _ if unpolled > 0 => {
                unpolled -= 1;
                work_queue.release();
            }
            _ => {}
        }
        let credits = outstanding.iter().filter(|&&internal| !internal).count() as u32 + unpolled;
        assert_eq!((used(&posts), pending(&posts)), (credits, outstanding.len() as u32));
        assert!(posts.is_open || posts.next().is_none(), "a closed queue has no fast path");
    }
}

#[test]
fn plain_successes_take_the_fast_path_once_and_in_order() {
    let (mut posts, work_queue) = open(7, 4, 0);
    for cookie in 0..100 {
        let first = post(&mut posts, cookie, CompletionFlags::UNSIGNALLED);
        let second = post(&mut posts, cookie, CompletionFlags::SUPPRESS);
        assert!(work_queue.succeed(second, 0).is_none(), "not the oldest");
        let done = work_queue.succeed(first, 0).expect("a plain success");
        assert_eq!((done.cookie, done.operation), (cookie, Operation::RdmaRead as u32));
        assert!(work_queue.succeed(first, 0).is_none(), "once");
        assert!(work_queue.succeed(second, 0).is_none(), "it is silent");
        assert!(work_queue.complete(second, DtoStatus::Success).is_none(), "it is silent");
        assert_eq!((used(&posts), pending(&posts)), (0, 0));
    }
}

#[test]
fn second_and_unknown_completions_are_ignored() {
    let (mut posts, work_queue) = open(0, 2, 0);
    assert!(work_queue.complete(0, DtoStatus::Success).is_none());
    let number = post(&mut posts, 1, CompletionFlags::empty());
    assert!(work_queue.complete(number, DtoStatus::Success).is_some());
    assert!(work_queue.complete(number, DtoStatus::Flushed).is_none());
    assert!(work_queue.complete(number.wrapping_add(1), DtoStatus::Flushed).is_none());
}

#[test]
fn posts_are_flushed_in_order_without_internal_ones() {
    let (mut posts, work_queue) = open(0, 3, 1);
    post(&mut posts, 1, CompletionFlags::SUPPRESS);
    posts.write(&Record { internal: true, ..Record::default() }).expect("a free slot");
    post(&mut posts, 2, CompletionFlags::empty());
    let cookies: Vec<u64> =
        std::iter::from_fn(|| work_queue.flush_one()).map(|done| done.completion.cookie).collect();
    assert_eq!(cookies, [1, 2]);
    assert_eq!(pending(&posts), 0);
}
