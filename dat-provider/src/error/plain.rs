//! The mandatory part of an error in 64 bits, so that a `Result<(), Error>` fits into registers.

use std::num::NonZeroU64;

use super::{ReturnType, Subtype};

/// Return type, subtype and, if it is one of [`REPEATED`], the call.
#[derive(Clone, Copy)]
pub(super) struct Plain(NonZeroU64);

/// Calls that a consumer repeats until a queue has space or an event. Their errors name the call
/// without an allocation.
const REPEATED: [&str; 14] = [
    "dat_ep_post_send",
    "dat_ep_post_recv",
    "dat_ep_post_rdma_write",
    "dat_ep_post_rdma_read",
    "dat_ep_post_send_with_invalidate",
    "dat_ep_post_rdma_read_to_rmr",
    "dat_srq_post_recv",
    "dat_rmr_bind",
    "dat_evd_post_se",
    "dat_cno_wait",
    "dat_ib_post_rdma_write_immed",
    "dat_ib_post_fetch_and_add",
    "dat_ib_post_cmp_and_swap",
    "dat_ib_post_send_ud",
];

/// Keeps the value nonzero; above the bits of the code, below those of the call.
const MARK: u64 = 1 << 32;
const CODE: u64 = MARK - 1;
const OPERATION: u32 = 33;

const _: () = {
    let mut at = 0;
    while at < ReturnType::ALL.len() {
        assert!(ReturnType::ALL[at].value() & SUBTYPE == 0);
        at += 1;
    }
    at = 0;
    while at < Subtype::ALL.len() {
        assert!(Subtype::ALL[at].value() & !SUBTYPE == 0);
        at += 1;
    }
};

/// The bits of a subtype in a `DAT_RETURN`.
const SUBTYPE: u32 = 0xffff;

impl Plain {
    pub(super) const fn new(return_type: ReturnType, subtype: Subtype) -> Self {
        match NonZeroU64::new(MARK | (return_type.value() | subtype.value()) as u64) {
            Some(word) => Self(word),
            None => unreachable!(),
        }
    }

    /// Type and subtype as in a `DAT_RETURN`.
    pub(super) const fn code(self) -> u32 {
        (self.0.get() & CODE) as u32
    }

    pub(super) const fn return_type(self) -> ReturnType {
        match ReturnType::from_value(self.code() & !SUBTYPE) {
            Some(return_type) => return_type,
            None => ReturnType::InternalError,
        }
    }

    pub(super) const fn subtype(self) -> Subtype {
        match Subtype::from_value(self.code() & SUBTYPE) {
            Some(subtype) => subtype,
            None => Subtype::NoSubtype,
        }
    }

    pub(super) fn set_subtype(&mut self, subtype: Subtype) {
        let operation = self.0.get() >> OPERATION << OPERATION;
        self.0 = Self::new(self.return_type(), subtype).0 | operation;
    }

    pub(super) fn operation(self) -> &'static str {
        let number = (self.0.get() >> OPERATION) as usize;
        number.checked_sub(1).and_then(|at| REPEATED.get(at)).copied().unwrap_or("")
    }

    /// Records the call if it is one of [`REPEATED`]; returns whether it is.
    pub(super) fn set_operation(&mut self, operation: &str) -> bool {
        let number = REPEATED.iter().position(|known| *known == operation).map_or(0, |at| at + 1);
        self.0 = Self::new(self.return_type(), self.subtype()).0 | (number as u64) << OPERATION;
        number != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_keeps_all_three_apart() {
        for &return_type in ReturnType::ALL {
            for &subtype in Subtype::ALL {
                let mut plain = Plain::new(return_type, Subtype::NoSubtype);
                for known in REPEATED {
                    assert!(plain.set_operation(known));
                    plain.set_subtype(subtype);
                    assert_eq!((plain.return_type(), plain.subtype()), (return_type, subtype));
                    assert_eq!(plain.operation(), known);
                    assert_eq!(plain.code(), return_type.value() | subtype.value());
                }
                assert!(!plain.set_operation("dat_ia_open"));
                assert_eq!((plain.subtype(), plain.operation()), (subtype, ""));
            }
        }
    }
}
