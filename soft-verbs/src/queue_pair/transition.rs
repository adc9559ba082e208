//! The transitions of queue pairs, and the attributes that each demands and allows (ibv_modify_qp(3)).

use super::attributes::{AttributeMask, QueuePairState, QueuePairType};
use crate::error::{Error, Result};

type M = AttributeMask;
use QueuePairState::{Err as Error_, Init, Reset, Rtr, Rts, Sqd, Sqe};

/// A transition for some types of queue pairs.
struct Transition {
    from: QueuePairState,
    to: QueuePairState,
    types: &'static [QueuePairType],
    required: AttributeMask,
    allowed: AttributeMask,
}

const RC: &[QueuePairType] = &[QueuePairType::Rc];
const UC: &[QueuePairType] = &[QueuePairType::Uc];
const UD: &[QueuePairType] = &[QueuePairType::Ud];
const CONNECTED: &[QueuePairType] = &[QueuePairType::Rc, QueuePairType::Uc];
const UNRELIABLE: &[QueuePairType] = &[QueuePairType::Uc, QueuePairType::Ud];
const ALL: &[QueuePairType] = &[QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud];

const NONE: M = M::empty();
const TO_INIT: M = M::PKEY_INDEX.union(M::PORT);
const TO_RTR: M = M::AV.union(M::PATH_MTU).union(M::DEST_QPN).union(M::RQ_PSN);
const TO_RTR_RC: M = TO_RTR.union(M::MAX_DEST_RD_ATOMIC).union(M::MIN_RNR_TIMER);
const TO_RTS_RC: M =
    M::TIMEOUT.union(M::RETRY_CNT).union(M::RNR_RETRY).union(M::SQ_PSN).union(M::MAX_QP_RD_ATOMIC);
const RTS_UD: M = M::CUR_STATE.union(M::QKEY);
const RTS_UC: M = M::CUR_STATE.union(M::ALT_PATH).union(M::ACCESS_FLAGS).union(M::PATH_MIG_STATE);
const RTS_RC: M = RTS_UC.union(M::MIN_RNR_TIMER);
const SQD_UC: M =
    M::AV.union(M::ALT_PATH).union(M::ACCESS_FLAGS).union(M::PKEY_INDEX).union(M::PATH_MIG_STATE);
const SQD_RC: M = SQD_UC
    .union(M::PORT)
    .union(M::TIMEOUT)
    .union(M::RETRY_CNT)
    .union(M::RNR_RETRY)
    .union(M::MAX_QP_RD_ATOMIC)
    .union(M::MAX_DEST_RD_ATOMIC)
    .union(M::MIN_RNR_TIMER);

const fn row(
    from: QueuePairState,
    to: QueuePairState,
    types: &'static [QueuePairType],
    required: AttributeMask,
    allowed: AttributeMask,
) -> Transition {
    Transition { from, to, types, required, allowed }
}

/// All transitions but those to RESET and ERR, which every state has and which take no attribute.
const TABLE: [Transition; 26] = [
    row(Reset, Init, CONNECTED, TO_INIT.union(M::ACCESS_FLAGS), NONE),
    row(Reset, Init, UD, TO_INIT.union(M::QKEY), NONE),
    row(Init, Init, CONNECTED, NONE, TO_INIT.union(M::ACCESS_FLAGS)),
    row(Init, Init, UD, NONE, TO_INIT.union(M::QKEY)),
    row(Init, Rtr, RC, TO_RTR_RC, M::ALT_PATH.union(M::ACCESS_FLAGS).union(M::PKEY_INDEX)),
    row(Init, Rtr, UC, TO_RTR, M::ALT_PATH.union(M::ACCESS_FLAGS).union(M::PKEY_INDEX)),
    row(Init, Rtr, UD, NONE, M::PKEY_INDEX.union(M::QKEY)),
    row(Rtr, Rts, RC, TO_RTS_RC, RTS_RC),
    row(Rtr, Rts, UC, M::SQ_PSN, RTS_UC),
    row(Rtr, Rts, UD, M::SQ_PSN, RTS_UD),
    row(Rts, Rts, RC, NONE, RTS_RC),
    row(Rts, Rts, UC, NONE, RTS_UC),
    row(Rts, Rts, UD, NONE, RTS_UD),
    row(Rts, Sqd, ALL, NONE, M::EN_SQD_ASYNC_NOTIFY),
    row(Sqd, Rts, RC, NONE, RTS_RC),
    row(Sqd, Rts, UC, NONE, RTS_UC),
    row(Sqd, Rts, UD, NONE, RTS_UD),
    row(Sqd, Sqd, RC, NONE, SQD_RC),
    row(Sqd, Sqd, UC, NONE, SQD_UC),
    row(Sqd, Sqd, UD, NONE, M::PKEY_INDEX.union(M::QKEY)),
    row(Sqe, Rts, UC, NONE, M::CUR_STATE.union(M::ACCESS_FLAGS)),
    row(Sqe, Rts, UD, NONE, RTS_UD),
    row(Reset, Reset, ALL, NONE, NONE),
    row(Error_, Error_, ALL, NONE, NONE),
    row(Sqe, Sqe, UNRELIABLE, NONE, NONE),
    row(Rtr, Rtr, ALL, NONE, NONE),
];

/// Checks a transition and its mask.
///
/// # Errors
/// `EINVAL` if there is no such transition, or with the attributes that are missing or not allowed.
pub(super) fn check(
    kind: QueuePairType,
    from: QueuePairState,
    to: QueuePairState,
    mask: AttributeMask,
) -> Result<()> {
    let given = mask - M::STATE;
    if matches!(to, Reset | Error_) {
        return if given.is_empty() {
            Ok(())
        } else {
            Err(refused(kind, from, to, "does not take", given))
        };
    }
    let is_it = |row: &&Transition| row.from == from && row.to == to && row.types.contains(&kind);
    let Some(row) = TABLE.iter().find(is_it) else {
        return Err(Error::invalid(format!(
            "cannot modify the queue pair of type {kind:?}: there is no transition from {from:?} to {to:?}"
        )));
    };
    if !given.contains(row.required) {
        return Err(refused(kind, from, to, "also demands", row.required - given));
    }
    let extra = given - row.required - row.allowed;
    if !extra.is_empty() {
        return Err(refused(kind, from, to, "does not take", extra));
    }
    Ok(())
}

fn refused(
    kind: QueuePairType,
    from: QueuePairState,
    to: QueuePairState,
    what: &str,
    mask: AttributeMask,
) -> Error {
    let names: Vec<_> = mask.iter_names().map(|(name, _)| format!("IBV_QP_{name}")).collect();
    let names = if names.is_empty() { format!("{:#x}", mask.bits()) } else { names.join(", ") };
    Error::invalid(format!(
        "cannot modify the queue pair of type {kind:?}: the transition from {from:?} to {to:?} {what} {names}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows of the tables of ibv_modify_qp(3).
    const PAGE: [(QueuePairType, QueuePairState, QueuePairState, u32); 9] = [
        (QueuePairType::Ud, Reset, Init, 1 | 1 << 4 | 1 << 5 | 1 << 6),
        (QueuePairType::Ud, Init, Rtr, 1),
        (QueuePairType::Ud, Rtr, Rts, 1 | 1 << 16),
        (QueuePairType::Uc, Reset, Init, 1 | 1 << 4 | 1 << 5 | 1 << 3),
        (QueuePairType::Uc, Init, Rtr, 1 | 1 << 7 | 1 << 8 | 1 << 20 | 1 << 12),
        (QueuePairType::Uc, Rtr, Rts, 1 | 1 << 16),
        (QueuePairType::Rc, Reset, Init, 1 | 1 << 4 | 1 << 5 | 1 << 3),
        (QueuePairType::Rc, Init, Rtr, 1 | 1 << 7 | 1 << 8 | 1 << 20 | 1 << 12 | 1 << 17 | 1 << 15),
        (QueuePairType::Rc, Rtr, Rts, 1 | 1 << 16 | 1 << 13 | 1 << 10 | 1 << 11 | 1 << 9),
    ];

    const STATES: [QueuePairState; 7] = [Reset, Init, Rtr, Rts, Sqd, Sqe, Error_];

    #[test]
    fn each_transition_demands_the_attributes_of_the_page_and_no_fewer() {
        for (kind, from, to, bits) in PAGE {
            let mask = M::from_bits_retain(bits);
            assert_eq!(check(kind, from, to, mask), Ok(()), "{kind:?} {from:?} {to:?}");
            for left_out in (mask - M::STATE).iter() {
                let error = check(kind, from, to, mask - left_out).expect_err("one is missing");
                let name = left_out.iter_names().next().expect("it has a name").0;
                assert_eq!(error.errno, libc::EINVAL);
                assert!(error.text().contains(name), "{error}");
            }
        }
    }

    #[test]
    fn an_attribute_that_a_transition_does_not_have_is_refused() {
        let mask = M::from_bits_retain(PAGE[6].3) | M::SQ_PSN;
        let error = check(QueuePairType::Rc, Reset, Init, mask).expect_err("not of INIT");
        assert!(error.text().ends_with("does not take IBV_QP_SQ_PSN"), "{error}");
        let unknown = M::STATE | M::from_bits_retain(1 << 29);
        check(QueuePairType::Rc, Rts, Rts, unknown).expect_err("no such attribute");
    }

    #[test]
    fn every_state_can_be_reset_and_moved_to_the_error_state_and_no_state_can_be_skipped() {
        for kind in [QueuePairType::Rc, QueuePairType::Uc, QueuePairType::Ud] {
            for state in STATES {
                assert_eq!(check(kind, state, Reset, M::STATE), Ok(()));
                assert_eq!(check(kind, state, Error_, M::STATE), Ok(()));
                check(kind, state, Reset, M::STATE | M::QKEY).expect_err("it takes none");
            }
            for (from, to) in [(Reset, Rtr), (Reset, Rts), (Init, Rts), (Rtr, Init), (Error_, Rts)]
            {
                check(kind, from, to, M::all()).expect_err("skipped");
            }
        }
        check(QueuePairType::Rc, Sqe, Rts, M::STATE).expect_err("only of unreliable ones");
        assert_eq!(check(QueuePairType::Ud, Sqe, Rts, M::STATE), Ok(()));
    }
}
