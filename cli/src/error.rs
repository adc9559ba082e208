//! A failure of the command: a DAT error, event or completion in one form.

use std::time::Duration;

use dat_core::{
    AsyncErrorKind, ConnectionEvent, ConnectionEventKind, DtoStatus, Error, EventText, Failure,
    ReturnType, Subtype,
};
use serde::Serialize;

use crate::output::{Output, Paint, clean};
use crate::units;

/// A failure with its code, the reason and the advice.
#[derive(Clone, Debug, Serialize, thiserror::Error)]
#[error("{}", self.text())]
pub(crate) struct CliError {
    /// The name of the DAT code; empty if data is wrong, which has no code.
    pub(crate) code: String,
    /// The numeric value of the code.
    pub(crate) number: Option<String>,
    /// The call and its object if a call failed, or else what was being done.
    pub(crate) call: String,
    /// Why it failed.
    pub(crate) reason: String,
    /// The advice.
    pub(crate) advice: String,
}

impl CliError {
    /// Data that differs from what was sent.
    pub(crate) fn data(reason: String) -> Self {
        Self {
            code: String::new(),
            number: None,
            call: String::new(),
            reason,
            advice: "the adapter reported success but corrupted the data: do not use it".to_owned(),
        }
    }

    /// A violation of the specification.
    pub(crate) fn unexpected(reason: String) -> Self {
        Self {
            advice: "the provider violates a DAT rule: report a bug with this text".to_owned(),
            ..Self::data(reason)
        }
    }

    /// An adapter that reaches no other process.
    pub(crate) fn unreachable(name: &str) -> Self {
        let error = Error::new(ReturnType::ModelNotSupported, Subtype::NoSubtype)
            .because(format!("{name:?} connects endpoints of one process only"))
            .advise("use an adapter that leaves the process, such as tcp-lo: see `dat list`");
        error.into()
    }

    /// An event that did not arrive in time.
    pub(crate) fn timed_out(what: &str, timeout: Duration) -> Self {
        let error = Error::new(ReturnType::TimeoutExpired, Subtype::NoSubtype)
            .because(format!("no {what} within {}", units::time(timeout)))
            .advise("use a longer --timeout, or check the link and the remote side");
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

    /// Adds the transport's own error of the first failed operation, if there is one.
    pub(crate) fn caused_by(mut self, failure: Option<Failure>) -> Self {
        if let Some(Failure { operation, cause, .. }) = failure {
            if !self.is_data() && !cause.is_empty() {
                let reason = self.reason.trim_end_matches('.');
                self.reason = format!(
                    "{reason}; the transport reports for the {operation}: \
                     {cause}"
                );
            }
        }
        self
    }

    /// A connection that ended, or was not established.
    pub(crate) fn connection(event: &ConnectionEvent) -> Self {
        let mut error = Self::event(event.kind.number());
        if let Some(text) = event.cause.text() {
            error.advice = text.into_owned();
        }
        error
    }

    /// The peer ended the connection, or it broke.
    pub(crate) fn disconnected() -> Self {
        Self::event(ConnectionEventKind::Disconnected.number())
    }

    /// An asynchronous error.
    pub(crate) fn asynchronous(kind: AsyncErrorKind) -> Self {
        Self::event(kind.number())
    }

    fn event(number: u32) -> Self {
        let &EventText { number, name, meaning, advice } = EventText::from_number(number);
        Self {
            code: name.to_owned(),
            number: Some(format!("{number:#07x}")),
            call: String::new(),
            reason: meaning.to_owned(),
            advice: advice.to_owned(),
        }
    }

    /// The failure, with what was being done unless a call is named.
    #[must_use]
    pub(crate) fn during(mut self, what: String) -> Self {
        if self.call.is_empty() {
            self.call = what;
        }
        self
    }

    /// Returns true if only the data was wrong, so that the connection is still usable.
    pub(crate) fn is_data(&self) -> bool {
        self.code.is_empty()
    }

    /// The whole failure in one line.
    fn text(&self) -> String {
        let mut parts = vec![self.call.as_str(), self.code.as_str(), self.reason.as_str()];
        parts.retain(|part| !part.is_empty());
        // The texts of events are sentences, those of calls are clauses.
        let end = if self.reason.ends_with('.') { "" } else { ";" };
        format!("{}{end} {}", parts.join(": "), self.advice)
    }

    /// Prints the failure, indented.
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

impl From<Error> for CliError {
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
        let error = || CliError::completion("send", status);
        let plain = error().reason;
        assert_eq!(error().caused_by(None).reason, plain);
        assert_eq!(error().caused_by(failure("")).reason, plain);
        let text = error().caused_by(failure("error 12")).reason;
        assert!(text.ends_with("; the transport reports for the send: error 12"), "{text}");
        let data = CliError::data("a byte differs".to_owned());
        assert_eq!(data.caused_by(failure("error 12")).reason, "a byte differs");
    }
}
