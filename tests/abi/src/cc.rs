//! The C and C++ compilers of the system, or those that `CC` and `CXX` name: compilers for the processor of the tests.

use std::env;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::include;

/// The language of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Strict C89.
    C89,
    /// C89 with GNU extensions, as in old programs.
    Gnu89,
    /// Strict C11.
    C11,
    /// Strict C++17.
    Cxx17,
}

impl Language {
    fn command(self, headers: &Path) -> Command {
        let (variable, usual, kind, standard) = match self {
            Language::C89 => ("CC", "cc", "c", "-std=c89"),
            Language::Gnu89 => ("CC", "cc", "c", "-std=gnu89"),
            Language::C11 => ("CC", "cc", "c", "-std=c11"),
            Language::Cxx17 => ("CXX", "c++", "c++", "-std=c++17"),
        };
        let mut command = Command::new(env::var_os(variable).unwrap_or_else(|| usual.into()));
        command.args(["-x", kind, standard, "-I"]).arg(headers);
        command
    }
}

/// Compiles a source, treating every warning as an error.
///
/// # Errors
///
/// The messages of the compiler.
pub fn check(language: Language, source: &str) -> Result<(), String> {
    let mut command = language.command(&include());
    command.args(["-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "-"]);
    if cfg!(target_pointer_width = "32") {
        // C89 has no constants of 64 bits there, which the masks of attributes are.
        command.arg("-Wno-long-long");
    }
    compile(command, source)
}

/// Compiles a source for its assertions, with warnings off.
///
/// # Errors
///
/// The messages of the compiler.
pub fn assert(source: &str) -> Result<(), String> {
    assert_with(&include(), source)
}

/// As [`assert()`], with the headers in a folder.
///
/// # Errors
///
/// The messages of the compiler.
pub fn assert_with(headers: &Path, source: &str) -> Result<(), String> {
    let mut command = Language::C11.command(headers);
    command.args(["-w", "-fsyntax-only", "-fmax-errors=0", "-"]);
    compile(command, source)
}

/// Compiles a source to `program` and runs it.
///
/// # Errors
///
/// The messages of the compiler, or the output of the program if it fails.
pub fn run(source: &str, program: &Path) -> Result<String, String> {
    let mut command = Language::C11.command(&include());
    command.args(["-w", "-o"]).arg(program).arg("-");
    compile(command, source)?;
    let output = Command::new(program)
        .output()
        .map_err(|e| format!("{} does not run: {e}", program.display()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() { Ok(text) } else { Err(format!("{}\n{text}", output.status)) }
}

fn compile(mut command: Command, source: &str) -> Result<(), String> {
    let output = fed(&mut command, source).map_err(|e| {
        format!("{command:?} can't be run: {e}; the tests need cc and c++: apt-get install gcc g++")
    })?;
    if output.status.success() {
        Ok(())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn fed(command: &mut Command, source: &str) -> std::io::Result<Output> {
    let mut child = command
        .env("LC_ALL", "C")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(source.as_bytes())?;
    }
    child.wait_with_output()
}
