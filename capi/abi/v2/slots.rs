//! The function types of the slots of `DAT_PROVIDER` that only DAT 2.0 has, or has with other arguments.

use super::*;

slots! {
    cno_calls in "../../exports/v2/cno.rs";
    cr_calls in "../../exports/v2/cr.rs";
    ep_calls in "../../exports/v2/ep.rs";
    extension_calls in "../../exports/v2/extension.rs";
    lmr_calls in "../../exports/v2/lmr.rs";
    post_calls in "../../exports/v2/post.rs";
    rmr_calls in "../../exports/v2/rmr.rs";
    service_point_calls in "../../exports/v2/service_point.rs";
}
