//! Local memory regions.

use std::ffi::c_char;
use std::mem;
use std::ops::Range;
use std::ptr::null_mut;

use real::error::{Error, Result, ReturnType, Subtype};
use real::flags::{MemoryTypes, Privileges};
use real::mem::Span;
use real::{LmrTriplet, Memory, RmrTriplet};

use super::handle_type::{Handle as _, handle};
use super::registration::{OutParameters, Registration};
use super::result::call;
use super::{Ia, Pz};
use crate::abi::*;
use crate::version;

handle! {
    /// A local memory region (dat_lmr_create(3DAT)).
    Lmr = Lmr
}

/// The memory to register.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MemorySource<'a> {
    /// A whole allocation, which lives as long as it is registered.
    Memory(&'a Memory),
    /// A range of an allocation, by offsets in bytes.
    Part(&'a Memory, Range<usize>),
    /// The memory of another region.
    Lmr(&'a Lmr),
    /// Any memory.
    Span(Span),
    /// Memory that several processes map.
    Shared {
        /// The name of the memory for all consumers.
        id: [u8; DAT_LMR_COOKIE_SIZE],
        /// The mapping in this process.
        span: Span,
    },
}

/// The parameters of a local memory region (dat_lmr_query(3DAT)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LmrParam {
    /// The kind of memory that was registered.
    pub memory_type: MemoryTypes,
    /// The protection zone.
    pub pz: Pz,
    /// The privileges.
    pub privileges: Privileges,
    /// The context for local triplets.
    pub lmr_context: u32,
    /// The context for the peer.
    pub rmr_context: u32,
    /// The first registered address.
    pub registered_address: u64,
    /// Length of the registration, in bytes.
    pub registered_size: u64,
}

fn address(span: Span) -> DAT_PVOID {
    std::ptr::with_exposed_provenance_mut(span.address() as usize)
}

impl Ia {
    /// dat_lmr_create(3DAT).
    pub fn lmr_create(
        &self,
        source: MemorySource<'_>,
        pz: &Pz,
        privileges: Privileges,
    ) -> Result<Lmr> {
        let mut cookie;
        let virtual_memory = |span| {
            (DAT_MEM_TYPE_VIRTUAL, DAT_REGION_DESCRIPTION { for_va: address(span) }, span.len())
        };
        let ((mem_type, description, length), memory) = match source {
            MemorySource::Memory(memory) => (virtual_memory(memory.span()), Some(memory.clone())),
            MemorySource::Part(memory, range) => {
                let part = memory.part(range).ok_or_else(|| not_inside("dat_lmr_create"))?;
                (virtual_memory(part), Some(memory.clone()))
            }
            MemorySource::Lmr(lmr) => {
                let description = DAT_REGION_DESCRIPTION { for_lmr_handle: lmr.handle() };
                let mut memory = None;
                lmr.object.keep(|keep| memory.clone_from(&keep.memory));
                ((DAT_MEM_TYPE_LMR, description, lmr.registration().length as usize), memory)
            }
            MemorySource::Span(span) => (virtual_memory(span), None),
            MemorySource::Shared { id, span } => {
                cookie = id.map(|byte| byte as c_char);
                let for_shared_memory = DAT_SHARED_MEMORY {
                    virtual_address: address(span),
                    shared_memory_id: &raw mut cookie,
                };
                let description = DAT_REGION_DESCRIPTION { for_shared_memory };
                ((DAT_MEM_TYPE_SHARED_VIRTUAL, description, span.len()), None)
            }
        };
        let mut results = OutParameters {
            handle: null_mut(),
            lmr_context: 0,
            rmr_context: 0,
            registered_length: 0,
            registered_address: 0,
        };
        version::lmr_create(
            self.handle(),
            mem_type,
            description,
            length as u64,
            pz.handle(),
            privileges.bits(),
            &mut results,
        )?;
        let lmr = Lmr::made_of(results.handle, self.adapter());
        lmr.object.keep(|keep| keep.memory = memory);
        let registration = Registration {
            privileges,
            context: results.lmr_context,
            rmr_context: results.rmr_context,
            length: results.registered_length,
            address: results.registered_address,
        };
        lmr.object.region.get_or_init(|| registration);
        Ok(lmr)
    }

    /// dat_lmr_sync_rdma_read(3DAT).
    pub fn lmr_sync_rdma_read(&self, segments: &[LmrTriplet]) -> Result<()> {
        let list: Vec<_> = segments.iter().map(version::local).collect();
        let number = list.len() as DAT_VLEN;
        call!(table.lmr_sync_rdma_read_func(self.handle(), list.as_ptr(), number))
    }

    /// dat_lmr_sync_rdma_write(3DAT).
    pub fn lmr_sync_rdma_write(&self, segments: &[LmrTriplet]) -> Result<()> {
        let list: Vec<_> = segments.iter().map(version::local).collect();
        let number = list.len() as DAT_VLEN;
        call!(table.lmr_sync_rdma_write_func(self.handle(), list.as_ptr(), number))
    }
}

/// The error of an offset outside of the memory, which only the Rust API can express.
fn not_inside(what: &'static str) -> Error {
    let code = match what {
        "dat_lmr_create" => Subtype::InvalidArg3,
        _ => Subtype::InvalidArg1,
    };
    Error::new(ReturnType::InvalidParameter, code).during(what)
}

impl Lmr {
    fn registration(&self) -> Registration {
        self.object.region.get().copied().unwrap_or_default()
    }

    /// The context for local triplets.
    #[must_use]
    pub fn context(&self) -> u32 {
        self.registration().context
    }

    /// The context that the peer may use.
    #[must_use]
    pub fn rmr_context(&self) -> u32 {
        self.registration().rmr_context
    }

    /// dat_lmr_query(3DAT).
    pub fn query(&self) -> Result<LmrParam> {
        // SAFETY: the struct holds integers and pointers, for which all zero bits are valid.
        let mut param: DAT_LMR_PARAM = unsafe { mem::zeroed() };
        call!(table.lmr_query_func(self.handle(), DAT_LMR_FIELD_ALL, &raw mut param))?;
        assert_eq!(param.ia_handle, self.adapter().handle());
        Ok(LmrParam {
            memory_type: match param.mem_type {
                DAT_MEM_TYPE_VIRTUAL => MemoryTypes::VIRTUAL,
                DAT_MEM_TYPE_LMR => MemoryTypes::LMR,
                DAT_MEM_TYPE_SHARED_VIRTUAL => MemoryTypes::SHARED_VIRTUAL,
                other => panic!("{other} is not a DAT_MEM_TYPE"),
            },
            pz: Pz::named(param.pz_handle, self.object.ia())
                .expect("every region has a protection zone"),
            privileges: Privileges::from_bits_retain(param.mem_priv),
            lmr_context: param.lmr_context,
            rmr_context: param.rmr_context,
            registered_address: param.registered_address,
            registered_size: param.registered_size,
        })
    }

    /// A segment of the region for local use.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is not inside the region.
    pub fn triplet(&self, offset: u64, length: u64) -> Result<LmrTriplet> {
        let address = self.piece(offset, length)?;
        Ok(LmrTriplet { address, length, context: self.registration().context })
    }

    /// A segment of the region for the peer's use.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if it is not inside the region; `DAT_PRIVILEGES_VIOLATION` without a
    /// remote privilege.
    pub fn remote_triplet(&self, offset: u64, length: u64) -> Result<RmrTriplet> {
        let address = self.piece(offset, length)?;
        if !self.registration().privileges.intersects(Privileges::REMOTE) {
            let error = Error::new(ReturnType::PrivilegesViolation, Subtype::PrivilegesRdmaRead);
            return Err(error.during("Lmr::remote_triplet"));
        }
        Ok(RmrTriplet { address, length, context: self.registration().rmr_context })
    }

    fn piece(&self, offset: u64, length: u64) -> Result<u64> {
        let end = offset.checked_add(length).filter(|end| *end <= self.registration().length);
        end.map(|_| self.registration().address + offset).ok_or_else(|| not_inside("Lmr::triplet"))
    }

    /// dat_lmr_free(3DAT).
    pub fn free(&self) -> Result<()> {
        self.object.free()
    }
}
