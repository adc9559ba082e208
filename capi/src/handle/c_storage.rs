//! Memory whose address C holds as long as an object lives, and until its handle is given to
//! another object: socket addresses, private data, lists of attributes. Each query writes it again,
//! so a caller that overwrites it spoils only its own result.

use dat_sync::{Mutex, MutexGuard};

use super::StableBox;
use crate::abi::{DAT_OS_WAIT_PROXY_AGENT, DAT_REGION_DESCRIPTION, DAT_VLEN};
use crate::convert::address::SocketAddress;
use crate::convert::attributes::NamedAttributes;
use crate::storage::VersionStorage;

/// The storage of one object; fields that its kind does not need stay empty.
#[derive(Default)]
pub(crate) struct CStorage {
    /// The address of its own adapter.
    pub(crate) local_address: StableBox<SocketAddress>,
    /// The address of the peer's adapter.
    pub(crate) remote_address: StableBox<SocketAddress>,
    /// The data that the remote consumer sent last.
    pub(crate) private_data: StableBox<[u8]>,
    /// Lists of attributes, by their position in the queried struct.
    pub(crate) attributes: [NamedAttributes; 3],
    /// The memory of a local memory region.
    pub(crate) region: Option<Region>,
    /// The agent of a notification object.
    pub(crate) agent: Option<Agent>,
    /// The data that only one version of the API returns.
    pub(crate) more: VersionStorage,
}

/// The memory of a local memory region, as its creator described it.
#[derive(Clone, Copy)]
pub(crate) struct Region {
    pub(crate) description: DAT_REGION_DESCRIPTION,
    pub(crate) length: DAT_VLEN,
}

// SAFETY: the addresses belong to the consumer; they are returned to it and never dereferenced.
unsafe impl Send for Region {}

/// A proxy agent, as its creator gave it.
#[derive(Clone, Copy)]
pub(crate) struct Agent(pub(crate) DAT_OS_WAIT_PROXY_AGENT);

// SAFETY: the function and the address belong to the consumer, which permits their use in any
// thread.
unsafe impl Send for Agent {}
// SAFETY: the function and the address belong to the consumer, which permits their use in any
// thread.
unsafe impl Sync for Agent {}

/// The storage, with its lock.
#[derive(Default)]
pub(super) struct LockedStorage(Mutex<CStorage>);

impl LockedStorage {
    pub(super) fn lock(&self) -> MutexGuard<'_, CStorage> {
        self.0.lock()
    }
}
