//! Events as text.

use std::fmt;

use super::{Event, EventText};
use crate::id_allocator::DisplayId;
use crate::status::DtoStatus;

/// One line: what happened, to which object, and for a failure what to do about it.
impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("no event"),
            Self::Dto(completion) => match completion.result() {
                Ok(length) => write!(
                    f,
                    "{} with cookie {:#x} on EP {}: {length} bytes",
                    completion.operation,
                    completion.cookie,
                    DisplayId(completion.ep)
                ),
                Err(failure) => write!(f, "EP {}: {failure}", DisplayId(completion.ep)),
            },
            Self::RmrBind(bind) => {
                write!(
                    f,
                    "bind with cookie {:#x} on EP {}: {}",
                    bind.cookie,
                    DisplayId(bind.ep),
                    bind.status
                )?;
                if bind.status != DtoStatus::Success {
                    write!(f, ": {} {}", bind.status.meaning(), bind.status.advice())?;
                }
                Ok(())
            }
            Self::ConnectionRequest(arrival) => {
                write!(f, "connection request for qualifier {}", arrival.qualifier)
            }
            Self::Connection(event) => {
                write!(f, "EP {}: {}", DisplayId(event.ep), Name(self.number()))
            }
            Self::Datagram(event) => {
                write!(f, "EP {}: {}", DisplayId(event.ep), Name(self.number()))
            }
            Self::Async(_) => Name(self.number()).fmt(f),
            Self::Software(value) => write!(f, "software event {value:#x}"),
        }
    }
}

/// The name and the meaning of an event, by its number.
struct Name(u32);

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EventText { name, meaning, .. } = EventText::from_number(self.0);
        write!(f, "{name}: {meaning}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::DtoCompletion;
    use crate::status::Operation;

    #[test]
    fn a_success_shows_its_length_and_a_failure_its_advice() {
        let (ep, cookie, operation) = (3, 16, Operation::Receive);
        let mut completion =
            DtoCompletion { ep, cookie, operation, length: 64, ..Default::default() };
        assert_eq!(
            Event::Dto(completion).to_string(),
            "receive with cookie 0x10 on EP 3: 64 bytes"
        );
        completion.status = DtoStatus::Flushed;
        let text = Event::Dto(completion).to_string();
        assert!(text.starts_with("EP 3: receive with cookie 0x10: "), "{text}");
        assert!(text.ends_with(DtoStatus::Flushed.advice()), "{text}");
        assert_eq!(completion.result().map_err(|failure| failure.status), Err(DtoStatus::Flushed));
    }
}
