//! The outcome of a command, and its exit code.

/// The end of every help text.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0  success
  1  the check failed: an IA cannot be opened, a ping step failed, doctor found a
     problem, or Ctrl-C ended a run early
  2  the command line is wrong";

/// The outcome of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Success.
    Passed,
    /// Failure; the output says why.
    Failed,
}
