//! `dat ping IA HOST`: the steps against a `dat ping --listen` on another machine.

use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use dat_core::{
    Close, CompletionFlags, Connect, ConnectionEventKind, DtoCompletion, DtoStatus, Failure,
    InterfaceAdapter, Operation, ProtectionZone, Registry, RmrTriplet,
};

use super::bench::{AREA, LONGEST, asynchronous_error, there};
use super::greeting;
use super::pieces::{Piece, SEGMENTED, Scattered, Stopwatch, pieces, total, triplets};
use super::plan::{sizes, step};
use super::runner::{Done, Stage, Step, Subject};
use crate::fault::Fault;
use crate::session::Buffer;
use crate::side::{Side, await_completion};
use crate::units;

/// Operations that can be outstanding: no step needs more.
const DEPTH: u32 = 4;

/// Everything that the steps share.
pub(super) struct Visit {
    registry: Registry,
    name: String,
    /// The other machine and the port there.
    host: (String, u64),
    patience: Duration,
    checking: Stopwatch,
    ia: Option<InterfaceAdapter>,
    pz: Option<ProtectionZone>,
    side: Option<Side>,
    buffers: Option<Buffers>,
    answer: Option<Arc<[u8]>>,
    area: Option<RmrTriplet>,
}

/// What is sent from, and received into.
#[derive(Debug)]
struct Buffers {
    out: Buffer,
    into: Buffer,
}

/// The first step.
pub(super) fn open() -> Step<Visit> {
    step("open", &[], Some(Stage::Adapter), Box::new(Visit::open))
}

/// All other steps.
pub(super) fn rest(visit: &Visit) -> Vec<Step<Visit>> {
    use Stage::{Adapter, Connection, Memory, Objects, Window};
    const DATA: &[Stage] = &[Connection, Memory];
    // Here the window is the memory that the other side offers.
    const REMOTE: &[Stage] = &[Window, Connection, Memory];
    let mut steps = vec![
        step("make objects", &[Adapter], Some(Objects), Box::new(Visit::make_objects)),
        step("register memory", &[Objects], Some(Memory), Box::new(Visit::register)),
        step("connect", &[Objects], Some(Connection), Box::new(Visit::connect)),
        step("private data", &[Connection], Some(Window), Box::new(Visit::check_answer)),
    ];
    let limit = visit.ia.as_ref().map_or(u64::MAX, |ia| ia.attributes().max_message_size);
    for size in sizes(limit.min(LONGEST)).into_iter().filter(|size| *size <= limit) {
        steps.push(Step {
            name: format!("send {}", units::bytes(size)),
            needs: DATA,
            gives: None,
            act: Box::new(move |visit| visit.send_whole(size)),
        });
    }
    steps.extend([
        step("send in segments", DATA, None, Box::new(Visit::send_in_segments)),
        step("RDMA write", REMOTE, None, Box::new(|visit: &mut Visit| visit.rdma_writes())),
        step("RDMA read", REMOTE, None, Box::new(|visit: &mut Visit| visit.rdma_reads())),
        step("disconnect", DATA, None, Box::new(|visit: &mut Visit| visit.disconnect())),
        step("close", &[Adapter], None, Box::new(Visit::close)),
    ]);
    steps
}

impl Subject for Visit {
    fn take_checking(&self) -> Duration {
        self.checking.take()
    }

    fn failure(&self) -> Option<Failure> {
        self.side.as_ref()?.failure()
    }
}

impl Visit {
    /// Before anything is made.
    pub(super) fn new(
        registry: Registry,
        name: String,
        host: (String, u64),
        patience: Duration,
    ) -> Self {
        Self {
            registry,
            name,
            host,
            patience,
            checking: Stopwatch::default(),
            ia: None,
            pz: None,
            side: None,
            buffers: None,
            answer: None,
            area: None,
        }
    }

    fn ia(&self) -> Result<&InterfaceAdapter, Fault> {
        there(self.ia.as_ref())
    }

    fn side(&self) -> Result<&Side, Fault> {
        there(self.side.as_ref())
    }

    fn buffers(&self) -> Result<&Buffers, Fault> {
        there(self.buffers.as_ref())
    }

    fn open(&mut self) -> Result<Done, Fault> {
        let ia = self.ia.insert(self.registry.open(&self.name)?);
        let provider = ia.provider_attributes();
        let (major, minor) = provider.provider_version;
        let (name, address) = (&provider.provider_name, ia.attributes().address);
        Ok(Done::Passed(format!("{name} {major}.{minor}, address {address}")))
    }

    fn make_objects(&mut self) -> Result<Done, Fault> {
        let pz = self.ia()?.pz_create()?;
        self.side = Some(Side::create(self.ia()?, &pz, DEPTH, self.patience)?);
        self.pz = Some(pz);
        Ok(Done::Passed("1 protection zone, 3 event dispatchers, 1 endpoint".to_owned()))
    }

    fn register(&mut self) -> Result<Done, Fault> {
        let (ia, pz) = (self.ia()?, there(self.pz.as_ref())?);
        let length = AREA.min(ia.attributes().max_lmr_block_size) as usize;
        let out = Buffer::source(ia, pz, length)?;
        let into = Buffer::target(ia, pz, length)?;
        self.buffers = Some(Buffers { out, into });
        Ok(Done::Passed(format!("2 regions of {}", units::bytes(length as u64))))
    }

    /// The address of the other machine, of the same kind as that of the adapter.
    fn address(&self) -> Result<IpAddr, Fault> {
        let host = self.host.0.as_str();
        let own = self.ia()?.attributes().address;
        let unknown = |reason: String| {
            let mut fault = Fault::unexpected(format!("{host}: {reason}"));
            fault.advice = "give the address that dat ping --listen printed there".to_owned();
            fault
        };
        let found = (host, 0).to_socket_addrs().map_err(|error| unknown(error.to_string()))?;
        let mut found = found.map(|found| found.ip());
        found
            .find(|found| found.is_ipv4() == own.is_ipv4())
            .ok_or_else(|| unknown(format!("has no address of the kind that {own} is")))
    }

    fn connect(&mut self) -> Result<Done, Fault> {
        let (address, port) = (self.address()?, self.host.1);
        let side = self.side()?;
        let asked = greeting::request();
        let connect = Connect::to(address, port).timeout(self.patience).private_data(&asked);
        side.ep.connect(&connect)?;
        // The adapter is the first to find that it took too long.
        let patience = self.patience + Duration::from_secs(1);
        let answer = side.told_within(patience, ConnectionEventKind::Established)?;
        self.answer = Some(answer);
        Ok(Done::Passed(format!("to {address}, port {port}")))
    }

    fn check_answer(&mut self) -> Result<Done, Fault> {
        let area = greeting::check_answer(&there(self.answer.take())?)?;
        self.area = Some(area);
        let length = units::bytes(area.length);
        Ok(Done::Passed(format!("both ways; the other side offers {length}")))
    }

    fn send_whole(&self, size: u64) -> Result<Done, Fault> {
        let piece = (64, size);
        let pieces = if size == 0 { &[][..] } else { &[piece][..] };
        self.send(1000 + size, pieces, pieces)?;
        Ok(Done::Passed("there and back".to_owned()))
    }

    fn send_in_segments(&mut self) -> Result<Done, Fault> {
        let longest = self.ia()?.attributes().max_message_size;
        let message = match Scattered::new(&self.side()?.ep.query()?.attributes, longest) {
            Ok(message) => message,
            Err(why) => return Ok(Done::LeftOut(why)),
        };
        self.send(2001, &message.from, &message.into)?;
        Ok(Done::Passed(format!(
            "{} segments there, {} back",
            message.from.len(),
            message.into.len()
        )))
    }

    /// Sends a message and compares what comes back.
    fn send(&self, seed: u64, from: &[Piece], to: &[Piece]) -> Result<(), Fault> {
        let (side, Buffers { out, into }) = (self.side()?, self.buffers()?);
        self.checking.prepare(out, into, seed)?;
        let (length, flags) = (total(from), CompletionFlags::empty());
        side.ep.post_recv(&triplets(into, to)?, seed + 1, flags)?;
        side.ep.post_send(&triplets(out, from)?, seed, flags)?;
        self.finish(Operation::Send, seed, length)?;
        let received = DtoCompletion {
            ep: side.ep.id(),
            cookie: seed + 1,
            length,
            operation: Operation::Receive,
            ..DtoCompletion::default()
        };
        await_completion(&side.recv, &received, self.patience)?;
        self.checking.check("the message that came back", into, seed, from, to)
    }

    /// Waits for the completion of a request.
    fn finish(&self, operation: Operation, cookie: u64, length: u64) -> Result<(), Fault> {
        let side = self.side()?;
        let ep = side.ep.id();
        let expected = DtoCompletion { ep, cookie, length, operation, ..DtoCompletion::default() };
        await_completion(&side.request, &expected, self.patience)
    }

    /// A piece of what the other side offers: of its first half, which may be written, or of
    /// the second, which has a pattern.
    fn remote(&self, second: bool, (start, length): Piece) -> Result<RmrTriplet, Fault> {
        let area = there(self.area)?;
        let half = area.length / 2;
        if start + length > half {
            let (offered, needed) = (units::bytes(half), units::bytes(start + length));
            let reason = format!("the other side offers {offered}, and {needed} are needed");
            return Err(Fault::unexpected(reason));
        }
        let start = if second { half + start } else { start };
        Ok(RmrTriplet { address: area.address.wrapping_add(start), length, ..area })
    }

    fn write(&self, from: &Buffer, pieces: &[Piece], to: Piece, seed: u64) -> Result<(), Fault> {
        let (remote, flags) = (self.remote(false, to)?, CompletionFlags::empty());
        self.side()?.ep.post_rdma_write(&triplets(from, pieces)?, seed, remote, flags)?;
        self.finish(Operation::RdmaWrite, seed, to.1)
    }

    fn read(&self, second: bool, from: Piece, to: &[Piece], seed: u64) -> Result<(), Fault> {
        let (remote, flags) = (self.remote(second, from)?, CompletionFlags::empty());
        let local = triplets(&self.buffers()?.into, to)?;
        self.side()?.ep.post_rdma_read(&local, seed, remote, flags)?;
        self.finish(Operation::RdmaRead, seed, from.1)
    }

    /// Writes in all sizes and from several segments; all of the other side's memory is read
    /// back each time, and must have nothing but that in it.
    fn rdma_writes(&self) -> Result<Done, Fault> {
        if let Some(reason) = self.cannot_read()? {
            return Ok(Done::LeftOut(format!("nothing can be read back: {reason}")));
        }
        let Buffers { out, into } = self.buffers()?;
        let length = into.memory.len() as u64;
        let most = self.ia()?.attributes().max_rdma_size.min(length);
        let parts: Vec<Piece> = (0..length)
            .step_by(most as usize)
            .map(|start| (start, most.min(length - start)))
            .collect();
        let segments = self.side()?.ep.query()?.attributes.max_rdma_write_iov;
        self.rdma(3000, segments, |seed, pieces, whole| {
            self.checking.prepare(out, into, seed)?;
            for &part in &parts {
                self.write(into, &[part], part, seed)?;
            }
            self.write(out, pieces, whole, seed)?;
            into.memory.write(0, &vec![0; length as usize])?;
            for &part in &parts {
                self.read(false, part, &[part], seed)?;
            }
            self.checking.check("what was written", into, seed, pieces, &[whole])
        })
    }

    /// Reads in all sizes and into several segments.
    fn rdma_reads(&self) -> Result<Done, Fault> {
        if let Some(reason) = self.cannot_read()? {
            return Ok(Done::LeftOut(reason));
        }
        let Buffers { out, into } = self.buffers()?;
        let segments = self.side()?.ep.query()?.attributes.max_rdma_read_iov;
        self.rdma(4000, segments, |seed, pieces, whole| {
            self.checking.prepare(out, into, greeting::OFFERED)?;
            self.read(true, whole, pieces, seed)?;
            self.checking.check("what was read", into, greeting::OFFERED, &[whole], pieces)
        })
    }

    fn cannot_read(&self) -> Result<Option<String>, Fault> {
        let out = self.side()?.ep.query()?.attributes.max_rdma_read_out;
        Ok((out == 0).then(|| "max_rdma_read_out is 0".to_owned()))
    }

    /// Does an RDMA operation in all sizes and with several segments.
    fn rdma(
        &self,
        first_seed: u64,
        segments: u32,
        act: impl Fn(u64, &[Piece], Piece) -> Result<(), Fault>,
    ) -> Result<Done, Fault> {
        let limit = self.ia()?.attributes().max_rdma_size;
        let sizes: Vec<u64> =
            sizes(limit).into_iter().filter(|size| (1..=limit).contains(size)).collect();
        for &size in &sizes {
            act(first_seed + size, &[(256, size)], (32, size))?;
        }
        let mut detail: Vec<String> = sizes.iter().map(|size| units::bytes(*size)).collect();
        let (length, segments) = (SEGMENTED.min(limit), segments.min(4));
        if segments > 1 && length >= 16 {
            act(first_seed + 500, &pieces(length, segments.into()), (99, length))?;
            detail.push(format!("{segments} segments"));
        }
        Ok(Done::Passed(detail.join(", ")))
    }

    /// Ends the connection; a receive that waits must come back flushed.
    fn disconnect(&self) -> Result<Done, Fault> {
        let (side, Buffers { into, .. }) = (self.side()?, self.buffers()?);
        side.ep.post_recv(&[into.lmr.triplet(0, 64)?], 1, CompletionFlags::empty())?;
        side.ep.disconnect(Close::Graceful)?;
        side.told(ConnectionEventKind::Disconnected)?;
        let flushed = DtoCompletion {
            ep: side.ep.id(),
            cookie: 1,
            operation: Operation::Receive,
            status: DtoStatus::Flushed,
            ..DtoCompletion::default()
        };
        await_completion(&side.recv, &flushed, self.patience)?;
        Ok(Done::Passed("waiting receive flushed".to_owned()))
    }

    /// Frees everything that was made, in an order that leaves nothing in use.
    fn close(&mut self) -> Result<Done, Fault> {
        let mut done: Vec<dat_core::Result<()>> = Vec::new();
        if let Some(side) = self.side.take() {
            done.extend(side.free());
        }
        if let Some(Buffers { out, into }) = self.buffers.take() {
            done.extend([out.lmr.free(), into.lmr.free()]);
        }
        done.extend(self.pz.take().map(|pz| pz.free()));
        let mut first = done.into_iter().collect::<dat_core::Result<()>>().map_err(Fault::from);
        if let Some(ia) = self.ia.take() {
            first = first.and(asynchronous_error(&ia));
            first = first.and(ia.close(Close::Graceful).map_err(Fault::from));
        }
        first.map(|()| Done::Passed("gracefully, nothing left".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;
    use crate::ping::runner::Runner;
    use crate::ping::serve::Service;
    use crate::providers;
    use dat_core::registry::Configuration;

    const PATIENCE: Duration = Duration::from_secs(20);

    fn registry() -> Registry {
        providers::registry_of(Configuration::from_text("dat.conf", ""))
    }

    fn visit(name: &str, port: u64) -> Runner {
        let visit =
            Visit::new(registry(), name.to_owned(), ("127.0.0.1".to_owned(), port), PATIENCE);
        crate::ping::walk(visit, open(), rest, false, &mut Output::stdout())
    }

    #[test]
    fn every_step_passes_against_a_service() {
        let service = Service::new(&registry(), "loopback", 40_001, PATIENCE).expect("it listens");
        let calls = std::thread::spawn(move || {
            let calls = [service.next(), service.next()].map(|call| call.expect("a client"));
            service.end().expect("nothing is left");
            calls
        });
        for name in ["loopback", "loopback?max_rdma_size=5000,max_message_size=3000,max_iov=1"] {
            let runner = visit(name, 40_001);
            let summary = runner.summary();
            assert!(summary.failed == 0 && summary.skipped == 0, "{:?}", runner.first_failure());
            assert!(summary.passed >= 12, "{summary:?}");
        }
        let calls = calls.join().expect("it ends");
        assert!(calls.iter().all(crate::ping::serve::Call::is_well), "{calls:?}");
    }

    #[test]
    fn without_a_service_the_connection_fails_and_all_else_is_skipped() {
        let runner = visit("loopback", 40_002);
        let (step, _) = runner.first_failure().expect("nobody listens");
        assert_eq!(step, "connect");
        assert_eq!(runner.summary().failed, 1);
    }
}
