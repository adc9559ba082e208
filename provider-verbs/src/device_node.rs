//! The file of a device in `/dev/infiniband`, to find out why the device cannot be opened: the library
//! tries other ways after a failed open of the file, and leaves the error of the last one.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// An obstacle between a process and a device.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The kernel has created no file for the device.
    NoNode,
    /// The file is not in this mount namespace, or udev has not created it.
    NoFile(PathBuf),
    /// This user may not open the file, which has this mode.
    Forbidden(PathBuf, u32),
}

/// The obstacle between this process and a device, below a root directory. `None` if its file can be
/// opened, or fails for another reason.
pub(crate) fn obstacle(root: &Path, device: &str) -> Option<Obstacle> {
    let Some(name) = name_of(&root.join("sys/class/infiniband_verbs"), device) else {
        return Some(Obstacle::NoNode);
    };
    let file = root.join("dev/infiniband").join(name);
    let opened = fs::OpenOptions::new().read(true).write(true).open(&file);
    match opened.map_err(|error| error.kind()) {
        Err(io::ErrorKind::NotFound) => Some(Obstacle::NoFile(file)),
        Err(io::ErrorKind::PermissionDenied) => {
            let mode = fs::metadata(&file).map_or(0, |metadata| metadata.mode() & 0o7777);
            Some(Obstacle::Forbidden(file, mode))
        }
        _ => None,
    }
}

/// The name of the file of a device, as the kernel's list of them has it.
fn name_of(list: &Path, device: &str) -> Option<String> {
    fs::read_dir(list).ok()?.flatten().find_map(|entry| {
        let of = fs::read_to_string(entry.path().join("ibdev")).ok()?;
        (of.trim() == device).then(|| entry.file_name().to_string_lossy().into_owned())
    })
}

impl Obstacle {
    /// The problem.
    pub(crate) fn reason(&self) -> String {
        match self {
            Self::NoNode => "the kernel offers no device file for it".to_owned(),
            Self::NoFile(file) => format!("{} does not exist", file.display()),
            Self::Forbidden(file, mode) => {
                format!("this user may not open {} (mode {mode:04o})", file.display())
            }
        }
    }

    /// The advice.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Self::NoNode => "load the kernel module ib_uverbs",
            Self::NoFile(_) => {
                "in a container, pass in /dev/infiniband; otherwise run udevadm trigger as root"
            }
            Self::Forbidden(..) => {
                "grant read and write access to it (rdma-core's udev rules set mode 0666), or run as a \
                 user of its group; `dat doctor` checks it"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_obstacle_is_found() {
        let root = std::env::temp_dir().join(format!("dat-device-node-{}", std::process::id()));
        let (list, dev) = (root.join("sys/class/infiniband_verbs"), root.join("dev/infiniband"));
        fs::create_dir_all(&dev).expect("a directory");
        assert_eq!(obstacle(&root, "rxe0"), Some(Obstacle::NoNode), "no module");
        fs::create_dir_all(list.join("uverbs3")).expect("a directory");
        fs::write(list.join("uverbs3/ibdev"), "rxe0\n").expect("a file");
        assert_eq!(obstacle(&root, "mlx5_0"), Some(Obstacle::NoNode), "another device");
        let file = dev.join("uverbs3");
        assert_eq!(obstacle(&root, "rxe0"), Some(Obstacle::NoFile(file.clone())));
        fs::write(&file, "").expect("a file");
        assert_eq!(obstacle(&root, "rxe0"), None, "it can be opened");
        let forbidden = Obstacle::Forbidden(file, 0o600);
        assert!(forbidden.reason().ends_with("uverbs3 (mode 0600)"), "{}", forbidden.reason());
        fs::remove_dir_all(&root).expect("it was created above");
    }
}
