//! The expected results by the pages; the columns are those of `STATES`.
//!
//! Pages that do not name the unconfigured states treat them as their configured counterparts,
//! except that no call works that needs a protection zone.

use dat_core::EpState as S;

use super::trial::Outcome::{
    Ends as END, Flushed as FLU, Nothing as NIL, Refused as NO, To, Works as OK,
};
use super::trial::{Outcome, Row};

const RES: Outcome = To(S::Reserved);
const URE: Outcome = To(S::UnconfiguredReserved);
const PAS: Outcome = To(S::PassiveConnectionPending);
const UNC: Outcome = To(S::Unconnected);
const ACT: Outcome = To(S::ActiveConnectionPending);
const CON: Outcome = To(S::Connected);
const DIS: Outcome = To(S::Disconnected);

//                                        Unconnected
//                                        |    Reserved
//                                        |    |    Unconfigured Reserved
//                                        |    |    |    Passive Connection Pending
//                                        |    |    |    |    Unconfigured Passive
//                                        |    |    |    |    |    Active Connection Pending
//                                        |    |    |    |    |    |    Tentative Connection Pending
//                                        |    |    |    |    |    |    |    Unconfigured Unconnected
//                                        |    |    |    |    |    |    |    |    Connected
//                                        |    |    |    |    |    |    |    |    |    Disconnect Pending
//                                        |    |    |    |    |    |    |    |    |    |    Disconnected
pub(super) const CONNECT: Row =          [ACT, NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO ];
pub(super) const DUP_CONNECT_OF: Row =   [NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  OK,  NO,  NO ];
pub(super) const GRACEFUL: Row =         [NO,  NO,  NO,  NO,  NO,  DIS, NO,  NO,  DIS, NIL, NIL];
pub(super) const ABRUPT: Row =           [NO,  NO,  NO,  NO,  NO,  DIS, NO,  NO,  DIS, DIS, NIL];
pub(super) const RESET: Row =            [NIL, NO,  NO,  NO,  NO,  NO,  NO,  NIL, NO,  NO,  UNC];
pub(super) const FREE: Row =             [END, NO,  NO,  NO,  NO,  END, NO,  END, END, END, END];
pub(super) const RECEIVE: Row =          [OK,  OK,  NO,  OK,  NO,  OK,  OK,  NO,  OK,  OK,  FLU];
pub(super) const REQUEST: Row =          [NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  OK,  NO,  FLU];
pub(super) const ZONE: Row =             [OK,  NO,  RES, NO,  PAS, NO,  OK,  UNC, NO,  NO,  NO ];
pub(super) const DISPATCHERS: Row =      [OK,  OK,  OK,  OK,  OK,  NO,  OK,  OK,  NO,  NO,  NO ];
pub(super) const ATTRIBUTES: Row =       [OK,  OK,  OK,  OK,  OK,  NO,  OK,  OK,  NO,  NO,  NO ];
pub(super) const RSP_CREATE: Row =       [RES, NO,  NO,  NO,  NO,  NO,  NO,  URE, NO,  NO,  NO ];
pub(super) const ACCEPT: Row =           [CON, NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO,  NO ];
pub(super) const LOOK: Row =             [NIL; 11];
pub(super) const WATERMARK: Row =        [OK; 11];
