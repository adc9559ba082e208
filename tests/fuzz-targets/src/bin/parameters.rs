//! Names of adapters with parameters, parameters of providers, and addresses.

#![cfg_attr(fuzzing, no_main)]

use std::sync::Arc;

use dat_core::provider::stub::StubProvider;
use dat_core::{Address, Registry};
use dat_provider_kit::parameters::{self, Limits};
use dat_provider_kit::processors::Processors;
use dat_provider_kit::progress_mode::ProgressMode;

fn run(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let mut limits = Limits::default();
    let _ = parameters::parse(&text, &mut limits, |limits| limits, &[]);
    let _ = Processors::parse(&text);
    let _ = ProgressMode::parse(&text);
    if let Ok(address) = text.parse::<Address>() {
        assert_eq!(address.to_string().parse(), Ok(address), "{text:?}");
    }
    // A trace is written to any file that the parameter names.
    if text.contains("trace=") {
        return;
    }
    let registry = Registry::new();
    registry.add_provider(Arc::new(StubProvider)).expect("the first");
    let _ = registry.open(&text);
    let _ = registry.open(&format!("stub?{text}"));
}

dat_fuzz_targets::target!(run);
