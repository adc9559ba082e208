//! Lists of local segments for a call.

use real::LmrTriplet;

use crate::abi::*;
use crate::version;

/// Segments for a call.
pub(crate) struct Segments(Vec<DAT_LMR_TRIPLET>);

impl Segments {
    pub(crate) fn number(&self) -> DAT_COUNT {
        DAT_COUNT::try_from(self.0.len()).expect("the count of segments fits")
    }

    pub(crate) fn pointer(&mut self) -> *mut DAT_LMR_TRIPLET {
        self.0.as_mut_ptr()
    }
}

pub(crate) fn segments(iov: &[LmrTriplet]) -> Segments {
    Segments(iov.iter().map(version::local).collect())
}
