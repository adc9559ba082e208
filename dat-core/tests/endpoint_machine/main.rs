//! The endpoint state machine against a model of the manual pages.
//!
//! The model is independent of the table: an endpoint is in a phase, and has a protection zone or
//! not. The effect of each call and each report of the transport is written down once, by phase, as
//! stated by the pages of dat_ep_connect(3DAT), dat_ep_disconnect(3DAT), dat_ep_free(3DAT),
//! dat_ep_modify(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_send(3DAT), dat_ep_reset(3DAT),
//! dat_cr_accept(3DAT), dat_cr_reject(3DAT), dat_psp_create(3DAT), dat_rsp_create(3DAT) and
//! dat_rsp_free(3DAT).
//!
//! `docs/endpoint-states.md` is generated in `document.rs`, from the table; with `DAT_BLESS=1` in
//! the environment the test writes it, otherwise it compares.

mod document;
mod lives;
mod model;
mod reach;
mod transitions;

use std::collections::BTreeSet;

use dat_core::table::{Action, EpEvent, Step, step};
use dat_core::{ConnectionEventKind as Kind, EpState};
use model::{Model, Outcome};

/// The connection event among the actions, of which there is at most one.
fn raised(actions: &[Action]) -> Option<Kind> {
    let kinds: Vec<Kind> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Raise(kind) => Some(*kind),
            _ => None,
        })
        .collect();
    assert!(kinds.len() <= 1, "several events for one transition: {kinds:?}");
    kinds.first().copied()
}

/// Checks one cell of the table against the model.
fn agree(model: Model, event: EpEvent) {
    let (state, outcome) = (model.state(), model.outcome(event));
    let taken = step(state, event);
    let as_said = match (outcome, taken) {
        (Outcome::Moves(phase, told), Step::Go(next, actions)) => {
            Model { phase, ..model }.state() == next && raised(actions) == told
        }
        (Outcome::GetsZone, Step::Go(next, actions)) => {
            Model { zone: true, ..model }.state() == next && actions.is_empty()
        }
        (Outcome::GoesBack, Step::Back)
        | (Outcome::Ends, Step::End)
        | (Outcome::Allowed, Step::Stay)
        | (Outcome::Refused, Step::Refuse)
        | (Outcome::Void, Step::Ignore) => true,
        _ => false,
    };
    assert!(as_said, "{state}, {event:?}: the pages say {outcome:?}, the table {taken:?}");
}

#[test]
fn the_model_has_every_state_once() {
    let states: BTreeSet<EpState> = Model::all().map(Model::state).collect();
    assert_eq!(states, EpState::ALL.into_iter().collect());
    assert_eq!(Model::all().count(), EpState::ALL.len());
}

#[test]
fn every_cell_of_the_table_is_what_the_pages_say() {
    for model in Model::all() {
        for &event in EpEvent::ALL {
            agree(model, event);
        }
    }
}
