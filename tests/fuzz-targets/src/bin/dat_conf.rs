//! Configuration files: each error names a place in its line, and what is read can be written and read again.

#![cfg_attr(fuzzing, no_main)]

use std::sync::Arc;

use dat_core::provider::stub::StubProvider;
use dat_core::registry::{ApiVersion, ConfigItem, Configuration, Line, Registry};

fn run(bytes: &[u8]) {
    let configuration = Configuration::from_text("conf", bytes);
    for item in configuration.items() {
        let ConfigItem::Line { number, content, .. } = item else { continue };
        let line = bytes.split(|&byte| byte == b'\n').nth(number - 1).expect("that line");
        if let Err(error) = content {
            assert_eq!(error.line(), *number);
            assert!((1..=line.len() + 1).contains(&error.column()), "{error}");
            assert!(!error.caret().contains('\r'), "{error}");
        }
    }
    let registry = Registry::with_configuration(configuration);
    registry.add_provider(Arc::new(StubProvider)).expect("the first");
    for entry in registry.list().into_iter().take(64) {
        if let Some(line) = entry.to_line() {
            assert_eq!(Line::parse(1, line.to_string().as_bytes()), Ok(Some(line)));
        }
        let _ = registry.resolve(&entry.name, ApiVersion::ANY);
        // The parameters of the line reach the provider and the decorators, but name no file to write to.
        if [&entry.name, &entry.parameters].iter().all(|text| !text.contains("trace=")) {
            let _ = registry.open(&entry.name);
        }
    }
}

dat_fuzz_targets::target!(run);
