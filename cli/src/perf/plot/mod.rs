//! Drawings of what was measured, as SVG.

mod bars;
mod curves;
mod paper;

pub(super) use bars::svg as bars;
pub(super) use curves::svg as curves;
