//! The memory of a new local region, and its checks.

use std::ops::Range;

use super::shared::{Backing, NameUse};
use super::{CREATE, Lmr};
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::MemoryTypes;
use crate::ia::Ia;
use crate::lifecycle::Hold;
use crate::mem::{Memory, Span};

/// The memory to register (`DAT_MEM_TYPE` with its region description).
///
/// ```
/// use dat_core::{Memory, MemorySource, Privileges};
/// # let registry = dat_core::Registry::new();
/// # registry.add_provider(dat_provider_loopback::provider())?;
/// # let ia = registry.open("loopback")?;
/// # let pz = ia.pz_create()?;
/// let memory = Memory::zeroed(8192)?;
/// let whole = ia.lmr_create(&memory, &pz, Privileges::ALL)?;
/// let part = ia.lmr_create(MemorySource::Part(&memory, 4096..8192), &pz, Privileges::REMOTE_READ)?;
/// assert_eq!(part.query()?.registered_size, 4096);
/// // The memory of a region again, with other privileges.
/// let again = ia.lmr_create(&whole, &pz, Privileges::LOCAL_READ)?;
/// assert_eq!(again.query()?.registered_address, memory.address());
/// # Ok::<(), dat_core::Error>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum MemorySource<'a> {
    /// A whole memory; it stays allocated as long as it is registered.
    Memory(&'a Memory),
    /// A part of a memory, by its offsets.
    Part(&'a Memory, Range<usize>),
    /// The memory of another region, with another zone or other privileges.
    Lmr(&'a Lmr),
    /// Any memory; the creator of the span guarantees its lifetime.
    Span(Span),
    /// Memory that the platform shares between processes (`DAT_MEM_TYPE_SHARED_VIRTUAL`).
    Shared {
        /// The name that all consumers of the memory use; all 40 bytes are significant
        /// (`DAT_LMR_COOKIE`). While it is registered, it denotes this memory and length within its
        /// provider.
        id: [u8; 40],
        /// Its address in this process; the creator of the span guarantees its lifetime.
        span: Span,
    },
}

impl<'a> From<&'a Memory> for MemorySource<'a> {
    fn from(memory: &'a Memory) -> Self {
        Self::Memory(memory)
    }
}

impl<'a> From<&'a Lmr> for MemorySource<'a> {
    fn from(lmr: &'a Lmr) -> Self {
        Self::Lmr(lmr)
    }
}

impl Ia {
    /// The span of a source, the memory that keeps it allocated, and its kind.
    pub(super) fn locate(
        &self,
        source: &MemorySource<'_>,
    ) -> Result<(Span, Option<Memory>, MemoryTypes)> {
        Ok(match source {
            MemorySource::Memory(memory) => {
                (memory.span(), Some((*memory).clone()), MemoryTypes::VIRTUAL)
            }
            MemorySource::Part(memory, range) => {
                let span = memory.part(range.clone()).ok_or_else(|| {
                    let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3)
                        .because(format!("offsets {range:?} exceed the {} bytes", memory.len()))
                        .advise("keep the range within the memory");
                    self.inner().describe(error, CREATE)
                })?;
                (span, Some((*memory).clone()), MemoryTypes::VIRTUAL)
            }
            MemorySource::Lmr(lmr) => {
                let inner = &lmr.inner;
                // Checks that it is live and belongs to this adapter; the memory is kept
                // separately.
                Hold::new(inner, self.inner(), CREATE, Subtype::InvalidHandleLmr)?;
                (inner.span, inner.memory.clone(), MemoryTypes::LMR)
            }
            MemorySource::Span(span) => (*span, None, MemoryTypes::VIRTUAL),
            MemorySource::Shared { span, .. } => (*span, None, MemoryTypes::SHARED_VIRTUAL),
        })
    }

    /// Checks that the adapter can register the memory.
    pub(super) fn check_memory(&self, span: Span, memory_type: MemoryTypes) -> Result<()> {
        let attributes = &self.inner().attributes;
        let fail = |error: Error| Err(self.inner().describe(error, CREATE));
        if !attributes.provider.lmr_mem_types.contains(memory_type) {
            return fail(
                Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
                    .because(format!("the provider cannot register memory of type {memory_type}")),
            );
        }
        if span.is_empty() {
            return fail(
                Error::new(ReturnType::LengthError, Subtype::NoSubtype)
                    .because("a region has at least one byte"),
            );
        }
        let most = attributes.ia.max_lmr_block_size;
        if span.len() as u64 > most {
            return fail(
                Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg4)
                    .because(format!("length {} exceeds the adapter's {most}", span.len()))
                    .advise("register the memory in smaller blocks"),
            );
        }
        let last = span.address() + (span.len() as u64 - 1);
        if last > attributes.ia.max_lmr_virtual_address {
            return fail(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg3).because(
                format!(
                    "address {last:#x} is above the adapter's {:#x}",
                    attributes.ia.max_lmr_virtual_address
                ),
            ));
        }
        Ok(())
    }

    /// Registers the name of shared memory, after a check that the memory is shared.
    pub(super) fn take_name(&self, source: &MemorySource<'_>) -> Result<Option<NameUse>> {
        let MemorySource::Shared { id, span } = source else { return Ok(None) };
        let taken = Backing::of(*span)
            .and_then(|backing| self.inner().shared_names.take(*id, span.len() as u64, backing));
        taken.map(Some).map_err(|error| self.inner().describe(error, CREATE))
    }
}
