//! Several listeners on one qualifier, as one.

use std::os::fd::BorrowedFd;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use dat_sync::descriptors::WatchSets;
use dat_sync::epoll::{self, EventData, EventFlags};

use super::{Acceptor, Connected};

/// Several listeners on one qualifier, for example at several addresses.
pub struct JoinedAcceptor {
    qualifier: u64,
    /// Readable when one of the listeners is.
    set: WatchSets<1>,
    /// The listeners, in the order in which they are asked and closed.
    all: Vec<Box<dyn Acceptor>>,
}

impl JoinedAcceptor {
    /// Joins listeners on a qualifier. It accepts from them, and closes them, in this order.
    ///
    /// # Errors
    /// `DAT_INSUFFICIENT_RESOURCES` if no descriptor is free.
    pub fn new(qualifier: u64, all: Vec<Box<dyn Acceptor>>) -> Result<Self> {
        let joined = || {
            let set = WatchSets::<1>::new()?;
            for (number, acceptor) in all.iter().enumerate() {
                let data = EventData::new_u64(number as u64);
                epoll::add(set.set(0), acceptor.descriptor(), data, EventFlags::IN)?;
            }
            Ok(set)
        };
        let set = joined().map_err(|errno: rustix::io::Errno| {
            Error::new(ReturnType::InsufficientResources, Subtype::ResourceDevice)
                .because(format!(
                    "cannot wait for all listeners on connection qualifier {qualifier}"
                ))
                .errno(errno.raw_os_error())
                .advise("if the process is out of descriptors, raise the limit (ulimit -n)")
        })?;
        Ok(Self { qualifier, set, all })
    }
}

impl Acceptor for JoinedAcceptor {
    fn qualifier(&self) -> u64 {
        self.qualifier
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        self.set.set(0)
    }

    fn is_there(&self) -> bool {
        self.set.check(0).is_ok() && self.all.iter().all(|acceptor| acceptor.is_there())
    }

    fn accept(&mut self) -> Option<Connected> {
        self.all.iter_mut().find_map(|acceptor| acceptor.accept())
    }
}
