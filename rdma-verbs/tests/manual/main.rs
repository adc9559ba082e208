//! Tests of the connection manager against its manual pages. `docs/manual-pages.md` lists the
//! sentences of the pages and their tests, and `table.rs` compares it with the tests.

mod advice;
mod common;
mod completion_queue_ex;
mod create_ep;
mod create_id;
mod create_qp;
mod destroy;
mod device_ex;
mod get_request;
mod getaddrinfo;
mod gid_table;
mod migrate_id;
mod moderation;
mod objects;
mod posts;
mod queue_pair_attributes;
mod rdma_cm;
mod rdma_verbs_calls;
mod table;
mod thread_domain;
