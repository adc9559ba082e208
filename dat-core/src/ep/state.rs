//! The states of an endpoint.

use std::fmt;

use crate::error::Subtype;

macro_rules! states {
    ($($(#[$doc:meta])* $state:ident = $value:literal, $name:literal, $subtype:ident;)+) => {
        /// The state of an endpoint (`DAT_EP_STATE`).
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum EpState {
            $($(#[$doc])* $state = $value,)+
        }

        impl EpState {
            /// Every state, in the order of its value.
            pub const ALL: [Self; 15] = [$(Self::$state),+];

            /// The value in the C ABI.
            #[must_use]
            pub const fn value(self) -> u32 {
                self as u32
            }

            pub(crate) const fn from_value(value: u8) -> Option<Self> {
                match value {
                    $($value => Some(Self::$state),)+
                    _ => None,
                }
            }

            /// The name in the manual pages.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$state => $name,)+
                }
            }

            /// The subtype of `DAT_INVALID_STATE` that names this state.
            #[must_use]
            pub const fn invalid_state(self) -> Subtype {
                match self {
                    $(Self::$state => Subtype::$subtype,)+
                }
            }
        }
    };
}

states! {
    /// Created or reset; receives can be posted.
    Unconnected = 0, "Unconnected", InvalidStateEpUnconnected;
    /// Unconnected, and without a protection zone.
    UnconfiguredUnconnected = 1, "Unconfigured Unconnected", InvalidStateEpUnconfigured;
    /// The endpoint of a reserved service point.
    Reserved = 2, "Reserved", InvalidStateEpReserved;
    /// Reserved, and without a protection zone.
    UnconfiguredReserved = 3, "Unconfigured Reserved", InvalidStateEpUnconfreserved;
    /// The request on its reserved service point waits for the consumer's answer.
    PassiveConnectionPending = 4, "Passive Connection Pending", InvalidStateEpPassconnpending;
    /// Passive Connection Pending, and without a protection zone.
    UnconfiguredPassive = 5, "Unconfigured Passive", InvalidStateEpUnconfpassive;
    /// Connecting.
    ActiveConnectionPending = 6, "Active Connection Pending", InvalidStateEpActconnpending;
    /// Created by the provider for a request that waits for the consumer's answer.
    TentativeConnectionPending = 7, "Tentative Connection Pending", InvalidStateEpTentconnpending;
    /// Tentative Connection Pending, and without a protection zone.
    UnconfiguredTentative = 8, "Unconfigured Tentative", InvalidStateEpUnconftentative;
    /// Connected.
    Connected = 9, "Connected", InvalidStateEpConnected;
    /// The consumer ended the connection; what was posted finishes or is flushed.
    DisconnectPending = 10, "Disconnect Pending", InvalidStateEpDiscpending;
    /// The connection, or the attempt, has ended.
    Disconnected = 11, "Disconnected", InvalidStateEpDisconnected;
    /// The consumer accepted a request; the connection is being completed.
    CompletionPending = 12, "Completion Pending", InvalidStateEpComplpending;
    /// Connected, with one of several paths left.
    ConnectedSinglePath = 13, "Connected Single Path", InvalidStateEpConnected;
    /// Connected over several paths.
    ConnectedMultiPath = 14, "Connected Multi Path", InvalidStateEpConnected;
}

impl EpState {
    /// Returns true if messages can flow.
    #[must_use]
    pub const fn is_connected(self) -> bool {
        matches!(self, Self::Connected | Self::ConnectedSinglePath | Self::ConnectedMultiPath)
    }

    /// Returns true if a connect or an accept waits for its outcome.
    pub(super) const fn is_attempt_pending(self) -> bool {
        matches!(self, Self::ActiveConnectionPending | Self::CompletionPending)
    }

    /// Returns true if the endpoint still lacks a protection zone.
    #[must_use]
    pub const fn is_unconfigured(self) -> bool {
        matches!(
            self,
            Self::UnconfiguredUnconnected
                | Self::UnconfiguredReserved
                | Self::UnconfiguredPassive
                | Self::UnconfiguredTentative
        )
    }

    /// Returns true if requests may be posted: connected, or disconnected, in which case they are
    /// flushed.
    pub(super) const fn takes_requests(self) -> bool {
        self.is_connected() || matches!(self, Self::Disconnected)
    }
}

impl fmt::Display for EpState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
