//! What the tests share.

use std::collections::HashMap;

use dat_conformance::{Buffer, Node};
use dat_core::{CompletionFlags, DtoStatus, Endpoint, Event, EventDispatcher, Registry};

/// No flags.
pub(crate) const NONE: CompletionFlags = CompletionFlags::empty();

/// An open adapter with parameters.
pub(crate) fn node(parameters: &str) -> Node {
    let registry = Registry::new();
    registry.add_provider(provider_shm::provider()).expect("the only provider");
    let name = if parameters.is_empty() { "shm".to_owned() } else { format!("shm?{parameters}") };
    Node::on(registry.open(&name).expect("every machine has it"))
}

/// Posts receives and requests, whose cookies are all different, and says which.
pub(crate) fn posts(ep: &Endpoint, buffer: &Buffer, receives: u64, requests: u64) -> Vec<u64> {
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

/// Takes completions until each cookie came, and checks that none comes twice.
pub(crate) fn each_once(queues: &[&EventDispatcher], cookies: &[u64]) -> HashMap<u64, DtoStatus> {
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
