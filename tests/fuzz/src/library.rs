//! A C library, opened by its path.

use std::path::Path;
use std::sync::atomic::Ordering;

use crate::argument::Layout;
use crate::function::{BOTH, Call, Function, MOST, ONE, TWO};
use fastrand::Rng;

pub(crate) struct Library {
    pub(crate) functions: Vec<Function>,
    pub(crate) layout: Layout,
    /// Keeps the functions loaded.
    _library: libloading::Library,
}

/// Any function of the API: each argument is one word in a general register or on the stack, and
/// superfluous ones do no harm.
type AnyFunction = unsafe extern "C-unwind" fn(
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
    u64,
) -> u32;

impl Library {
    pub(crate) fn open(path: &Path) -> Result<Self, libloading::Error> {
        // SAFETY: the library's constructors do nothing that matters here.
        let library = unsafe { libloading::Library::new(path) }?;
        let look_up = |name: &str| {
            // SAFETY: a function by the table; it is called through the right type later.
            let found = unsafe { library.get::<unsafe extern "C-unwind" fn()>(name.as_bytes()) };
            found.map(|it| *it)
        };
        // Only DAT 2.0 has extended operations.
        let is_two = look_up("dat_extension_op").is_ok();
        let (layout, own) = if is_two { (Layout::Two, TWO) } else { (Layout::One, ONE) };
        let functions = BOTH
            .iter()
            .chain(own)
            .map(|(name, words)| Ok(Function::new(name, look_up(name)?, layout, words)))
            .collect::<Result<_, libloading::Error>>()?;
        Ok(Self { functions, layout, _library: library })
    }

    /// Chooses a function to call, by weight.
    pub(crate) fn choose(&self, random: &mut Rng) -> &Function {
        let total: u64 = self.functions.iter().map(|it| it.weight).sum();
        let mut at = random.u64(..total);
        for function in &self.functions {
            if at < function.weight {
                return function;
            }
            at -= function.weight;
        }
        &self.functions[0]
    }

    /// Makes a call.
    pub(crate) fn call(&self, function: &Function, call: &Call) -> u32 {
        let mut words = [0; MOST];
        words[..call.arguments().len()].copy_from_slice(call.arguments());
        // SAFETY: the library must survive any arguments: that is what is tested here.
        let run = unsafe {
            std::mem::transmute::<unsafe extern "C-unwind" fn(), AnyFunction>(function.address)
        };
        let [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = words;
        // SAFETY: the library must survive any arguments: that is what is tested here.
        let answer = unsafe { run(a, b, c, d, e, f, g, h, i, j, k, l, m, n) };
        function.calls.fetch_add(1, Ordering::Relaxed);
        if answer == 0 {
            function.done.fetch_add(1, Ordering::Relaxed);
        }
        answer
    }

    /// The address of a function.
    pub(crate) fn address(&self, name: &str) -> Option<unsafe extern "C-unwind" fn()> {
        Some(self.functions.iter().find(|it| it.name == name)?.address)
    }

    /// Makes a call of a function by its name.
    pub(crate) fn call_by_name(&self, name: &str, words: &[u64]) -> u32 {
        let function = self.functions.iter().find(|it| it.name == name);
        function.map_or(u32::MAX, |function| self.call(function, &Call::of(words.to_vec())))
    }

    /// Closes every adapter that is still open, so that memory that remains is a leak.
    pub(crate) fn close_all(&self) {
        for number in 1..=100_000 {
            if self.call_by_name("dat_ia_close", &[number, 0]) != 0 {
                break;
            }
        }
    }
}
