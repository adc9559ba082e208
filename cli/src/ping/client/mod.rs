//! `dat ping IA HOST`: the steps against `dat ping --listen` on another machine.

mod messages;
mod rdma;

use std::sync::Arc;
use std::time::Duration;

use dat_core::{
    Close, CompletionFlags, ConnectionEventKind, DtoStatus, Failure, Ia, Pz, Registry, RmrTriplet,
};

use super::handshake;
use super::local::{AREA, LONGEST, asynchronous_error, there};
use super::pieces::Stopwatch;
use super::plan::{sizes, step};
use super::runner::{Done, Stage, Step, Subject};
use crate::address;
use crate::error::CliError;
use crate::session::Buffer;
use crate::side::Side;
use crate::units;

/// The number of outstanding operations; no step needs more.
const DEPTH: u32 = 4;

/// The state that the steps share.
pub(super) struct Client {
    registry: Registry,
    name: String,
    /// The other machine and its port.
    host: (String, u64),
    timeout: Duration,
    checking: Stopwatch,
    ia: Option<Ia>,
    pz: Option<Pz>,
    side: Option<Side>,
    buffers: Option<Buffers>,
    answer: Option<Arc<[u8]>>,
    area: Option<RmrTriplet>,
}

/// The buffers for sending and receiving.
#[derive(Debug)]
struct Buffers {
    out: Buffer,
    into: Buffer,
}

/// The first step.
pub(super) fn open() -> Step<Client> {
    step("open", &[], Some(Stage::Adapter), Box::new(Client::open))
}

/// All other steps.
pub(super) fn rest(client: &Client) -> Vec<Step<Client>> {
    use Stage::{Adapter, Connection, Memory, Objects, RmrSteps};
    const DATA: &[Stage] = &[Connection, Memory];
    // The remote memory is what the other side offers.
    const REMOTE: &[Stage] = &[RmrSteps, Connection, Memory];
    let mut steps = vec![
        step("create objects", &[Adapter], Some(Objects), Box::new(Client::make_objects)),
        step("register memory", &[Objects], Some(Memory), Box::new(Client::register)),
        step("connect", &[Objects], Some(Connection), Box::new(Client::connect)),
        step("private data", &[Connection], Some(RmrSteps), Box::new(Client::check_answer)),
    ];
    let limit = client.ia.as_ref().map_or(u64::MAX, |ia| ia.attributes().max_message_size);
    for size in sizes(limit.min(LONGEST)).into_iter().filter(|size| *size <= limit) {
        steps.push(Step {
            name: format!("send {}", units::bytes(size)),
            needs: DATA,
            gives: None,
            act: Box::new(move |client| client.send_whole(size)),
        });
    }
    steps.extend([
        step("send in segments", DATA, None, Box::new(Client::send_in_segments)),
        step("RDMA write", REMOTE, None, Box::new(|client: &mut Client| client.rdma_writes())),
        step("RDMA read", REMOTE, None, Box::new(|client: &mut Client| client.rdma_reads())),
        step("disconnect", DATA, None, Box::new(|client: &mut Client| client.disconnect())),
        step("close", &[Adapter], None, Box::new(Client::close)),
    ]);
    steps
}

impl Subject for Client {
    fn take_checking(&self) -> Duration {
        self.checking.take()
    }

    fn failure(&self) -> Option<Failure> {
        self.side.as_ref()?.failure()
    }
}

impl Client {
    /// The state before the first step.
    pub(super) fn new(
        registry: Registry,
        name: String,
        host: (String, u64),
        timeout: Duration,
    ) -> Self {
        Self {
            registry,
            name,
            host,
            timeout,
            checking: Stopwatch::default(),
            ia: None,
            pz: None,
            side: None,
            buffers: None,
            answer: None,
            area: None,
        }
    }

    fn ia(&self) -> Result<&Ia, CliError> {
        there(self.ia.as_ref())
    }

    fn side(&self) -> Result<&Side, CliError> {
        there(self.side.as_ref())
    }

    fn buffers(&self) -> Result<&Buffers, CliError> {
        there(self.buffers.as_ref())
    }

    fn open(&mut self) -> Result<Done, CliError> {
        let ia = self.ia.insert(self.registry.open(&self.name)?);
        let provider = ia.provider_attributes();
        let (major, minor) = provider.provider_version;
        let (name, address) = (&provider.provider_name, ia.attributes().address);
        Ok(Done::Passed(format!("{name} {major}.{minor}, address {address}")))
    }

    fn make_objects(&mut self) -> Result<Done, CliError> {
        let pz = self.ia()?.pz_create()?;
        self.side = Some(Side::create(self.ia()?, &pz, DEPTH, self.timeout)?);
        self.pz = Some(pz);
        Ok(Done::Passed("1 protection zone, 3 event dispatchers, 1 endpoint".to_owned()))
    }

    fn register(&mut self) -> Result<Done, CliError> {
        let (ia, pz) = (self.ia()?, there(self.pz.as_ref())?);
        let length = AREA.min(ia.attributes().max_lmr_block_size) as usize;
        let out = Buffer::source(ia, pz, length)?;
        let into = Buffer::target(ia, pz, length)?;
        self.buffers = Some(Buffers { out, into });
        Ok(Done::Passed(format!("2 regions of {}", units::bytes(length as u64))))
    }

    fn connect(&mut self) -> Result<Done, CliError> {
        let (host, port) = &self.host;
        let addresses = address::resolve(host, self.ia()?.attributes().address, "dat ping")?;
        let port = *port;
        let connected = self.side()?.connect_to_one_of(&addresses, port, &handshake::request());
        let (address, answer) = connected?;
        self.answer = Some(answer);
        Ok(Done::Passed(format!("to {address}, port {port}")))
    }

    fn check_answer(&mut self) -> Result<Done, CliError> {
        let area = handshake::check_answer(&there(self.answer.take())?)?;
        self.area = Some(area);
        let length = units::bytes(area.length);
        Ok(Done::Passed(format!("both ways; the peer offers {length}")))
    }

    /// Disconnects; a pending receive must be flushed.
    fn disconnect(&self) -> Result<Done, CliError> {
        let (side, Buffers { into, .. }) = (self.side()?, self.buffers()?);
        side.ep.post_recv(&[into.lmr.triplet(0, 64)?], 1, CompletionFlags::empty())?;
        side.ep.disconnect(Close::Graceful)?;
        side.await_connection(ConnectionEventKind::Disconnected)?;
        side.await_receive(1, 0, DtoStatus::Flushed)?;
        Ok(Done::Passed("pending receive flushed".to_owned()))
    }

    /// Frees all objects, users before the objects that they use.
    fn close(&mut self) -> Result<Done, CliError> {
        let mut done: Vec<dat_core::Result<()>> = Vec::new();
        if let Some(side) = self.side.take() {
            done.extend(side.free());
        }
        if let Some(Buffers { out, into }) = self.buffers.take() {
            done.extend([out.lmr.free(), into.lmr.free()]);
        }
        done.extend(self.pz.take().map(|pz| pz.free()));
        let mut first = done.into_iter().collect::<dat_core::Result<()>>().map_err(CliError::from);
        if let Some(ia) = self.ia.take() {
            first = first.and(asynchronous_error(&ia));
            first = first.and(ia.close(Close::Graceful).map_err(CliError::from));
        }
        first.map(|()| Done::Passed("gracefully, no objects left".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;
    use crate::ping::runner::Runner;
    use crate::ping::server::Server;
    use crate::providers;
    use dat_core::registry::Configuration;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn registry() -> Registry {
        providers::registry_of(Configuration::from_text("dat.conf", ""))
    }

    fn client(name: &str, port: u64) -> Runner {
        let client =
            Client::new(registry(), name.to_owned(), ("127.0.0.1".to_owned(), port), PATIENCE);
        crate::ping::walk(client, open(), rest, false, &mut Output::stdout())
    }

    #[test]
    fn every_step_passes_against_a_service() {
        let server = Server::new(&registry(), "loopback", 40_001, PATIENCE).expect("it listens");
        let calls = std::thread::spawn(move || {
            let calls = [server.next(), server.next()].map(|call| call.expect("a client"));
            server.end().expect("nothing is left");
            calls
        });
        for name in ["loopback", "loopback?max_rdma_size=5000,max_message_size=3000,max_iov=1"] {
            let runner = client(name, 40_001);
            let summary = runner.summary();
            assert!(summary.failed == 0 && summary.skipped == 0, "{:?}", runner.first_failure());
            assert!(summary.passed >= 12, "{summary:?}");
        }
        let calls = calls.join().expect("it ends");
        assert!(calls.iter().all(crate::ping::server::Call::is_well), "{calls:?}");
    }

    #[test]
    fn clients_that_start_together_are_all_served() {
        const CLIENTS: usize = 24;
        let server = Server::new(&registry(), "loopback", 40_003, PATIENCE).expect("it listens");
        let calls = std::thread::spawn(move || {
            let calls: Vec<_> = (0..CLIENTS).map(|_| server.next().expect("a client")).collect();
            server.end().expect("nothing is left");
            calls
        });
        let started = std::sync::Barrier::new(CLIENTS);
        let client = || {
            started.wait();
            client("loopback", 40_003).first_failure()
        };
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
            for client in clients {
                let failure = client.join().expect("it ends");
                assert!(failure.is_none(), "{failure:?}");
            }
        });
        let calls = calls.join().expect("it ends");
        assert!(calls.iter().all(crate::ping::server::Call::is_well), "{calls:?}");
    }

    #[test]
    fn without_a_service_the_connection_fails_and_all_else_is_skipped() {
        let runner = client("loopback", 40_002);
        let (step, _) = runner.first_failure().expect("nothing listens");
        assert_eq!(step, "connect");
        assert_eq!(runner.summary().failed, 1);
    }
}
