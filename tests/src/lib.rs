//! Shared parts of the integration tests.
