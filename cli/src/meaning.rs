//! What the codes of completions and events mean.

use dat_core::{DtoStatus, EventWords};

/// A code of a completion or an event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The value in the C headers.
    pub(crate) number: u32,
    /// The name in the C headers.
    pub(crate) name: &'static str,
    /// What it says.
    pub(crate) meaning: &'static str,
    /// What to do about it.
    pub(crate) advice: &'static str,
}

const fn known(
    number: u32,
    name: &'static str,
    meaning: &'static str,
    advice: &'static str,
) -> Known {
    Known { number, name, meaning, advice }
}

/// Every status of a completion (`DAT_DTO_COMPLETION_STATUS`).
pub(crate) fn statuses() -> impl Iterator<Item = Known> {
    DtoStatus::all().map(|status| {
        let name = status.name().unwrap_or_default();
        known(status.value(), name, status.meaning(), status.advice())
    })
}

const UNKNOWN: Known =
    known(0, "", "No document names the code.", "Look into the documents of the provider.");

/// Every number of an event (`DAT_EVENT_NUMBER`).
pub(crate) fn events() -> impl Iterator<Item = Known> {
    EventWords::ALL.iter().map(of_words)
}

const fn of_words(words: &EventWords) -> Known {
    let &EventWords { number, name, meaning, advice } = words;
    known(number, name, meaning, advice)
}

/// What the number of an event means.
pub(crate) fn of_event(number: u32) -> Known {
    EventWords::of(number).map_or(UNKNOWN, of_words)
}

#[cfg(test)]
mod tests {
    use dat_core::ConnectionEventKind;

    use super::*;

    #[test]
    fn every_code_of_the_library_is_known_by_its_name() {
        for kind in ConnectionEventKind::ALL {
            assert_eq!(of_event(kind.number()).name, kind.name());
        }
    }
}
