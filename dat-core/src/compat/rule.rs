//! The rules that can be relaxed.

use super::Compat;
use crate::error::Error;
use crate::named::named;

named! {
    /// A rule of the manual pages that other DAT libraries do not enforce.
    pub enum Rule,
    /// The name in texts and in docs/moving.md.
    name;
    /// Streams that share a dispatcher have the same completion flags, and the default ones if the
    /// dispatcher also receives other events (dat_ep_create(3DAT), dat_ep_create_with_srq(3DAT)).
    /// If relaxed, every completion counts towards the threshold of the waiter, as by default.
    MixedFlags, "mixed-flags";
    /// Endpoints and service points use dispatchers of their own open instance of the adapter
    /// (dat_ep_create(3DAT), dat_psp_create(3DAT)).
    OtherInstances, "other-instances";
    /// A post, bind or datagram has only completion flags that it can have: no undefined flags, no
    /// `SOLICITED_WAIT` on reads and receives, and `UNSIGNALLED` only if the endpoint was created
    /// with it (dat_ep_post_send(3DAT) and the other posts, dat_rmr_bind(3DAT)). If relaxed, others
    /// are ignored.
    ExcessFlags, "excess-flags";
    /// The lengths of the remote buffer and of the local segments of an RDMA write or read fit
    /// (dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT)). If relaxed, a remote length that
    /// does not fit or is 0 becomes that of the local segments. The bounds of the region still apply.
    RemoteLength, "remote-length";
    /// All 64 bits of a connection qualifier count (dat_ep_connect(3DAT), dat_psp_create(3DAT)). If relaxed, the upper
    /// half is ignored: programs set only a 32-bit half of the argument.
    WideQualifiers, "wide-qualifiers";
}

impl Rule {
    /// Its bit in a set.
    pub(super) const fn bit(self) -> u8 {
        1 << self as u8
    }

    /// The behaviour that is accepted if the rule is relaxed.
    #[must_use]
    pub const fn relaxed(self) -> &'static str {
        match self {
            Self::MixedFlags => {
                "streams of different completion flags share a dispatcher, with other events as well"
            }
            Self::OtherInstances => {
                "endpoints and service points use dispatchers of another open instance of the adapter"
            }
            Self::ExcessFlags => "completion flags that a post or a bind cannot have are ignored",
            Self::RemoteLength => {
                "a remote length of an RDMA write or read that does not fit, or is 0, is ignored"
            }
            Self::WideQualifiers => "the upper 32 bits of a connection qualifier are ignored",
        }
    }

    /// Completes the error of a call that breaks the rule: the advice, and how to relax the rule.
    pub(crate) fn broken(self, error: Error, advice: &str) -> Error {
        error.breaking(self.name()).advise(format!(
            "{advice}; for a program that can't be changed, {}=ofa or ?{}=ofa behind the name \
             allows it",
            Compat::VARIABLE,
            Compat::PARAMETER
        ))
    }
}
