//! Two protocols that are joined by a link in memory, in every order of their steps.
//!
//! A [`script::Scenario`] is what both consumers post and how the link behaves. A run of it is a sequence of
//! [`choices`]: what happens next, and whether a write finds the link full. [`explore`] makes all runs, one
//! after the other, and compares each with the [`oracle`], which knows only the steps. Runs that differ only in the
//! order of independent actions are made once. `hostile` sends frames that no protocol would send.
//!
//! A failed test prints the scenario, its actions and its choices.

mod acknowledgements;
mod choices;
mod explore;
mod failures;
mod hostile;
mod losses;
mod oracle;
mod place;
mod post;
mod receive_wait;
mod scenarios;
mod script;
mod side;
mod verdict;
mod wire;
mod world;
