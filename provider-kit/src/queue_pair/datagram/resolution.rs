//! An attempt of the active side to resolve the address of a peer: a link to its listener, and the handshake.

use std::sync::{Arc, Weak};

use dat_provider::{LocalCause, Peer, RefusalCause};
use dat_sync::Mutex;
use rustix::event::epoll::EventFlags;
use rustix::io::Errno;

use super::DatagramQp;
use super::address::Destination;
use crate::frame::Refusal;
use crate::handshake::{Active, Hello, Step};
use crate::progress::{
    Closing, Core, Driven, EventOrder, Exchange, Job, LinkState, LinkStatus, ReceivedFrame, send,
};
use crate::queue_pair::connect::failed;
use crate::queue_pair::event::Event;
use crate::transport::{Attempt, ConnectError, Connected, Connector, ConnectorEvent};

/// The request of the consumer.
pub(super) struct Request {
    /// The attempt, as the core numbers them.
    pub(super) attempt: u64,
    /// Address and qualifier.
    pub(super) peer: Peer,
    pub(super) private_data: Vec<u8>,
}

/// An attempt. The queue pair holds it until it has ended.
pub(super) struct Resolution {
    weak_self: Weak<Self>,
    core: Arc<Core>,
    queue_pair: Weak<DatagramQp>,
    /// Identifies the link to the driver.
    token: u64,
    request: Request,
    stage: Mutex<Stage>,
}

/// How far an attempt has come.
enum Stage {
    /// The link is being connected.
    Dialling(Box<dyn Connector>),
    /// The answer of the peer is awaited.
    Asked(Box<Asked>),
    /// It has ended, or a thread continues it.
    Ended,
}

/// A link on which the request was sent.
struct Asked {
    link: Connected,
    handshake: Active,
    received: ReceivedFrame,
}

/// The result of a step of an attempt.
enum Next {
    /// The driver waits for the descriptor.
    Wait,
    Retry(std::time::Instant),
    End(Event),
}

fn refused(cause: RefusalCause) -> Next {
    Next::End(Event::NonPeerRejected(cause))
}

fn local(what: &'static str, errno: Errno) -> Next {
    refused(RefusalCause::Local(LocalCause { what, errno: errno.raw_os_error() }))
}

impl Resolution {
    pub(super) fn new(
        core: &Arc<Core>,
        queue_pair: &Weak<DatagramQp>,
        request: Request,
    ) -> Arc<Self> {
        Arc::new_cyclic(|weak_self| Self {
            weak_self: Weak::clone(weak_self),
            core: Arc::clone(core),
            queue_pair: Weak::clone(queue_pair),
            token: core.token(),
            request,
            stage: Mutex::new(Stage::Ended),
        })
    }

    pub(super) const fn attempt(&self) -> u64 {
        self.request.attempt
    }

    /// Begins with the first step of the transport.
    pub(super) fn begin(&self, dialled: Attempt) {
        let mut stage = self.stage.lock();
        let next = self.dialled(&mut stage, Ok(dialled));
        drop(stage);
        if let LinkStatus::Retry(at) = self.finish(next) {
            self.core.submit(Job::Retry(at, self.driven()));
        }
    }

    /// Ends the attempt without an event, because its queue pair ends.
    pub(super) fn abandon(&self) {
        let stage = std::mem::replace(&mut *self.stage.lock(), Stage::Ended);
        self.core.submit_without_wakeup(Job::Forget(self.token));
        if let Stage::Asked(asked) = stage {
            self.close(asked.link);
        }
    }

    /// This attempt, as the driver refers to it.
    fn driven(&self) -> Weak<dyn Driven> {
        let weak: Weak<Self> = Weak::clone(&self.weak_self);
        weak
    }

    /// Reports the outcome, if there is one. The caller holds no lock.
    fn finish(&self, next: Next) -> LinkStatus {
        match next {
            Next::Wait => LinkStatus::Idle,
            Next::Retry(at) => LinkStatus::Retry(at),
            Next::End(event) => {
                self.core.submit_without_wakeup(Job::Forget(self.token));
                if let Some(queue_pair) = self.queue_pair.upgrade() {
                    queue_pair.conclude(self, &event);
                }
                LinkStatus::Idle
            }
        }
    }

    fn close(&self, link: Connected) {
        let Connected { reader, writer, .. } = link;
        let (token, link) = (self.core.token(), LinkState::new(writer));
        self.core.close(Closing { token, reader, link, last: None });
    }

    /// Continues after a step of the transport.
    fn dialled(&self, stage: &mut Stage, attempt: Result<Attempt, ConnectError>) -> Next {
        match attempt {
            Err(failure) => Next::End(failed(failure)),
            Ok(Attempt::Connected(link)) => self.ask(stage, link),
            Ok(Attempt::Pending(dial)) => {
                let next = match dial.awaits() {
                    ConnectorEvent::Time(at) => Next::Retry(at),
                    ConnectorEvent::Writable(descriptor) => {
                        let job = Job::Watch(self.token, self.driven(), None);
                        self.core.submit_without_wakeup(job);
                        match self.core.watch(descriptor, self.token, EventFlags::OUT) {
                            Ok(()) => Next::Wait,
                            Err(errno) => {
                                return local("wait until the link is connected (epoll)", errno);
                            }
                        }
                    }
                };
                *stage = Stage::Dialling(dial);
                next
            }
        }
    }

    /// Sends the request on a new link.
    fn ask(&self, stage: &mut Stage, mut link: Connected) -> Next {
        let Some(queue_pair) = self.queue_pair.upgrade() else { return Next::Wait };
        let side = match queue_pair.introduce(link.datagrams, &self.request.private_data) {
            Ok(side) => side,
            Err(cause) => return refused(RefusalCause::Local(cause)),
        };
        let hello = Hello { qualifier: self.request.peer.port, port: link.local_port, side };
        let (handshake, message) = match Active::new(&hello, self.core.transport.secret()) {
            Ok(begun) => begun,
            Err(error) => {
                let errno = Errno::from_raw_os_error(error.raw_os_error().unwrap_or(0));
                return local("get random numbers from the system", errno);
            }
        };
        if !send(&mut link, &message) {
            return refused(RefusalCause::Closed);
        }
        let liveness = link.reader.liveness();
        self.core.submit_without_wakeup(Job::Watch(self.token, self.driven(), liveness));
        let watched = link
            .reader
            .descriptor()
            .map_or(Ok(()), |it| self.core.watch(it, self.token, EventFlags::IN));
        if let Err(errno) = watched {
            return local("wait for the link (epoll)", errno);
        }
        let received = ReceivedFrame::of_passive();
        *stage = Stage::Asked(Box::new(Asked { link, handshake, received }));
        Next::Wait
    }

    /// Reads the frames of the peer.
    fn read(&self, stage: &mut Stage, mut asked: Box<Asked>) -> Next {
        let Asked { link, handshake, received } = &mut *asked;
        let event =
            match received.exchange(link, |frame, payload| handshake.receive(frame, payload)) {
                Exchange::Waiting => {
                    *stage = Stage::Asked(asked);
                    return Next::Wait;
                }
                Exchange::Gone => Event::NonPeerRejected(RefusalCause::Closed),
                Exchange::Step(step) => answered(link, step),
            };
        self.close(asked.link);
        Next::End(event)
    }
}

/// The event of the step to which an answer leads.
fn answered(link: &Connected, step: Step) -> Event {
    match step {
        Step::Established(_, side) => match (side.datagrams, link.datagrams) {
            (Some(port), Some(ends)) => {
                let remote = Destination::of(link.address.into(), ends, port);
                Event::Resolved(remote, side.private_data)
            }
            _ => Event::NonPeerRejected(Refusal::Malformed.into()),
        },
        Step::Rejected(private_data) => Event::PeerRejected(private_data),
        Step::Refused(why) => Event::NonPeerRejected(why.into()),
        Step::Send(_) | Step::Incoming(_) | Step::Refuse(_) => {
            Event::NonPeerRejected(Refusal::Malformed.into())
        }
    }
}

impl Driven for Resolution {
    fn break_off(&self, _: &mut EventOrder) {
        drop(std::mem::replace(&mut *self.stage.lock(), Stage::Ended));
        self.finish(local("resolve with descriptors that the program has closed", Errno::BADF));
    }

    fn progress(&self, _: &mut EventOrder) -> LinkStatus {
        let mut stage = self.stage.lock();
        let next = match std::mem::replace(&mut *stage, Stage::Ended) {
            Stage::Dialling(dial) => self.dialled(&mut stage, dial.advance()),
            Stage::Asked(asked) => self.read(&mut stage, asked),
            Stage::Ended => Next::Wait,
        };
        drop(stage);
        self.finish(next)
    }

    fn check_lease(&self, _: &mut EventOrder) -> bool {
        false
    }
}
