//! The queue pair of an endpoint.
//!
//! It takes more memory than the rest of the endpoint, and programs create endpoints long before they use them. So where
//! the provider permits it, the first receive, connect or accept creates it. Until then the post checks keep all posts
//! off the fast path, which therefore does not test whether the queue pair exists.
#![allow(unsafe_code, reason = "the fast path uses the queue pair without a test")]

use std::sync::Arc;

use super::control::Sink;
use super::post_checks::Post;
use super::{Config, EpInner, attributes};
use crate::error::Result;
use crate::evd::Stream;
use crate::flags::CompletionFlags;
use crate::provider::{Epochs, Outstanding, QueuePair, QueuePairSpec};
use dat_sync::SlabWeak;

/// Permission to post on the fast path.
pub(super) struct FastPath<'a>(&'a EpInner);

impl FastPath<'_> {
    /// The queue pair.
    #[inline(always)]
    pub(super) fn queue_pair(&self) -> &dyn QueuePair {
        // SAFETY: the post checks have admitted a post, which they do only after `admit_posts` was called. Their
        // load (Acquire) pairs with that store (Release), which follows `FirstUse::set`.
        unsafe { &**self.0.queue_pair.get_unchecked() }
    }
}

impl EpInner {
    /// Permission for a post of this kind with these flags to take the fast path.
    #[inline(always)]
    pub(super) fn fast_path(&self, post: Post, flags: CompletionFlags) -> Option<FastPath<'_>> {
        self.post_checks.allows_fast_path(post, flags).then_some(FastPath(self))
    }

    /// The queue pair; `None` before the first use.
    #[inline(always)]
    pub(super) fn queue_pair(&self) -> Option<&dyn QueuePair> {
        self.queue_pair.get().map(|queue_pair| &**queue_pair)
    }

    /// The queue pair, for a call that needs one.
    ///
    /// # Errors
    /// The endpoint was freed, or there is no memory for a queue pair.
    pub(super) fn used_queue_pair(&self, operation: &'static str) -> Result<&dyn QueuePair> {
        if let Some(queue_pair) = self.queue_pair() {
            return Ok(queue_pair);
        }
        let call = self.call.lock();
        let config = call.as_ref().ok_or_else(|| self.base.freed(operation))?;
        self.create_queue_pair(config, operation)
    }

    /// As [`used_queue_pair`](Self::used_queue_pair), for the holder of `call`.
    pub(super) fn create_queue_pair(
        &self,
        config: &Config,
        operation: &'static str,
    ) -> Result<&dyn QueuePair> {
        if let Some(queue_pair) = self.queue_pair() {
            return Ok(queue_pair);
        }
        let adapter = self.base.ia.adapter(operation)?;
        let spec = config.queue_pair_spec(self.base.id, &self.epochs, &self.weak_self);
        let created = adapter.create_queue_pair(spec);
        let created = created.map_err(|error| self.base.describe(error, operation))?;
        // Only the holder of `call` stores one, and there is none.
        let _ = self.queue_pair.set(created);
        self.post_checks.admit_posts();
        self.queue_pair().ok_or_else(|| self.base.freed(operation))
    }

    /// The outstanding operations.
    #[inline(always)]
    pub(super) fn outstanding(&self) -> Outstanding {
        match self.queue_pair() {
            Some(queue_pair) => queue_pair.outstanding(),
            None => Outstanding::default(),
        }
    }

    /// Retires the queue pair, if there is one.
    pub(super) fn shut_queue_pair_down(&self) {
        if let Some(queue_pair) = self.queue_pair() {
            queue_pair.shutdown();
        }
    }
}

impl Config {
    /// The specification of the queue pair.
    pub(super) fn queue_pair_spec(
        &self,
        tag: u64,
        epochs: &Arc<Epochs>,
        endpoint: &SlabWeak<EpInner>,
    ) -> QueuePairSpec {
        let completions = |stream| self.bindings.evd(stream).and_then(|evd| evd.completions());
        QueuePairSpec {
            tag,
            service: attributes::service(&self.attributes),
            domain: self.pz.as_ref().map(|pz| Arc::clone(&pz.domain)),
            request_queue: completions(Stream::Request),
            receive_queue: completions(Stream::Receive),
            shared_receives: self.srq.as_ref().map(|srq| Arc::clone(&srq.queue)),
            limits: attributes::limits(&self.attributes, self.srq.is_some()),
            epochs: Arc::clone(epochs),
            ..QueuePairSpec::new(Arc::new(Sink(SlabWeak::clone(endpoint))))
        }
    }
}
