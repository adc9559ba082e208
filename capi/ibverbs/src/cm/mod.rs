//! The connection manager: the functions of librdmacm, as `soft_NAME`.
//!
//! An identifier, a channel and an event begin with the structures of `rdma/rdma_cma.h`, which inline functions of
//! `rdma/rdma_verbs.h` read. What the calls do is in [`dat_soft_verbs::cm`]; here is what only C has: synchronous
//! identifiers, which wait for the event of each call, the queues that an identifier creates, and name resolution.
//!
//! What has no meaning here:
//!
//! | calls | result |
//! | --- | --- |
//! | rsocket(7) and all that belongs to it | `ENOSYS` ([`stream`]) |
//! | `RDMA_OPTION_IB_PATH` | `ENOSYS` |
//! | addresses of the family `AF_IB` | `EAFNOSUPPORT` |
//! | identifiers for XRC | `EOPNOTSUPP` |

mod address;
pub mod address_info;
pub mod call;
pub mod channel;
pub mod device;
pub mod endpoint;
pub mod event;
pub mod id;
pub mod multicast;
pub mod option;
pub mod queue_pair;
pub mod stream;
