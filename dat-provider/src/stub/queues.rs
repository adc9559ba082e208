//! The stub's completion queue, which stays empty, and queue pair, which never connects.

use super::no_transport;
use crate::error::Result;
use crate::flags::Close;
use crate::{
    Completion, CompletionPoller, CompletionQueue, ConnectRequest, Notify, Outstanding, QueuePair,
    QueuePairSpec, ReceiveRequest, Request,
};

pub(super) struct StubCompletions;

impl CompletionQueue for StubCompletions {}

pub(super) struct StubPoller;

impl CompletionPoller for StubPoller {
    fn poll(&mut self, _into: &mut [Completion]) -> usize {
        0
    }

    fn notify(&mut self, _mode: Notify) -> bool {
        false
    }

    fn resize(&mut self, _depth: usize) -> Result<()> {
        Ok(())
    }
}

pub(super) struct StubQueuePair;

impl QueuePair for StubQueuePair {
    fn post_receive(&self, _receive: &ReceiveRequest<'_>) -> Result<()> {
        Err(no_transport("receives"))
    }

    fn post_request(&self, _request: &Request<'_>) -> Result<()> {
        Err(no_transport("requests"))
    }

    fn connect(&self, _request: &ConnectRequest<'_>) -> Result<()> {
        Err(no_transport("connections"))
    }

    fn disconnect(&self, _how: Close) {}

    fn reset(&self) -> Result<()> {
        Ok(())
    }

    fn modify(&self, _spec: QueuePairSpec) -> Result<()> {
        Ok(())
    }

    fn outstanding(&self) -> Outstanding {
        Outstanding::default()
    }
}
