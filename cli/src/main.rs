//! The `dat` command; everything is in the library.

#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    dat_cli::run(&dat_cli::built_in())
}
