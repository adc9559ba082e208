//! What the fuzz targets have in common. Each file of `src/bin` is a target (docs/fuzzing.md).

mod input;
mod sink;

pub use input::Input;
pub use sink::Sink;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Declares the target of a program: a function that takes any bytes and panics if it finds a fault.
///
/// With `--cfg fuzzing` libFuzzer calls it. Otherwise the program calls it with the files that are its arguments, and
/// its test with the files of `corpus/`.
#[macro_export]
macro_rules! target {
    ($run:path) => {
        #[cfg(fuzzing)]
        libfuzzer_sys::fuzz_target!(|bytes: &[u8]| $run(bytes));

        #[cfg(not(fuzzing))]
        fn main() -> std::process::ExitCode {
            $crate::replay(std::env::args_os().skip(1), $run)
        }

        #[cfg(test)]
        #[test]
        fn the_corpus_is_read_without_a_fault() {
            $crate::read_corpus(module_path!(), $run);
        }
    };
}

/// Runs a target with each file.
pub fn replay(files: impl Iterator<Item = impl AsRef<Path>>, run: fn(&[u8])) -> ExitCode {
    for file in files {
        let file = file.as_ref();
        match fs::read(file) {
            Ok(bytes) => run(&bytes),
            Err(error) => {
                eprintln!("cannot read {}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

/// Runs a target with the files of its corpus.
///
/// # Panics
/// A run does, or the target has no corpus.
pub fn read_corpus(target: &str, run: fn(&[u8])) {
    let target = target.split("::").next().unwrap_or_default();
    let folder: PathBuf = [env!("CARGO_MANIFEST_DIR"), "corpus", target].iter().collect();
    let files: Vec<PathBuf> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry of the corpus").path())
        .collect();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        println!("{}", file.display());
        run(&fs::read(&file).expect("a file of the corpus"));
    }
}
