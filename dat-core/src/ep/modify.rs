//! Changing an endpoint before it is connected.

use super::create::Call;
use super::spec::{EpSpec, EpUpdate};
use super::table::EpEvent;
use super::{Config, Ep, EpInner};
use crate::attr::EpAttributes;
use crate::error::{Error, Result, ReturnType, Subtype};
use crate::evd::{Evd, Stream};
use crate::pz::Pz;
use crate::srq::Srq;

impl EpUpdate {
    /// The events that the state must allow.
    fn events(&self, before: &EpAttributes) -> Vec<EpEvent> {
        let mut events = Vec::new();
        if self.pz.is_some() {
            events.push(EpEvent::ModifyZone);
        }
        if self.recv_evd.is_some() || self.request_evd.is_some() || self.connect_evd.is_some() {
            events.push(EpEvent::ModifyAttributes);
        }
        if let Some(after) = &self.attributes {
            events.push(EpEvent::ModifyAttributes);
            if after.transport_specific != before.transport_specific
                || after.provider_specific != before.provider_specific
            {
                events.push(EpEvent::ModifySpecific);
            }
        }
        events
    }
}

const MODIFY: &str = Call::Modify.operation();

impl Ep {
    /// Changes the endpoint (dat_ep_modify(3DAT)), completely or not at all; receives posted before
    /// are kept.
    ///
    /// # Errors
    /// `DAT_INVALID_STATE` if the state does not allow a part of the change, or if receives are
    /// posted and their completion flags would change; otherwise as for
    /// [`ep_create`](crate::Ia::ep_create), except that what the provider does not
    /// support is `DAT_INVALID_PARAMETER` too.
    pub fn modify(&self, update: &EpUpdate) -> Result<()> {
        let inner = &*self.inner;
        inner.base.check_process(MODIFY)?;
        let mut call = inner.call.lock();
        let config = call.as_mut().ok_or_else(|| inner.base.freed(MODIFY))?;
        for event in update.events(&config.attributes) {
            inner.perform(event, MODIFY)?;
        }
        inner.check_receive_flags(config, update)?;
        let spec = merged(config, update);
        let fresh = match inner.replacement(config, &spec) {
            Ok(fresh) => fresh,
            Err(error) => {
                config.renew_feeds();
                return Err(error);
            }
        };
        let had_zone = config.pz.is_some();
        let mut old = std::mem::replace(config, fresh);
        config.reads.commit(&mut old.reads);
        drop(old);
        config.renew_feeds();
        config.publish(inner);
        // Segments checked before may have been checked for another zone.
        inner.epochs.end();
        if !had_zone && config.pz.is_some() {
            inner.report(EpEvent::Configured);
        }
        Ok(())
    }
}

impl EpInner {
    /// Creates the new configuration and changes the queue pair accordingly.
    fn replacement(&self, config: &Config, spec: &EpSpec) -> Result<Config> {
        let before = config.reads.amount();
        let fresh = Config::new(&self.base.ia, self.base.id, spec, before, Call::Modify)?;
        if let Some(queue_pair) = self.queue_pair() {
            queue_pair
                .modify(fresh.queue_pair_spec(self.base.id, &self.epochs, &self.weak_self))
                .map_err(|error| self.base.describe(error, MODIFY))?;
        }
        Ok(fresh)
    }

    /// The flags of receives may change only before a receive is posted.
    fn check_receive_flags(&self, config: &Config, update: &EpUpdate) -> Result<()> {
        let Some(after) = &update.attributes else { return Ok(()) };
        let same = after.recv_completion_flags == config.attributes.recv_completion_flags;
        if same || self.outstanding().receives == 0 {
            return Ok(());
        }
        let subtype = self.state().map_or(Subtype::NoSubtype, |state| state.invalid_state());
        let error = Error::new(ReturnType::InvalidState, subtype)
            .because("recv_completion_flags: receives have already been posted")
            .advise("change the flags before the first receive is posted");
        Err(self.base.describe(error, MODIFY))
    }
}

/// The current specification of the endpoint, with the change applied.
fn merged(config: &Config, update: &EpUpdate) -> EpSpec {
    let evd = |used: Option<&crate::lifecycle::Hold<crate::evd::EvdInner>>| {
        used.map(|hold| Evd::from_inner(hold.arc()))
    };
    let pick = |new: &Option<Option<Evd>>, old: Option<Evd>| match new {
        Some(new) => new.clone(),
        None => old,
    };
    let old_pz = config.pz.as_ref().map(|pz| Pz::from_inner(pz.arc()));
    EpSpec {
        pz: update.pz.clone().or(old_pz),
        recv_evd: pick(&update.recv_evd, evd(config.bindings.evd(Stream::Receive))),
        request_evd: pick(&update.request_evd, evd(config.bindings.evd(Stream::Request))),
        connect_evd: pick(&update.connect_evd, evd(config.connect.as_ref())),
        srq: config.srq.as_ref().map(|srq| Srq::from_inner(srq.arc())),
        attributes: Some(update.attributes.as_ref().unwrap_or(&config.attributes).clone()),
    }
}
