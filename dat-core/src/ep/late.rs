//! The queue pair of an endpoint, which some adapters are asked for only when it is needed: an
//! endpoint that was never connected then takes half of its memory.
#![allow(unsafe_code, reason = "posts take a queue pair that was seen to be there")]

use super::gate::Post;
use super::{Config, EpInner};
use crate::error::Result;
use crate::flags::CompletionFlags;
use crate::provider::{Outstanding, QueuePair};

/// An endpoint whose gate admitted a post.
#[derive(Clone, Copy)]
pub(super) struct ShortWay<'a>(&'a EpInner);

impl<'a> ShortWay<'a> {
    /// The queue pair, without a look at whether there is one.
    #[inline(always)]
    pub(super) fn queue_pair(self) -> &'a dyn QueuePair {
        // SAFETY: a gate admits nothing before it was told that there is a queue pair, which then
        // is there for as long as the endpoint.
        &**unsafe { self.0.queue_pair.get().unwrap_unchecked() }
    }
}

impl EpInner {
    /// The queue pair. Without one nothing was ever posted, and there was no connection.
    pub(super) fn made_queue_pair(&self) -> Option<&dyn QueuePair> {
        self.queue_pair.get().map(|made| &**made)
    }

    /// The queue pair, made now if there is none; the caller holds `call`.
    pub(super) fn queue_pair(
        &self,
        config: &Config,
        operation: &'static str,
    ) -> Result<&dyn QueuePair> {
        if let Some(made) = self.made_queue_pair() {
            return Ok(made);
        }
        let adapter = self.base.ia.adapter(operation)?;
        let made = adapter
            .create_queue_pair(config.queue_pair_spec(self))
            .map_err(|error| self.base.describe(error, operation))?;
        let made = self.queue_pair.get_or_init(|| made);
        self.gate.queue_pair_is_made();
        Ok(&**made)
    }

    /// The short way, if such a post goes it.
    #[inline(always)]
    pub(super) fn short_way(&self, post: Post, flags: CompletionFlags) -> Option<ShortWay<'_>> {
        self.gate.admits(post, flags).then_some(ShortWay(self))
    }

    /// The queue pair, for a post that goes the long way.
    pub(super) fn queue_pair_at_hand(&self, operation: &'static str) -> Result<&dyn QueuePair> {
        match self.made_queue_pair() {
            Some(made) => Ok(made),
            None => self.queue_pair_to_post(operation),
        }
    }

    /// Makes the queue pair for the first post. No agent that may post is called under `call`
    /// ([`calm`](crate::calm)).
    #[cold]
    #[inline(never)]
    fn queue_pair_to_post(&self, operation: &'static str) -> Result<&dyn QueuePair> {
        let call = self.call.lock();
        let config = call.as_ref().ok_or_else(|| self.base.freed(operation))?;
        self.queue_pair(config, operation)
    }

    /// What was posted and has not completed.
    pub(super) fn outstanding(&self) -> Outstanding {
        self.made_queue_pair().map(QueuePair::outstanding).unwrap_or_default()
    }

    /// Ends the queue pair; the caller holds `call`.
    pub(super) fn retire_queue_pair(&self) {
        if let Some(made) = self.made_queue_pair() {
            made.retire();
        }
    }
}
