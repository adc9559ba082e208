//! The description of one call, as the files have it.

use serde::Deserialize;

/// The description of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
    /// Its name in C.
    pub name: String,
    /// Other calls that the same page describes.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Its effect: one sentence.
    pub summary: String,
    /// The rest of the comment in the header; most calls have none.
    #[serde(default)]
    pub more: String,
    /// The description: paragraphs with empty lines between them.
    pub text: String,
    /// Its arguments in their order.
    #[serde(default)]
    pub args: Vec<Argument>,
    /// The event of the endpoint's state machine that the call is, by its name in dat-core.
    pub state_event: Option<String>,
    /// Conditions that the states do not express.
    #[serde(default)]
    pub states: String,
    /// The events that follow, with the circumstances.
    #[serde(default)]
    events: Vec<(String, String)>,
    /// The codes that no rule of [`Call::codes`] adds, with their causes.
    #[serde(default)]
    pub(crate) codes: Vec<(String, String)>,
    /// The result, for a call that returns no `DAT_RETURN`.
    #[serde(default)]
    pub returns: String,
    /// The rules for threads.
    #[serde(default)]
    pub threads: Threads,
    /// How long the call may take, if it is not short.
    #[serde(default)]
    pub blocking: String,
    /// C code that compiles in the surroundings that tests/examples.c gives it.
    #[serde(default)]
    pub example: String,
    /// Other pages; those of section 3 without their section.
    #[serde(default)]
    pub see: Vec<String>,
    /// The header, if it is not `udat.h`; `none` if there is none.
    #[serde(default = "udat")]
    pub header: String,
    /// The prototype of DAT 1.2, where the headers have none.
    pub(crate) synopsis1: Option<String>,
    /// The prototype of DAT 2.0, where the headers have none or a macro.
    pub(crate) synopsis2: Option<String>,
}

fn udat() -> String {
    "udat.h".to_owned()
}

/// An argument of a call.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "(String, Direction, String)")]
pub struct Argument {
    /// Its name in the prototype.
    pub name: String,
    /// The direction, input or output, and whether it may be NULL.
    pub direction: Direction,
    /// Its description.
    pub text: String,
}

impl From<(String, Direction, String)> for Argument {
    fn from((name, direction, text): (String, Direction, String)) -> Self {
        Self { name, direction, text }
    }
}

/// The direction of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A value, or a mandatory handle.
    In,
    /// The address of an input, not NULL.
    Ptr,
    /// An input that may be NULL or `DAT_HANDLE_NULL`.
    Null,
    /// The address of an output, not NULL.
    Out,
    /// The address of an output that may be NULL.
    OutNull,
    /// The address of what is both, not NULL.
    InOut,
    /// As `Out`, of a macro: its codes are listed by hand.
    Result,
    /// As `OutNull`, of a macro.
    ResultNull,
}

impl Direction {
    /// How a page describes it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::In => "input",
            Self::Ptr => "input, not NULL",
            Self::Null => "input, may be NULL",
            Self::Out | Self::Result => "output, not NULL",
            Self::OutNull | Self::ResultNull => "output, may be NULL",
            Self::InOut => "input and output, not NULL",
        }
    }

    /// Returns true if NULL is allowed.
    #[must_use]
    pub const fn may_be_null(self) -> bool {
        matches!(self, Self::Null | Self::OutNull | Self::ResultNull)
    }

    /// Returns true if NULL is answered by an invalid parameter.
    pub(crate) const fn is_checked(self) -> bool {
        matches!(self, Self::Ptr | Self::Out | Self::InOut)
    }
}

/// The rules for threads that make a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Threads {
    /// Any thread may call; calls on one object take turns.
    #[default]
    Control,
    /// Any thread may call, and the call takes a fraction of a microsecond.
    Data,
    /// The call waits, and is a cancellation point.
    Wait,
}

impl Threads {
    /// The paragraph on a page.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Control => {
                "Any thread can make the call at any time, with the same objects as other threads. \
                 The call is not a cancellation point and must not be made in a signal handler."
            }
            Self::Data => {
                "Any thread can make the call at any time, with the same objects as other threads. \
                 The call is on the data path: it never sleeps or allocates when it succeeds. It \
                 is not a cancellation point and must not be made in a signal handler."
            }
            Self::Wait => {
                "Any thread can make the call. It is a cancellation point (`pthreads`(7)): a \
                 thread that is cancelled in it abandons the wait, and no event is lost. It must \
                 not be made in a signal handler."
            }
        }
    }
}

impl Call {
    /// Its name and those of the calls that share its page.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.name).chain(&self.aliases).map(String::as_str)
    }

    /// The events that follow: name and circumstances.
    pub fn events(&self) -> impl Iterator<Item = (&str, &str)> {
        self.events.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    /// The header that programs include for a version of the API, without its folder.
    #[must_use]
    pub fn is_declared(&self) -> bool {
        self.header != "none"
    }

    /// The comment in the C headers: what the call does, and which of the arguments that a version
    /// has may be NULL.
    #[must_use]
    pub fn comment(&self, has: impl Fn(&str) -> bool) -> String {
        let mut comment = format!("{} See {}(3).", self.summary, self.name);
        if !self.more.is_empty() {
            comment = format!("{} {}", self.summary, self.more.trim().replace('\n', " "));
        }
        let optional: Vec<&str> = self
            .args
            .iter()
            .filter(|argument| argument.direction.may_be_null() && has(&argument.name))
            .map(|argument| argument.name.as_str())
            .collect();
        match optional.as_slice() {
            [] => {}
            [one] => comment += &format!(" {one} may be NULL."),
            [others @ .., last] => {
                comment += &format!(" {} and {last} may be NULL.", others.join(", "));
            }
        }
        comment
    }
}

/// A file of calls.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    call: Vec<Call>,
}

/// Parses a file.
pub(crate) fn parse(text: &str) -> Result<Vec<Call>, toml::de::Error> {
    toml::from_str::<File>(text).map(|file| file.call)
}
