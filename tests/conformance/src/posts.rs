//! Posts of messages and events without data, for cases that count or order them.

use dat_core::{Ep, Evd, Srq};

use crate::prelude::NONE;

/// Posts an empty receive with each cookie.
#[track_caller]
pub(crate) fn post_receives(ep: &Ep, cookies: impl IntoIterator<Item = u64>) {
    for cookie in cookies {
        ep.post_recv(&[], cookie, NONE).expect("within the limit, in a state that allows receives");
    }
}

/// Posts an empty send with each cookie.
#[track_caller]
pub(crate) fn post_sends(ep: &Ep, cookies: impl IntoIterator<Item = u64>) {
    for cookie in cookies {
        ep.post_send(&[], cookie, NONE).expect("within the limit, and connected");
    }
}

/// Posts an empty receive at one side and a send at the other with each cookie.
#[track_caller]
pub(crate) fn post_messages(from: &Ep, to: &Ep, cookies: impl IntoIterator<Item = u64>) {
    for cookie in cookies {
        post_message((from, cookie), (to, cookie));
    }
}

/// Posts an empty receive at `to` and a send to it at `from`, each with a cookie.
#[track_caller]
pub(crate) fn post_message(from: (&Ep, u64), to: (&Ep, u64)) {
    post_receives(to.0, [to.1]);
    post_sends(from.0, [from.1]);
}

/// Posts an empty receive to a shared queue with each cookie.
#[track_caller]
pub(crate) fn post_shared(srq: &Srq, cookies: impl IntoIterator<Item = u64>) {
    for cookie in cookies {
        srq.post_recv(&[], cookie).expect("within the limit");
    }
}

/// Posts a software event with each value.
#[track_caller]
pub(crate) fn post_events(evd: &Evd, values: impl IntoIterator<Item = u64>) {
    for value in values {
        evd.post_software_event(value).expect("within the limit");
    }
}
