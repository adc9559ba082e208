//! Event dispatchers. The calls that take events are in `delivery`.

use std::mem;
use std::os::fd::{AsFd, BorrowedFd};
use std::ptr::null_mut;

use real::error::Result;
use real::{EvdFlags, ObjectKind};

use super::adapter::Ia;
use super::cno::Cno;
use super::convert::{count, to_count};
use super::handle_type::{Handle as _, handle};
use super::object::Object;
use super::result::{call, missing};
use crate::abi::*;

handle! {
    /// An event dispatcher (dat_evd_create).
    Evd = Evd
}

/// Options for creating an event dispatcher.
#[derive(Clone, Debug)]
pub struct EvdOptions {
    /// Minimum queue length, in events.
    pub min_qlen: u32,
    /// The event streams that may use the dispatcher.
    pub flags: EvdFlags,
    /// The notification object that its events trigger.
    pub cno: Option<Cno>,
}

impl EvdOptions {
    /// A dispatcher without a notification object.
    #[must_use]
    pub const fn new(min_qlen: u32, flags: EvdFlags) -> Self {
        Self { min_qlen, flags, cno: None }
    }

    /// Adds a notification object.
    #[must_use]
    pub fn with_cno(mut self, cno: &Cno) -> Self {
        self.cno = Some(cno.clone());
        self
    }
}

/// The parameters of an event dispatcher (dat_evd_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvdParam {
    /// Queue length, in events.
    pub qlen: u32,
    /// The event streams that may use the dispatcher.
    pub flags: EvdFlags,
    /// True if events trigger the notification object.
    pub enabled: bool,
    /// True if threads can wait on it.
    pub waitable: bool,
    /// True if its streams use `DAT_COMPLETION_UNSIGNALLED_FLAG`.
    pub config_notify: bool,
    /// True if its streams use `DAT_COMPLETION_SOLICITED_WAIT_FLAG`.
    pub config_solicited: bool,
    /// The notification object.
    pub cno: Option<Cno>,
}

impl Ia {
    /// dat_evd_create.
    pub fn evd_create(&self, options: &EvdOptions) -> Result<Evd> {
        let mut evd = null_mut();
        let cno = options.cno.as_ref().map_or(null_mut(), Cno::handle);
        let (qlen, flags) = (to_count(options.min_qlen), options.flags.bits());
        call!(table.evd_create_func(self.handle(), qlen, cno, flags, &raw mut evd))?;
        Ok(Evd::made_of(evd, self.adapter()))
    }

    /// The dispatcher of asynchronous errors.
    #[must_use]
    pub fn async_evd(&self) -> Option<Evd> {
        let mut evd: DAT_EVD_HANDLE = null_mut();
        let (no_ia, no_provider) = (null_mut(), null_mut());
        let handle = self.handle();
        call!(table.ia_query_func(handle, &raw mut evd, 0, no_ia, 0, no_provider)).ok()?;
        if evd == DAT_EVD_OUT_OF_SCOPE {
            return None;
        }
        let object = Object::named(evd, ObjectKind::Evd, self.adapter(), false)?;
        Some(Evd { object })
    }
}

impl Evd {
    /// dat_evd_post_se(3DAT).
    pub fn post_software_event(&self, value: u64) -> Result<()> {
        // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
        let mut event: DAT_EVENT = unsafe { mem::zeroed() };
        event.event_number = DAT_SOFTWARE_EVENT;
        event.event_data.software_event_data = DAT_SOFTWARE_EVENT_DATA {
            pointer: std::ptr::with_exposed_provenance_mut(value as usize),
        };
        call!(table.evd_post_se_func(self.handle(), &raw const event))
    }

    /// dat_evd_query(3DAT).
    pub fn query(&self) -> Result<EvdParam> {
        // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
        let mut param: DAT_EVD_PARAM = unsafe { mem::zeroed() };
        call!(table.evd_query_func(self.handle(), DAT_EVD_FIELD_ALL, &raw mut param))?;
        assert_eq!(param.ia_handle, self.adapter().handle());
        let is = |state| param.evd_state & state != 0;
        assert_ne!(is(DAT_EVD_STATE_ENABLED), is(DAT_EVD_STATE_DISABLED));
        assert_ne!(is(DAT_EVD_STATE_WAITABLE), is(DAT_EVD_STATE_UNWAITABLE));
        Ok(EvdParam {
            qlen: count(param.evd_qlen),
            flags: EvdFlags::from_bits_retain(param.evd_flags),
            enabled: is(DAT_EVD_STATE_ENABLED),
            waitable: is(DAT_EVD_STATE_WAITABLE),
            config_notify: is(DAT_EVD_STATE_CONFIG_NOTIFY),
            config_solicited: is(DAT_EVD_STATE_CONFIG_SOLICITED),
            cno: Cno::named(param.cno_handle, self.object.ia()),
        })
    }

    /// dat_evd_modify_cno(3DAT).
    pub fn modify_cno(&self, cno: Option<&Cno>) -> Result<()> {
        let cno = cno.map_or(null_mut(), Cno::handle);
        call!(table.evd_modify_cno_func(self.handle(), cno))
    }

    /// dat_evd_enable(3DAT).
    pub fn enable(&self) -> Result<()> {
        call!(table.evd_enable_func(self.handle()))
    }

    /// dat_evd_disable(3DAT).
    pub fn disable(&self) -> Result<()> {
        call!(table.evd_disable_func(self.handle()))
    }

    /// dat_evd_set_unwaitable(3DAT).
    pub fn set_unwaitable(&self) -> Result<()> {
        call!(table.evd_set_unwaitable_func(self.handle()))
    }

    /// dat_evd_clear_unwaitable(3DAT).
    pub fn clear_unwaitable(&self) -> Result<()> {
        call!(table.evd_clear_unwaitable_func(self.handle()))
    }

    /// dat_evd_resize(3DAT).
    pub fn resize(&self, min_qlen: u32) -> Result<()> {
        call!(table.evd_resize_func(self.handle(), to_count(min_qlen)))
    }

    /// dat_evd_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }

    /// The C API has no descriptors of dispatchers.
    ///
    /// # Errors
    /// Always.
    pub fn arm(&self) -> Result<bool> {
        const ARM: &str = "Evd::arm";
        self.query().map_err(|error| error.during(ARM))?;
        Err(missing(ARM))
    }

    /// The C API has no descriptors of dispatchers.
    pub fn disarm(&self) {}

    /// The C API has no descriptors of dispatchers.
    ///
    /// # Errors
    /// Always.
    pub fn fd(&self) -> Result<BorrowedFd<'_>> {
        Err(missing("Evd::fd"))
    }
}

impl AsFd for Evd {
    /// # Panics
    /// The C API has no descriptors of dispatchers.
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd().expect("a descriptor")
    }
}
