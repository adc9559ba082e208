//! The functions of libibverbs, and the operations that inline functions of `infiniband/verbs.h` call.
//!
//! What has no meaning here fails, with the errno that its manual page gives to a device without it:
//!
//! | calls | result |
//! | --- | --- |
//! | `ibv_reg_dmabuf_mr`; regions that are zero-based, implicit, or under other addresses than their own | `EOPNOTSUPP` |
//! | XRC domains, `ibv_open_qp`, shared receive queues of types XRC and TM, `ibv_post_srq_ops`, `ibv_get_srq_num` | `EOPNOTSUPP` |
//! | raw packets: queue pairs of that type, work queues, indirection tables, flows and their actions, `ibv_resolve_eth_l2_from_gid` | `EOPNOTSUPP` |
//! | memory of the device (`ibv_alloc_dm`), null regions, counters, rate limits of queue pairs, moderation of completion queues | `EOPNOTSUPP` |
//! | segmentation (`ibv_wr_send_tso`), atomic writes | `EOPNOTSUPP` from `ibv_wr_complete`, `EINVAL` from `ibv_post_send` |
//! | `ibv_set_ece`, `ibv_query_ece` | `EOPNOTSUPP` |
//! | objects of other processes (`ibv_import_device` and so on) | `EOPNOTSUPP` |
//! | alternate paths (`IBV_QP_ALT_PATH`) | `EINVAL` |
//! | calls of version `IBVERBS_1.0` that changed in 1.1; calls for drivers (`IBVERBS_PRIVATE_34`) | `ENOSYS`; `EOPNOTSUPP` ([`refused`](crate::refused)) |

mod acknowledged;
pub mod address_handle;
pub mod async_event;
pub mod attributes;
pub mod channel;
mod clock;
pub mod completion_queue;
mod completion_queue_ex;
pub mod context;
pub mod device;
pub mod domain;
pub mod fork;
pub mod gid;
mod held;
pub mod import;
pub mod marshal;
pub mod multicast;
mod post;
mod post_ex;
pub mod queue_pair;
pub(crate) mod queue_pair_attributes;
pub mod rate;
pub mod region;
pub mod shared_receive;
pub mod sysfs;
pub mod text;
mod window;
