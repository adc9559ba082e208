//! Which completion streams feed an event dispatcher, and whether they go together
//! (USAGE of dat_ep_create(3DAT) and dat_ep_create_with_srq(3DAT)).

use std::collections::BTreeMap;

use super::EvdInner;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::flags::{CompletionFlags, EvdFlags};
use crate::lifecycle::Hold;

/// A completion stream of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Receive,
    Request,
}

/// Who decides whether a completion of a stream notifies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    /// The threshold of the wait: every completion counts. The default.
    #[default]
    Threshold,
    /// The post itself.
    Unsignalled,
    /// The sender on the other side.
    Solicited,
}

impl Mode {
    /// The mode that the completion flags of an endpoint ask for; they were checked before.
    fn of(flags: CompletionFlags) -> Self {
        if flags.contains(CompletionFlags::UNSIGNALLED) {
            Self::Unsignalled
        } else if flags.contains(CompletionFlags::SOLICITED_WAIT) {
            Self::Solicited
        } else {
            Self::Threshold
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Threshold => "DAT_COMPLETION_EVD_THRESHOLD_FLAG (or the default)",
            Self::Unsignalled => "DAT_COMPLETION_UNSIGNALLED_FLAG",
            Self::Solicited => "DAT_COMPLETION_SOLICITED_WAIT_FLAG",
        }
    }
}

/// The streams that feed one dispatcher; all have the same mode.
#[derive(Debug, Default)]
pub(super) struct Streams {
    /// By endpoint: the modes of its receives and of its requests, as far as they come here.
    feeds: BTreeMap<u64, [Option<Mode>; 2]>,
    /// How many streams have each mode, so that another endpoint need not ask all.
    count: [usize; 3],
}

impl Streams {
    /// The mode that all streams have.
    pub(super) fn mode(&self) -> Mode {
        let first = self.feeds.values().next();
        first.and_then(|modes| modes.iter().flatten().next()).copied().unwrap_or_default()
    }

    /// Adds a stream of an endpoint, or gives it another mode, if it goes with the others.
    fn admit(
        &mut self,
        key: (u64, Stream),
        flags: CompletionFlags,
        evd: EvdFlags,
    ) -> std::result::Result<(), String> {
        let mode = Mode::of(flags);
        let other_streams = evd - EvdFlags::COMPLETIONS;
        if mode != Mode::Threshold && !other_streams.is_empty() {
            return Err(format!(
                "{} is not possible on a dispatcher that {other_streams:?} may feed too",
                mode.name()
            ));
        }
        if let Some((ep, other)) = self.opponent(key.0, mode) {
            return Err(format!(
                "{} does not go with {} of EP {ep} on the same dispatcher",
                mode.name(),
                other.name()
            ));
        }
        self.set(key, Some(mode));
        Ok(())
    }

    /// A stream that has another mode, and the endpoint that it is of. How the two streams of one
    /// endpoint go together is the endpoint's own matter: both may change at once.
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

    /// The stream has that mode from now on, or ended.
    fn set(&mut self, (ep, stream): (u64, Stream), mode: Option<Mode>) {
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

    fn remove(&mut self, key: (u64, Stream)) {
        self.set(key, None);
    }
}

/// The completion streams of an endpoint, each with the dispatcher that it feeds. They end when
/// this is dropped.
pub(crate) struct Feeds {
    ep: u64,
    evds: [Option<Hold<EvdInner>>; 2],
}

impl Feeds {
    /// No stream yet, of the endpoint of that number.
    pub(crate) fn new(ep: u64) -> Self {
        Self { ep, evds: [None, None] }
    }

    /// The dispatcher of a stream.
    pub(crate) fn evd(&self, stream: Stream) -> Option<&Hold<EvdInner>> {
        self.evds[stream as usize].as_ref()
    }

    /// Lets a stream feed a dispatcher, the receives first.
    pub(crate) fn begin(
        &mut self,
        stream: Stream,
        evd: Option<Hold<EvdInner>>,
        flags: CompletionFlags,
    ) -> Result<()> {
        let Some(evd) = evd else { return Ok(()) };
        let admitted = evd.streams.lock().admit((self.ep, stream), flags, evd.flags());
        admitted.map_err(|reason| {
            let name = match stream {
                Stream::Receive => "recv_completion_flags",
                Stream::Request => "request_completion_flags",
            };
            Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg6)
                .because(format!("{name}: {reason} ({})", evd.base.label()))
                .advise("use another dispatcher, or the flags of the streams that feed this one")
        })?;
        evd.refresh_notify();
        self.evds[stream as usize] = Some(evd);
        Ok(())
    }

    /// Whether the two streams of an endpoint go together on the same dispatcher.
    pub(crate) fn check_pair(receive: CompletionFlags, request: CompletionFlags) -> Result<()> {
        let (receive, request) = (Mode::of(receive), Mode::of(request));
        if receive == request {
            return Ok(());
        }
        Err(Error::new(ReturnType::InvalidParameter, Subtype::InvalidArg6)
            .because(format!(
                "request_completion_flags: {} does not go with {} of the receives on the same \
                 dispatcher",
                request.name(),
                receive.name()
            ))
            .advise("use another dispatcher for the requests, or the same flags"))
    }

    /// Enters the streams again after others of the same endpoint have ended.
    pub(crate) fn renew(&self, receives: CompletionFlags, requests: CompletionFlags) {
        for (stream, flags) in [(Stream::Receive, receives), (Stream::Request, requests)] {
            if let Some(evd) = self.evd(stream) {
                evd.streams.lock().set((self.ep, stream), Some(Mode::of(flags)));
                evd.refresh_notify();
            }
        }
    }
}

impl Drop for Feeds {
    fn drop(&mut self) {
        for stream in [Stream::Receive, Stream::Request] {
            if let Some(evd) = self.evd(stream) {
                evd.streams.lock().remove((self.ep, stream));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DTO: EvdFlags = EvdFlags::DTO;

    fn admit(streams: &mut Streams, ep: u64, stream: Stream, flags: CompletionFlags) -> bool {
        streams.admit((ep, stream), flags, DTO).is_ok()
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
        let refused = streams.admit((2, Stream::Receive), CompletionFlags::UNSIGNALLED, DTO);
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
            assert!(streams.admit((1, Stream::Receive), flags, merged).is_err());
        }
        for flags in [CompletionFlags::empty(), CompletionFlags::EVD_THRESHOLD] {
            assert!(streams.admit((1, Stream::Receive), flags, merged).is_ok());
        }
    }
}
