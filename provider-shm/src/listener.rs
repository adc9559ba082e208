//! Listening on a qualifier.

use std::fs::Permissions;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use dat_provider::LocalCause;
use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_provider_kit::engine::{Acceptor, Connected};
use dat_provider_kit::fork::{OwnerProcess, Private};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};

use crate::greeting::PeerProcess;
use crate::link::Link;
use crate::transport::Rings;

/// Maximum number of connections that wait to be accepted; the system may allow fewer.
const BACKLOG: i32 = 4096;
/// The first qualifier for listeners that request any.
const CHOSEN: u64 = 49_152;

/// Creates a nonblocking socket.
pub(crate) fn socket() -> rustix::io::Result<Private<OwnedFd>> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
    Private::create(|| rustix::net::socket_with(family, kind, flags, None))
}

/// A listening socket.
pub(crate) struct Listening {
    socket: Private<OwnedFd>,
    owner_process: OwnerProcess,
    qualifier: u64,
    rings: Rings,
    /// The file to remove at the end.
    file: Option<PathBuf>,
    /// A spare descriptor. If no descriptor is free, it is closed to accept and refuse a
    /// connection, which would otherwise keep the listener readable.
    reserve: Option<Private<UnixDatagram>>,
}

impl Listening {
    /// Listens on a qualifier, or on a free one.
    pub(crate) fn new(rings: &Rings, wanted: Option<u64>) -> Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let refused = |call: &'static str| move |errno: Errno| refusal(call, errno, rings, wanted);
        let socket = socket().map_err(refused("socket"))?;
        let qualifier = match wanted {
            Some(qualifier) => {
                bind(&socket, rings, qualifier).map_err(refused("bind"))?;
                qualifier
            }
            None => loop {
                let qualifier = CHOSEN + NEXT.fetch_add(1, Ordering::Relaxed);
                match bind(&socket, rings, qualifier) {
                    Ok(()) => break qualifier,
                    Err(Errno::ADDRINUSE) => {}
                    Err(errno) => return Err(refused("bind")(errno)),
                }
            },
        };
        let file = rings.folder.as_deref();
        let file = file.map(|folder| rings.space.file(folder, rings.address, qualifier));
        if let Some(file) = file.as_ref().filter(|_| rings.any_user) {
            let everyone = Permissions::from_mode(0o666);
            std::fs::set_permissions(file, everyone).map_err(|error| {
                refused("chmod")(Errno::from_io_error(&error).unwrap_or(Errno::IO))
            })?;
        }
        rustix::net::listen(&socket, BACKLOG).map_err(refused("listen"))?;
        Ok(Self {
            socket,
            owner_process: OwnerProcess::current(),
            qualifier,
            rings: rings.clone(),
            file,
            reserve: reserve(),
        })
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        if let Some(file) = self.file.take().filter(|_| self.owner_process.is_current()) {
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Binds a socket. Replaces a file that a killed process has left.
fn bind(socket: impl AsFd + Copy, rings: &Rings, qualifier: u64) -> rustix::io::Result<()> {
    let name = rings.space.listener(rings.folder.as_deref(), rings.address, qualifier)?;
    let bound = rustix::net::bind(socket, &name);
    let Some(folder) = &rings.folder else { return bound };
    if bound != Err(Errno::ADDRINUSE) || is_heard(&name) {
        return bound;
    }
    let _ = std::fs::remove_file(rings.space.file(folder, rings.address, qualifier));
    rustix::net::bind(socket, &name)
}

/// Returns true if a process listens there.
fn is_heard(name: &SocketAddrUnix) -> bool {
    socket().and_then(|socket| rustix::net::connect(&socket, name)) != Err(Errno::CONNREFUSED)
}

/// The error of a listener that could not be created.
fn refusal(call: &str, errno: Errno, rings: &Rings, wanted: Option<u64>) -> Error {
    let named = wanted.map_or("of the provider's choice".to_owned(), |one| format!("{one:#x}"));
    let error = match errno {
        Errno::ADDRINUSE => Error::new(ReturnType::ConnQualInUse, Subtype::NoSubtype)
            .because(format!("connection qualifier {named} is already in use")),
        Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::NOBUFS => {
            let cause = LocalCause { what: "listen", errno: errno.raw_os_error() };
            Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
                .because(format!("{call} failed for connection qualifier {named}"))
                .advise(cause.advice())
        }
        _ => {
            let place = rings.folder.as_ref().map(|folder| format!(" in {}", folder.display()));
            let place = place.unwrap_or_default();
            Error::new(ReturnType::ConnQualUnavailable, Subtype::NoSubtype)
                .because(format!("cannot listen on connection qualifier {named}{place}"))
        }
    };
    error.errno(errno.raw_os_error())
}

/// Creates the spare descriptor: a socket, since programs also open files such as /dev/null.
fn reserve() -> Option<Private<UnixDatagram>> {
    Private::create(UnixDatagram::unbound).ok()
}

impl Acceptor for Listening {
    fn qualifier(&self) -> u64 {
        self.qualifier
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    fn is_there(&self) -> bool {
        self.socket.is_there()
    }

    fn accept(&mut self) -> Option<Connected> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        loop {
            let accept = || rustix::net::acceptfrom_with(&self.socket, flags);
            let (socket, name) = match Private::create_with(accept) {
                Ok(accepted) => accepted,
                Err(Errno::MFILE | Errno::NFILE) => {
                    drop(self.reserve.take());
                    // A child of fork must not hold it open.
                    drop(Private::create(|| rustix::net::accept_with(&self.socket, flags)));
                    self.reserve = reserve();
                    return None;
                }
                Err(Errno::CONNABORTED | Errno::INTR) => continue,
                Err(_) => return None,
            };
            let name = name.and_then(|name| SocketAddrUnix::try_from(name).ok());
            let Some(address) = name.as_ref().and_then(|name| self.rings.space.of_dialler(name))
            else {
                continue;
            };
            let peer = PeerProcess::of(&socket);
            if !self.rings.any_user && !peer.is_some_and(|peer| peer.is_of_same_user) {
                continue;
            }
            return Some(connected(
                Link::passive(socket, peer, &self.rings.options),
                address,
                self.qualifier,
                &self.rings,
            ));
        }
    }
}

/// Converts the link to the engine's types.
pub(crate) fn connected(
    halves: crate::link::Halves,
    address: IpAddr,
    port: u64,
    rings: &Rings,
) -> Connected {
    let (reader, writer) = halves;
    let datagrams = rings.datagrams_with(address);
    Connected { reader, writer, address, local_port: port, datagrams }
}
