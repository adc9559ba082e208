//! Documents about the tests: `docs/coverage.md` and the index of `docs/readings.md`, which are
//! generated from the cases, and `tests/README.md`.

mod calls;
mod coverage;
mod listings;
mod overview;
mod readings;
