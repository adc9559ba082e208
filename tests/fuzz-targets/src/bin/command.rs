//! What the `dat` command reads: messages of its peer, the loader cache and shared objects.

#![cfg_attr(fuzzing, no_main)]

use dat_cli::fuzz;

fn run(bytes: &[u8]) {
    let Some((&kind, bytes)) = bytes.split_first() else { return };
    match kind % 4 {
        0 => fuzz::ping(bytes),
        1 => fuzz::perf(bytes),
        2 => assert!(fuzz::loader_cache(bytes) <= bytes.len() / 24),
        _ => drop(fuzz::image(bytes)),
    }
}

dat_fuzz_targets::target!(run);
