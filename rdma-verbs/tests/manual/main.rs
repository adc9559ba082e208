//! The connection manager against its manual pages, a test for each sentence.
//! `docs/manual-pages.md` has the sentences and their tests; `table.rs` holds that page to them.

mod common;
mod create_ep;
mod create_id;
mod create_qp;
mod destroy;
mod get_request;
mod getaddrinfo;
mod migrate_id;
mod objects;
mod posts;
mod rdma_cm;
mod rdma_verbs_calls;
mod table;
