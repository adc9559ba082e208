//! Copies in assembly, whose faults are recognized by the faulting instruction; see x86_64.s.
#![allow(unsafe_code, reason = "memory is reached by address, and a handler changes registers")]

use std::num::NonZeroUsize;
use std::ptr;

use libc::{c_void, siginfo_t, ucontext_t};

use super::Fault;

#[cfg(target_arch = "x86_64")]
std::arch::global_asm!(include_str!("x86_64.s"));
#[cfg(target_arch = "aarch64")]
std::arch::global_asm!(include_str!("aarch64.s"));
#[cfg(target_arch = "riscv64")]
std::arch::global_asm!(include_str!("riscv64.s"));

// The functions return 0, or the address of the fault.
unsafe extern "C" {
    fn dat_kit_copy(to: *mut u8, from: *const u8, length: usize) -> usize;
    #[cfg(target_arch = "x86_64")]
    fn dat_kit_copy_long_in_order(to: *mut u8, from: *const u8, length: usize) -> usize;
    fn dat_kit_fetch_add(word: *mut u64, add: u64, before: *mut u64) -> usize;
    fn dat_kit_compare_swap(word: *mut u64, from: u64, to: u64, before: *mut u64) -> usize;

    // Places in the code, and the bounds of the section, which the linker provides.
    #[cfg(not(target_arch = "riscv64"))]
    static dat_kit_leave: u8;
    #[cfg(not(target_arch = "riscv64"))]
    static dat_kit_copied: u8;
    #[cfg(target_arch = "x86_64")]
    static dat_kit_copied_in_order: u8;
    static __start_dat_kit_faults: Piece;
    static __stop_dat_kit_faults: Piece;
}

#[inline(always)]
fn outcome(fault: usize) -> Result<(), Fault> {
    match NonZeroUsize::new(fault) {
        None => Ok(()),
        Some(address) => Err(Fault { address }),
    }
}

/// As [`super::copy()`].
#[inline(always)]
pub(super) unsafe fn copy(from: *const u8, to: *mut u8, length: usize) -> Result<(), Fault> {
    #[cfg(target_arch = "x86_64")]
    if length.wrapping_sub(32) <= 32 {
        // SAFETY: as for this function.
        return unsafe { copy_32_to_64(from, to, length) };
    }
    // SAFETY: as for this function; a fault is reported.
    outcome(unsafe { dat_kit_copy(to, from, length) })
}

/// As [`copy`], for the most frequent lengths; it calls no function.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn copy_32_to_64(from: *const u8, to: *mut u8, length: usize) -> Result<(), Fault> {
    let fault;
    // SAFETY: as for `copy`; a fault is reported.
    unsafe {
        std::arch::asm!(
            "2:",
            "movdqu {first}, [{from}]",
            "movdqu {second}, [{from} + 16]",
            "movdqu {third}, [{from} + {length} - 32]",
            "movdqu {last}, [{from} + {length} - 16]",
            "movdqu [{to}], {first}",
            "movdqu [{to} + 16], {second}",
            "movdqu [{to} + {length} - 32], {third}",
            "movdqu [{to} + {length} - 16], {last}",
            "3:",
            ".pushsection dat_kit_faults,\"aR\",@progbits",
            ".balign 4",
            ".long 2b - .",
            ".long 3b - .",
            ".long 3b - .",
            ".popsection",
            from = in(reg) from,
            to = in(reg) to,
            length = in(reg) length,
            first = out(xmm_reg) _,
            second = out(xmm_reg) _,
            third = out(xmm_reg) _,
            last = out(xmm_reg) _,
            inout("rax") 0_usize => fault,
            options(nostack, preserves_flags),
        );
    }
    outcome(fault)
}

/// As [`super::copy_in_order`].
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(super) unsafe fn copy_in_order(
    from: *const u8,
    to: *mut u8,
    length: usize,
) -> Result<(), Fault> {
    if length <= 128 {
        // SAFETY: as for this function.
        return unsafe { copy(from, to, length) };
    }
    // SAFETY: as for this function; a fault is reported.
    outcome(unsafe { dat_kit_copy_long_in_order(to, from, length) })
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use super::copy::copy_last_apart as copy_in_order;

/// As [`super::fetch_add`].
pub(super) unsafe fn fetch_add(word: *mut u64, add: u64) -> Result<u64, Fault> {
    let mut before = 0;
    // SAFETY: as for this function; a fault is reported.
    outcome(unsafe { dat_kit_fetch_add(word, add, &raw mut before) }).map(|()| before)
}

/// As [`super::compare_swap`].
pub(super) unsafe fn compare_swap(word: *mut u64, from: u64, to: u64) -> Result<u64, Fault> {
    let mut before = 0;
    // SAFETY: as for this function; a fault is reported.
    outcome(unsafe { dat_kit_compare_swap(word, from, to, &raw mut before) }).map(|()| before)
}

/// True if faults are recognized.
pub(super) const CAN_RECOVER: bool = true;

/// If a copy has faulted, makes it return the fault. Returns true if it has.
///
/// # Safety
/// The kernel has passed both to the handler of a fault, which returns if this returns true.
pub(super) unsafe fn recover(info: &siginfo_t, context: *mut c_void) -> bool {
    // SAFETY: the kernel has passed it, and nothing else refers to it.
    let context = unsafe { &mut *context.cast::<ucontext_t>() };
    let code = Registers::of(context).instruction;
    let next = if let Some(piece) = Piece::all().iter().find(|piece| piece.contains(code)) {
        piece.next()
    } else {
        // SAFETY: as for this function.
        let Some(next) = (unsafe { Registers::leave_memmove(context) }) else { return false };
        next
    };
    // SAFETY: the signal is a fault, which has an address.
    let address = unsafe { info.si_addr() }.addr() as u64;
    Registers { instruction: next, result: address.max(1) }.set(context);
    true
}

fn place(code: *const u8) -> u64 {
    code.addr() as u64
}

/// A range of code: the offsets of its start, its end and the place after it, each relative to its own address.
#[repr(transparent)]
struct Piece([i32; 3]);

impl Piece {
    fn all() -> &'static [Self] {
        let (start, stop) = (&raw const __start_dat_kit_faults, &raw const __stop_dat_kit_faults);
        let count = (stop.addr() - start.addr()) / size_of::<Self>();
        // SAFETY: the section lies between these places, has nothing but such pieces, and is never written.
        unsafe { std::slice::from_raw_parts(start, count) }
    }

    fn place(&self, index: usize) -> u64 {
        let offset = &self.0[index];
        place(ptr::from_ref(offset).cast()).wrapping_add_signed((*offset).into())
    }

    fn contains(&self, code: u64) -> bool {
        (self.place(0)..self.place(1)).contains(&code)
    }

    fn next(&self) -> u64 {
        self.place(2)
    }
}

/// The state with which a thread continues.
struct Registers {
    instruction: u64,
    /// The result of a copy.
    result: u64,
}

#[cfg(target_arch = "x86_64")]
impl Registers {
    fn of(context: &ucontext_t) -> Self {
        let register = |one: libc::c_int| context.uc_mcontext.gregs[one as usize] as u64;
        Self { instruction: register(libc::REG_RIP), result: register(libc::REG_RAX) }
    }

    fn set(&self, context: &mut ucontext_t) {
        let all = &mut context.uc_mcontext.gregs;
        all[libc::REG_RIP as usize] = self.instruction as i64;
        all[libc::REG_RAX as usize] = self.result as i64;
    }

    /// If the thread is in a memmove called by a copy, takes the return address from the stack, and returns the place
    /// where the copy continues.
    ///
    /// # Safety
    /// The context is that of a thread that has faulted.
    unsafe fn leave_memmove(context: &mut ucontext_t) -> Option<u64> {
        /// The code of memmove extends less than this many bytes before and after its entry.
        const REACH: u64 = 4096;
        if (libc::memmove as *const () as u64).abs_diff(Self::of(context).instruction) >= REACH {
            return None;
        }
        let stack = &mut context.uc_mcontext.gregs[libc::REG_RSP as usize];
        let top = ptr::with_exposed_provenance::<u64>(*stack as usize);
        // SAFETY: memmove pushes nothing, so this is the return address.
        let back = unsafe { top.read() };
        let copies = [&raw const dat_kit_copied, &raw const dat_kit_copied_in_order];
        copies.into_iter().find(|copied| place(*copied) == back)?;
        *stack += size_of::<u64>() as i64;
        Some(place(&raw const dat_kit_leave))
    }
}

#[cfg(target_arch = "aarch64")]
impl Registers {
    fn of(context: &ucontext_t) -> Self {
        let all = &context.uc_mcontext;
        Self { instruction: all.pc, result: all.regs[0] }
    }

    fn set(&self, context: &mut ucontext_t) {
        let all = &mut context.uc_mcontext;
        (all.pc, all.regs[0]) = (self.instruction, self.result);
    }

    /// If the thread is in a memmove called by a copy, returns the place where the copy continues.
    ///
    /// # Safety
    /// None is needed.
    unsafe fn leave_memmove(context: &mut ucontext_t) -> Option<u64> {
        let all = &context.uc_mcontext;
        // It has a frame pointer of the copy, and no frame of its own.
        let is_copy = all.regs[30] == place(&raw const dat_kit_copied) && all.regs[29] == all.sp;
        is_copy.then(|| place(&raw const dat_kit_leave))
    }
}

#[cfg(target_arch = "riscv64")]
impl Registers {
    /// The places of the program counter and of the register of a result in the saved registers.
    const PC: usize = 0;
    const A0: usize = 10;

    fn of(context: &ucontext_t) -> Self {
        let all = &context.uc_mcontext.__gregs;
        Self { instruction: all[Self::PC], result: all[Self::A0] }
    }

    fn set(&self, context: &mut ucontext_t) {
        let all = &mut context.uc_mcontext.__gregs;
        (all[Self::PC], all[Self::A0]) = (self.instruction, self.result);
    }

    /// The copies call no memmove.
    ///
    /// # Safety
    /// None is needed.
    unsafe fn leave_memmove(_: &mut ucontext_t) -> Option<u64> {
        None
    }
}
