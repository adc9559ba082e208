//! Why something failed: what a DAT error, event or completion says, in one form.

use std::time::Duration;

use dat_core::{
    AsyncErrorKind, ConnectionEventKind, DtoStatus, Error, EventWords, Failure, ReturnType, Subtype,
};
use serde::Serialize;

use crate::output::{Output, Paint, clean};
use crate::units;

/// A failure with its code, the reason and what to do.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Fault {
    /// The name of the DAT code; empty where data is wrong, which has none.
    pub(crate) code: String,
    /// The number of the code.
    pub(crate) number: Option<String>,
    /// The call and its object, where the code is the return of a call.
    pub(crate) call: String,
    /// Why it failed.
    pub(crate) reason: String,
    /// What to do about it.
    pub(crate) advice: String,
}

impl Fault {
    /// Data that is not what was sent.
    pub(crate) fn data(reason: String) -> Self {
        Self {
            code: String::new(),
            number: None,
            call: String::new(),
            reason,
            advice: "the adapter reports success for data that it damaged: don't use it".to_owned(),
        }
    }

    /// Something that the standard does not let happen.
    pub(crate) fn unexpected(reason: String) -> Self {
        Self {
            advice: "the provider breaks a rule of DAT: report it with this text".to_owned(),
            ..Self::data(reason)
        }
    }

    /// An event that did not come.
    pub(crate) fn timed_out(what: &str, patience: Duration) -> Self {
        let error = Error::new(ReturnType::TimeoutExpired, Subtype::NoSubtype)
            .because(format!("no {what} within {}", units::time(patience)))
            .advise("give it longer with --timeout, or look at the link and the remote side");
        error.into()
    }

    /// An operation that completed in error.
    pub(crate) fn completion(what: &str, status: DtoStatus) -> Self {
        Self {
            code: status.to_string(),
            number: Some(status.value().to_string()),
            call: String::new(),
            reason: format!("the {what} completed in error. {}", status.meaning()),
            advice: status.advice().to_owned(),
        }
    }

    /// With what the transport says of the first operation that failed, if it says anything.
    pub(crate) fn caused_by(mut self, failure: Option<Failure>) -> Self {
        if let Some(Failure { operation, cause, .. }) = failure {
            if !self.is_data() && !cause.is_empty() {
                let reason = self.reason.trim_end_matches('.');
                self.reason = format!("{reason}; the transport says of the {operation}: {cause}");
            }
        }
        self
    }

    /// A connection that came to an end, or did not come about.
    pub(crate) fn connection(kind: ConnectionEventKind) -> Self {
        Self::event(kind.number())
    }

    /// Something that happened to the adapter outside any call.
    pub(crate) fn asynchronous(kind: AsyncErrorKind) -> Self {
        Self::event(kind.number())
    }

    fn event(number: u32) -> Self {
        let &EventWords { number, name, meaning, advice } = EventWords::of(number);
        Self {
            code: name.to_owned(),
            number: Some(format!("{number:#07x}")),
            call: String::new(),
            reason: meaning.to_owned(),
            advice: advice.to_owned(),
        }
    }

    /// Whether only the data was wrong, so that the connection still stands.
    pub(crate) fn is_data(&self) -> bool {
        self.code.is_empty()
    }

    /// All of it in one line.
    pub(crate) fn text(&self) -> String {
        let mut parts = vec![self.call.as_str(), self.code.as_str(), self.reason.as_str()];
        parts.retain(|part| !part.is_empty());
        format!("{}; {}", parts.join(": "), self.advice)
    }

    /// Prints the failure, behind a margin.
    pub(crate) fn print(&self, margin: &str, output: &mut Output) {
        let call = if self.call.is_empty() { String::new() } else { format!(", {}", self.call) };
        if let Some(number) = &self.number {
            let code = clean(&format!("{} ({number}){call}", self.code));
            output.line(format!("{margin}{}", output.paint(Paint::Bad, code)));
        }
        output.line(format!("{margin}{}", clean(&self.reason)));
        output.line(format!("{margin}-> {}", clean(&self.advice)));
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let code = match error.subtype() {
            Subtype::NoSubtype => error.return_type().to_string(),
            subtype => format!("{} {subtype}", error.return_type()),
        };
        let call = match error.object() {
            "" => error.operation().to_owned(),
            object => format!("{} on {object}", error.operation()),
        };
        let reason = error.reason().trim_end_matches('.');
        let reason = match error.raw_os_error() {
            Some(errno) => format!("{reason} ({})", std::io::Error::from_raw_os_error(errno)),
            None => reason.to_owned(),
        };
        Self {
            code,
            number: Some(format!("{:#010x}", error.code())),
            call,
            reason,
            advice: error.advice().trim_end_matches('.').to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use dat_core::Operation;

    use super::*;

    #[test]
    fn what_the_transport_says_is_added_where_it_says_anything() {
        let status = DtoStatus::Transport;
        let failure = |cause: &str| {
            let (operation, cause) = (Operation::Send, cause.to_owned());
            Some(Failure { operation, cookie: 1, status, cause })
        };
        let fault = || Fault::completion("send", status);
        let plain = fault().reason;
        assert_eq!(fault().caused_by(None).reason, plain);
        assert_eq!(fault().caused_by(failure("")).reason, plain);
        let told = fault().caused_by(failure("error 12")).reason;
        assert!(told.ends_with("; the transport says of the send: error 12"), "{told}");
        let data = Fault::data("a byte differs".to_owned());
        assert_eq!(data.caused_by(failure("error 12")).reason, "a byte differs");
    }
}
