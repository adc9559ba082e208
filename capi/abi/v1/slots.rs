//! The function types of the slots of `DAT_PROVIDER` that only DAT 1.2 has, or has with other arguments.

use super::*;

slots! {
    cr_calls in "../../exports/v1/cr.rs";
    lmr_calls in "../../exports/v1/lmr.rs";
    rmr_calls in "../../exports/v1/rmr.rs";
}
