//! Where the kernel lists its devices; readable by all users and without any library.

use std::path::{Path, PathBuf};

pub(crate) const DEVICES: &str = "/sys/class/infiniband";

/// The folder of a port.
pub(crate) fn port_folder(device: &str, port: u8) -> PathBuf {
    Path::new(DEVICES).join(device).join("ports").join(port.to_string())
}
