//! The cases, one noun per file.

mod cno;
mod cno_fd;
mod compat;
mod connection;
mod contexts;
mod cr;
mod csp;
mod datagram;
mod dto;
mod ep_create;
mod ep_create_attributes;
mod ep_create_handles;
mod ep_create_sharing;
mod ep_create_unconnected;
mod ep_modify;
mod evd;
mod event_order;
mod extension;
mod failure;
mod handoff;
mod ia;
mod invalidate;
mod lmr;
mod matrix_attributes;
mod matrix_handles;
mod matrix_states;
mod multipath;
mod property_evd;
mod psp;
mod pz;
mod read_to_rmr;
mod registry;
mod related;
mod rmr;
mod rmr_scope;
mod rsp;
mod shared_memory;
mod srq;
mod stress;
mod sync;
mod watermark;

use crate::case::Case;

/// The cases of each noun, in the order in which they are run.
#[rustfmt::skip]
const NOUNS: &[&[Case]] = &[
    cno::CASES,
    cno_fd::CASES,
    compat::CASES,
    connection::CASES,
    contexts::CASES,
    cr::CASES,
    csp::CASES,
    datagram::CASES,
    dto::CASES,
    ep_create::CASES,
    ep_create_attributes::CASES,
    ep_create_handles::CASES,
    ep_create_sharing::CASES,
    ep_create_unconnected::CASES,
    ep_modify::CASES,
    evd::CASES,
    event_order::CASES,
    extension::CASES,
    failure::CASES,
    handoff::CASES,
    ia::CASES,
    invalidate::CASES,
    lmr::CASES,
    matrix_attributes::CASES,
    matrix_handles::CASES,
    matrix_states::CASES,
    multipath::CASES,
    property_evd::CASES,
    psp::CASES,
    pz::CASES,
    read_to_rmr::CASES,
    registry::CASES,
    related::CASES,
    rmr::CASES,
    rmr_scope::CASES,
    rsp::CASES,
    shared_memory::CASES,
    srq::CASES,
    stress::CASES,
    sync::CASES,
    watermark::CASES,
];

/// Every case of the suite, grouped by noun.
#[must_use]
pub fn all() -> Vec<Case> {
    NOUNS.concat()
}
