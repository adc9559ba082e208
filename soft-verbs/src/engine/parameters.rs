//! The environment variable `SOFT_VERBS`.

/// The name of the device.
pub(crate) const DEVICE_NAME: &str = "soft0";

/// The name of the environment variable: parameters of the provider `auto`, separated by blanks or commas.
pub(crate) const VARIABLE: &str = "SOFT_VERBS";

/// The parameters of the adapter.
pub(crate) fn of_adapter() -> String {
    std::env::var(VARIABLE).unwrap_or_default()
}
