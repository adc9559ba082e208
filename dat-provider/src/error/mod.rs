//! The one error type: the DAT code, and what a person needs to act on it.

mod codes;
mod plain;
mod return_type;
mod subtype;
mod terms;

pub use return_type::ReturnType;
pub use subtype::Subtype;
pub use terms::Terms;

use std::borrow::Cow;
use std::fmt;

use dat_sync::Process;

use plain::Plain;

/// The result of a DAT call.
pub type Result<T> = std::result::Result<T, Error>;

/// A DAT return code with the call, the object, the cause and the advice.
///
/// An error without detail allocates nothing, so that a consumer that polls a full or empty queue
/// pays only for the return. A `Result<(), Error>` fits into two registers.
///
/// ```
/// use dat_provider::error::{Error, ReturnType, Subtype};
///
/// let error = Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg6)
///     .during("dat_ep_create")
///     .because("max_message_size 9000 exceeds the adapter's 4096")
///     .advise("request at most 4096");
/// assert_eq!(error.code(), 0x8006_002a);
/// assert!(error.to_string().contains("max_message_size"));
/// ```
#[derive(Clone)]
pub struct Error {
    plain: Plain,
    detail: Option<Box<Detail>>,
}

/// The part of an error that needs an allocation.
#[derive(Clone, Default)]
struct Detail {
    /// Empty if the plain part holds it, or if there is none.
    operation: &'static str,
    object: String,
    device: String,
    reason: Cow<'static, str>,
    advice: Cow<'static, str>,
    errno: Option<i32>,
    rule: Option<&'static str>,
}

impl Error {
    /// Creates an error with its DAT code and no detail.
    #[must_use]
    pub const fn new(return_type: ReturnType, subtype: Subtype) -> Self {
        Self { plain: Plain::new(return_type, subtype), detail: None }
    }

    /// The error of a call for whose object or operation the system has no memory.
    #[cold]
    #[must_use]
    pub fn no_memory(what: &'static str) -> Self {
        Self::new(ReturnType::InsufficientResources, Subtype::ResourceMemory)
            .because(format!("the system has no memory for {what}"))
            .advise("free memory of the process, or request less")
    }

    /// A call in the child of a fork on an adapter of its parent, or on an object of that adapter.
    #[cold]
    #[must_use]
    pub fn other_process(owner: Process) -> Self {
        let (owner, here) = (owner.id(), std::process::id());
        Self::new(ReturnType::InvalidState, Subtype::NoSubtype)
            .because(format!(
                "the adapter belongs to process {owner}, from which this process, {here}, was forked"
            ))
            .advise("open the adapter in this process")
    }

    /// Names the call that failed, as its manual page does. The text of the error shows the name
    /// that the program's language has for it; the same holds for names in the reason and the advice.
    #[must_use]
    pub fn during(mut self, operation: &'static str) -> Self {
        if self.detail.is_some() || !self.plain.set_operation(operation) {
            self.detail_mut().operation = operation;
        }
        self
    }

    /// Names the object that the call was made on.
    #[must_use]
    pub fn on(mut self, object: impl fmt::Display) -> Self {
        self.detail_mut().object = object.to_string();
        self
    }

    /// Names the device or adapter below the object.
    #[must_use]
    pub fn device(mut self, device: impl fmt::Display) -> Self {
        self.detail_mut().device = device.to_string();
        self
    }

    /// Gives the reason, with the values that matter.
    #[must_use]
    pub fn because(mut self, reason: impl Into<Cow<'static, str>>) -> Self {
        self.detail_mut().reason = reason.into();
        self
    }

    /// Gives advice; without it the advice of the code is shown.
    #[must_use]
    pub fn advise(mut self, advice: impl Into<Cow<'static, str>>) -> Self {
        self.detail_mut().advice = advice.into();
        self
    }

    /// Records the errno of the system, taken right after the failing call.
    #[must_use]
    pub fn errno(mut self, errno: i32) -> Self {
        self.detail_mut().errno = Some(errno);
        self
    }

    /// Names the rule of the manual pages that the call broke, if a compatibility mode relaxes it.
    #[must_use]
    pub fn breaking(mut self, rule: &'static str) -> Self {
        self.detail_mut().rule = Some(rule);
        self
    }

    /// Replaces the subtype, for a layer above that knows better which argument it was.
    #[must_use]
    pub fn with_subtype(mut self, subtype: Subtype) -> Self {
        self.plain.set_subtype(subtype);
        self
    }

    /// The kind of failure (`DAT_GET_TYPE`).
    #[must_use]
    pub const fn return_type(&self) -> ReturnType {
        self.plain.return_type()
    }

    /// Which handle, argument, state or resource (`DAT_GET_SUBTYPE`).
    #[must_use]
    pub const fn subtype(&self) -> Subtype {
        self.plain.subtype()
    }

    /// The call that failed, by the name of its manual page, or the empty string.
    #[must_use]
    pub fn operation(&self) -> &'static str {
        match &self.detail {
            Some(detail) if !detail.operation.is_empty() => detail.operation,
            _ => self.plain.operation(),
        }
    }

    /// The reason in this case, or the meaning of the code.
    #[must_use]
    pub fn reason(&self) -> &str {
        match &self.detail {
            Some(detail) if !detail.reason.is_empty() => &detail.reason,
            _ if self.subtype() != Subtype::NoSubtype => self.subtype().meaning(),
            _ => self.return_type().meaning(),
        }
    }

    /// The advice.
    #[must_use]
    pub fn advice(&self) -> &str {
        match &self.detail {
            Some(detail) if !detail.advice.is_empty() => &detail.advice,
            _ if self.subtype() != Subtype::NoSubtype => self.subtype().advice(),
            _ => self.return_type().advice(),
        }
    }

    /// The errno of the failure, if the system gave one.
    #[must_use]
    pub fn raw_os_error(&self) -> Option<i32> {
        self.detail.as_ref().and_then(|detail| detail.errno)
    }

    /// The rule that the call broke, if a compatibility mode relaxes it.
    #[must_use]
    pub fn broken_rule(&self) -> Option<&'static str> {
        self.detail.as_ref().and_then(|detail| detail.rule)
    }

    /// The object that the call was made on, or the empty string.
    #[must_use]
    pub fn object(&self) -> &str {
        self.detail.as_ref().map_or("", |detail| &detail.object)
    }

    /// The `DAT_RETURN` value of DAT 2.0: class, type and subtype.
    #[must_use]
    pub const fn code(&self) -> u32 {
        self.return_type().class() | self.plain.code()
    }

    /// Returns true if the error has this return type.
    #[must_use]
    pub fn is(&self, return_type: ReturnType) -> bool {
        self.return_type() == return_type
    }

    fn detail_mut(&mut self) -> &mut Detail {
        self.detail.get_or_insert_with(Box::default)
    }
}

impl PartialEq for Error {
    /// Errors are equal if their codes are equal: the texts are for people.
    fn eq(&self, other: &Self) -> bool {
        self.code() == other.code()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.operation().is_empty() {
            f.write_str(Terms::current().name(self.operation()))?;
            if let Some(detail) = &self.detail {
                if !detail.object.is_empty() {
                    write!(f, " on {}", detail.object)?;
                }
                if !detail.device.is_empty() {
                    write!(f, " of {}", detail.device)?;
                }
            }
            f.write_str(": ")?;
        }
        write!(f, "{}", self.return_type())?;
        if self.subtype() != Subtype::NoSubtype {
            write!(f, " ({})", self.subtype())?;
        }
        f.write_str(": ")?;
        write_clause(f, self.reason())?;
        if let Some(errno) = self.raw_os_error() {
            write!(f, " ({})", std::io::Error::from_raw_os_error(errno))?;
        }
        f.write_str("; ")?;
        write_clause(f, self.advice())
    }
}

/// Writes a sentence of the code tables as a clause: no capital at its start, no full stop.
fn write_clause(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    let text = text.trim_end_matches('.');
    let mut rest = text.chars();
    let (first, second) = (rest.next(), rest.clone().next());
    let terms = Terms::current();
    match (first, second) {
        (Some(first), Some(second))
            if first.is_uppercase() && (second.is_lowercase() || second == ' ') =>
        {
            write!(f, "{}{}", first.to_ascii_lowercase(), terms.text(rest.as_str()))
        }
        _ => f.write_str(&terms.text(text)),
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} [{:#010x}]", self.code())
    }
}

impl std::error::Error for Error {}
