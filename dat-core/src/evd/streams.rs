//! Which completion streams feed an event dispatcher, and whether they may share it
//! (USAGE of dat_ep_create(3DAT) and dat_ep_create_with_srq(3DAT)).

use std::collections::BTreeMap;

use crate::compat::{Compat, Rule};
use crate::flags::{CompletionFlags, EvdFlags};
use crate::id_allocator::DisplayId;

/// A completion stream of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Receive,
    Request,
}

/// Which side decides whether a completion of a stream notifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// The waiter, by its threshold: every completion counts. The default.
    #[default]
    Threshold,
    /// The poster, by the flags of each post.
    Unsignalled,
    /// The sender on the other side.
    Solicited,
}

impl Mode {
    /// The mode that the completion flags of an endpoint select on a dispatcher; the flags were
    /// checked before. With a lenient adapter the waiter decides if other kinds of events may
    /// arrive, because these have no flags.
    pub(super) fn of(flags: CompletionFlags, evd: EvdFlags, compat: Compat) -> Self {
        let is_merged = !(evd - EvdFlags::COMPLETIONS).is_empty();
        if is_merged && compat.relaxes(Rule::MixedFlags) {
            Self::Threshold
        } else if flags.contains(CompletionFlags::UNSIGNALLED) {
            Self::Unsignalled
        } else if flags.contains(CompletionFlags::SOLICITED_WAIT) {
            Self::Solicited
        } else {
            Self::Threshold
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Threshold => "DAT_COMPLETION_EVD_THRESHOLD_FLAG (or the default)",
            Self::Unsignalled => "DAT_COMPLETION_UNSIGNALLED_FLAG",
            Self::Solicited => "DAT_COMPLETION_SOLICITED_WAIT_FLAG",
        }
    }
}

/// The streams that feed one dispatcher; all have the same mode unless the adapter is lenient.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// By endpoint: the modes of its receives and of its requests, if they feed this dispatcher.
    feeds: BTreeMap<u64, [Option<Mode>; 2]>,
    /// Number of streams in each mode, so that adding an endpoint need not visit all.
    count: [usize; 3],
}

impl Streams {
    /// The common mode of all streams. If they differ, the waiter decides, as by default.
    pub(super) fn mode(&self) -> Mode {
        let modes = [Mode::Threshold, Mode::Unsignalled, Mode::Solicited];
        let mut used = modes.into_iter().filter(|mode| self.count[*mode as usize] > 0);
        match (used.next(), used.next()) {
            (Some(only), None) => only,
            _ => Mode::default(),
        }
    }

    /// Adds a stream of an endpoint or changes its mode, if it agrees with the other streams or
    /// need not do so.
    pub(super) fn admit(
        &mut self,
        key: (u64, Stream),
        flags: CompletionFlags,
        evd: EvdFlags,
        compat: Compat,
    ) -> Result<(), String> {
        let mode = Mode::of(flags, evd, compat);
        if compat.relaxes(Rule::MixedFlags) {
            self.set(key, Some(mode));
            return Ok(());
        }
        let other_streams = evd - EvdFlags::COMPLETIONS;
        if mode != Mode::Threshold && !other_streams.is_empty() {
            return Err(format!(
                "{} is not possible on a dispatcher that also receives {other_streams}",
                mode.name()
            ));
        }
        if let Some((ep, other)) = self.opponent(key.0, mode) {
            return Err(format!(
                "{} conflicts with {} of EP {} on the same dispatcher",
                mode.name(),
                other.name(),
                DisplayId(ep)
            ));
        }
        self.set(key, Some(mode));
        Ok(())
    }

    /// A stream with another mode, and its endpoint. The two streams of one endpoint are not
    /// compared, because the endpoint checks them itself: both may change at once.
    fn opponent(&self, ep: u64, mode: Mode) -> Option<(u64, Mode)> {
        let differs = |other: &&Mode| **other != mode;
        let all = self.count.iter().sum::<usize>() - self.count[mode as usize];
        let own = self.feeds.get(&ep).map_or(0, |own| own.iter().flatten().filter(differs).count());
        if all == own {
            return None;
        }
        let others = self.feeds.iter().filter(|(other, _)| **other != ep);
        let mut found = others.filter_map(|(other, modes)| {
            modes.iter().flatten().find(differs).map(|mode| (*other, *mode))
        });
        found.next()
    }

    /// Sets the mode of a stream, or ends it.
    pub(super) fn set(&mut self, (ep, stream): (u64, Stream), mode: Option<Mode>) {
        let modes = self.feeds.entry(ep).or_default();
        if let Some(before) = std::mem::replace(&mut modes[stream as usize], mode) {
            self.count[before as usize] -= 1;
        }
        if let Some(mode) = mode {
            self.count[mode as usize] += 1;
        }
        if *modes == [None; 2] {
            self.feeds.remove(&ep);
        }
    }

    pub(super) fn remove(&mut self, key: (u64, Stream)) {
        self.set(key, None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DTO: EvdFlags = EvdFlags::DTO;

    fn admit(streams: &mut Streams, ep: u64, stream: Stream, flags: CompletionFlags) -> bool {
        streams.admit((ep, stream), flags, DTO, Compat::STRICT).is_ok()
    }

    /// Adds receives by the rules of the manual page.
    fn strictly(
        streams: &mut Streams,
        ep: u64,
        flags: CompletionFlags,
        evd: EvdFlags,
    ) -> Result<(), String> {
        streams.admit((ep, Stream::Receive), flags, evd, Compat::STRICT)
    }

    #[test]
    fn a_lenient_adapter_leaves_mixed_streams_to_the_waiter() {
        let (unsignalled, merged) = (CompletionFlags::UNSIGNALLED, DTO | EvdFlags::CONNECTION);
        let mut streams = Streams::default();
        let mut admit = |ep, flags, evd| {
            let key = (ep, Stream::Request);
            streams.admit(key, flags, evd, Compat::OFA).expect("any flags");
            streams.mode()
        };
        assert_eq!(admit(1, unsignalled, DTO), Mode::Unsignalled);
        assert_eq!(admit(2, CompletionFlags::empty(), DTO), Mode::Threshold);
        assert_eq!(admit(2, unsignalled, DTO), Mode::Unsignalled);
        let mut streams = Streams::default();
        let key = (1, Stream::Receive);
        streams.admit(key, unsignalled, merged, Compat::OFA).expect("any flags");
        assert_eq!(streams.mode(), Mode::Threshold);
    }

    #[test]
    fn all_streams_of_a_dispatcher_have_one_mode() {
        let mut streams = Streams::default();
        assert!(admit(&mut streams, 1, Stream::Receive, CompletionFlags::UNSIGNALLED));
        assert!(admit(&mut streams, 1, Stream::Request, CompletionFlags::UNSIGNALLED));
        assert!(!admit(&mut streams, 2, Stream::Receive, CompletionFlags::empty()));
        assert!(!admit(&mut streams, 2, Stream::Request, CompletionFlags::empty()));
        assert!(!admit(&mut streams, 2, Stream::Receive, CompletionFlags::SOLICITED_WAIT));
        assert_eq!(streams.mode(), Mode::Unsignalled);
    }

    #[test]
    fn the_default_is_the_threshold() {
        let mut streams = Streams::default();
        assert!(admit(&mut streams, 1, Stream::Receive, CompletionFlags::empty()));
        assert!(admit(&mut streams, 2, Stream::Receive, CompletionFlags::EVD_THRESHOLD));
        assert_eq!(streams.mode(), Mode::Threshold);
    }

    #[test]
    fn a_stream_may_change_its_own_mode() {
        let mut streams = Streams::default();
        assert!(admit(&mut streams, 1, Stream::Receive, CompletionFlags::empty()));
        assert!(admit(&mut streams, 1, Stream::Receive, CompletionFlags::SOLICITED_WAIT));
        assert_eq!(streams.mode(), Mode::Solicited);
        streams.remove((1, Stream::Receive));
        assert_eq!(streams.mode(), Mode::Threshold);
    }

    #[test]
    fn the_two_streams_of_an_endpoint_may_differ_while_it_is_changed_and_others_may_not() {
        let mut streams = Streams::default();
        let threshold = CompletionFlags::empty();
        assert!(admit(&mut streams, 1, Stream::Receive, threshold));
        assert!(admit(&mut streams, 1, Stream::Request, threshold));
        assert!(admit(&mut streams, 1, Stream::Request, CompletionFlags::UNSIGNALLED));
        let refused = strictly(&mut streams, 2, CompletionFlags::UNSIGNALLED, DTO);
        assert!(refused.is_err_and(|reason| reason.contains("of EP 1 ")));
        assert!(admit(&mut streams, 1, Stream::Receive, CompletionFlags::UNSIGNALLED));
        assert!(admit(&mut streams, 2, Stream::Receive, CompletionFlags::UNSIGNALLED));
        assert!(!admit(&mut streams, 1, Stream::Receive, threshold), "EP 2 is there too");
        for stream in [Stream::Receive, Stream::Request] {
            streams.remove((1, stream));
            streams.remove((2, stream));
        }
        assert!(admit(&mut streams, 3, Stream::Receive, threshold), "all others have ended");
    }

    #[test]
    fn with_other_kinds_of_streams_only_the_threshold_is_possible() {
        let mut streams = Streams::default();
        let merged = EvdFlags::DTO | EvdFlags::CONNECTION;
        for flags in [CompletionFlags::UNSIGNALLED, CompletionFlags::SOLICITED_WAIT] {
            assert!(strictly(&mut streams, 1, flags, merged).is_err());
        }
        for flags in [CompletionFlags::empty(), CompletionFlags::EVD_THRESHOLD] {
            assert!(strictly(&mut streams, 1, flags, merged).is_ok());
        }
    }
}
