//! Posts with different cookies, and their completions.

use std::collections::HashMap;

use dat_conformance::Buffer;
use dat_core::{CompletionFlags, DtoStatus, Ep, Evd, Event};

/// No flags.
pub const NONE: CompletionFlags = CompletionFlags::empty();

/// Posts receives and sends, whose cookies are all different, and returns the cookies.
///
/// # Panics
/// If the endpoint refuses a post.
pub fn posts(ep: &Ep, buffer: &Buffer, receives: u64, requests: u64) -> Vec<u64> {
    for cookie in 0..receives {
        ep.post_recv(&[buffer.piece(0, 64)], cookie, NONE).expect("a live endpoint");
    }
    let mut cookies: Vec<u64> = (0..receives).collect();
    for cookie in 1000..1000 + requests {
        // The connection may end meanwhile; then it is flushed.
        ep.post_send(&[buffer.piece(64, 64)], cookie, NONE).expect("a live endpoint");
        cookies.push(cookie);
    }
    cookies
}

/// Takes completions until each cookie has arrived, and returns their statuses.
///
/// # Panics
/// If a cookie arrives twice or not at all.
pub fn each_once(queues: &[&Evd], cookies: &[u64]) -> HashMap<u64, DtoStatus> {
    let mut seen = HashMap::new();
    let take = |seen: &mut HashMap<u64, DtoStatus>| {
        for queue in queues {
            for event in dat_conformance::drain(queue) {
                let Event::Dto(done) = event else { panic!("{event:?}") };
                let before = seen.insert(done.cookie, done.status);
                assert_eq!(before, None, "the cookie {} came twice", done.cookie);
            }
        }
        seen.len() == cookies.len()
    };
    dat_conformance::until("every cookie came", || take(&mut seen));
    take(&mut seen);
    assert!(cookies.iter().all(|cookie| seen.contains_key(cookie)), "{seen:?}");
    seen
}
