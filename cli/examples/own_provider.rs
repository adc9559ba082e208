//! The `dat` command for a provider of your own: `own_provider ping mine`, `own_provider conformance mine`.

use std::process::ExitCode;
use std::sync::Arc;

use dat_core::Registry;
use dat_core::provider::error::Result;
use dat_core::provider::{Adapter, Description, DiscoveredAdapter, OpenRequest, Provider, Reach};

fn main() -> ExitCode {
    let registry = Registry::from_environment();
    if let Err(error) = registry.add_provider(Arc::new(Mine(dat_provider_loopback::provider()))) {
        eprintln!("{error}");
        return ExitCode::FAILURE;
    }
    dat_cli::run(&registry)
}

/// A provider with one adapter; here, loopback moves its data.
struct Mine(Arc<dyn Provider>);

impl Provider for Mine {
    fn describe(&self) -> Description {
        Description { name: "mine", vendor: "an example", version: (1, 0), reach: Reach::Process }
    }

    fn discover(&self) -> Vec<DiscoveredAdapter> {
        let summary = "an example of a provider".to_owned();
        vec![DiscoveredAdapter { name: "mine".to_owned(), summary, unusable: None }]
    }

    fn open(&self, request: OpenRequest<'_>) -> Result<Arc<dyn Adapter>> {
        self.0.open(request)
    }
}
