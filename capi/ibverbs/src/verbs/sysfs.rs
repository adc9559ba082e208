//! The sysfs of devices. The device of this library has none, so files of it are not found; files of the system are
//! read as by rdma-core.

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use libc::size_t;
use rdma_verbs::sys::verbs::ibv_device;

use crate::guard::{self, Failure, Result, in_range, invalid};

/// Where sysfs is: a constant.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_get_sysfs_path() -> *const c_char {
    c"/sys".as_ptr()
}

/// Reads a file into a buffer, without the last newline; returns the number of bytes.
///
/// # Safety
/// There must be `size` bytes at the buffer.
unsafe fn read(path: &Path, buffer: *mut c_char, size: size_t) -> Result<c_int> {
    let failed = |error: std::io::Error| Failure(error.raw_os_error().unwrap_or(libc::EIO));
    let limit = in_range(size, "the size of a buffer")?;
    let mut text = Vec::new();
    File::open(path).map_err(failed)?.take(limit).read_to_end(&mut text).map_err(failed)?;
    if text.last() == Some(&b'\n') {
        text.pop();
    } else if text.len() == size {
        return Err(invalid(format!(
            "cannot read {}: it has more than {size} bytes",
            path.display()
        )));
    }
    // SAFETY: there are at least this number of bytes, and one more.
    unsafe { buffer.copy_from_nonoverlapping(text.as_ptr().cast(), text.len()) };
    if text.len() < size {
        // SAFETY: as above.
        unsafe { buffer.wrapping_add(text.len()).write(0) };
    }
    in_range(text.len(), "the size of a file")
}

/// Reads a file in a folder: the number of bytes, or -1 with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_read_sysfs_file(
    folder: *const c_char,
    file: *const c_char,
    buffer: *mut c_char,
    size: size_t,
) -> c_int {
    // SAFETY: the caller guarantees a string.
    let folder = unsafe { CStr::from_ptr(folder) };
    // SAFETY: as above.
    let file = unsafe { CStr::from_ptr(file) };
    guard::number(|| {
        let file = OsStr::from_bytes(file.to_bytes());
        let path = Path::new(OsStr::from_bytes(folder.to_bytes())).join(file);
        // SAFETY: the caller guarantees the buffer.
        unsafe { read(&path, buffer, size) }
    })
}

/// Reads a file of a device by a format of printf(3). The device of this library has no files: it fails with `ENOENT`.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_read_ibdev_sysfs_file(
    _buffer: *mut c_char,
    _size: size_t,
    _device: *mut ibv_device,
    _format: *const c_char,
) -> c_int {
    guard::number(|| Err(Failure(libc::ENOENT)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_newline_of_a_file_is_removed() {
        let mut buffer = [1_u8; 64];
        let size = buffer.len();
        // SAFETY: two strings and the buffer with its size.
        let read = unsafe {
            ibv_read_sysfs_file(
                c"/proc/self".as_ptr(),
                c"comm".as_ptr(),
                buffer.as_mut_ptr().cast(),
                size,
            )
        };
        let read = usize::try_from(read).expect("the file is there");
        assert!(read > 0 && !buffer[..read].contains(&b'\n'));
        assert_eq!(buffer[read], 0);
    }

    #[test]
    fn a_missing_file_is_reported_with_errno() {
        let mut buffer = [0; 4];
        // SAFETY: two strings and the buffer with its size.
        let read = unsafe {
            ibv_read_sysfs_file(
                c"/sys/class/infiniband/soft0".as_ptr(),
                c"x".as_ptr(),
                buffer.as_mut_ptr(),
                4,
            )
        };
        assert_eq!(read, -1);
        assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOENT));
    }
}
