//! Every call with invalid objects: freed ones, ones of another instance of the adapter, and ones of
//! an adapter that was closed abruptly. The call must return `DAT_INVALID_HANDLE` and change nothing.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};

use crate::prelude::*;
use dat_core::attr::ProviderAttributes;

cases! {
    "semantics, handles and arguments: a freed object as an argument": freed_arguments;
    "semantics, handles and arguments: an object of another instance as an argument":
        foreign_arguments;
    "semantics, handles and arguments: an object of a closed adapter as an argument":
        arguments_of_a_closed_adapter;
    "semantics, handles and arguments: a call on a freed object": calls_on_freed_objects;
    "dat_ia_close(3DAT): calls on what the abrupt close ended":
        calls_on_objects_of_a_closed_adapter;
    "dat_ia_close(3DAT): calls on a closed adapter": calls_on_a_closed_adapter;
    "dat_ia_open(3DAT): async_evd_handle": asynchronous_dispatchers;
    "dat_ep_post_send(3DAT), dat_ep_post_recv(3DAT), dat_ep_post_rdma_write(3DAT), dat_ep_post_rdma_read(3DAT), dat_srq_post_recv(3DAT), dat_lmr_sync_rdma_read(3DAT), dat_lmr_sync_rdma_write(3DAT): segments of other regions":
        segments_of_freed_regions, segments_of_another_instance, segments_of_a_closed_adapter;
}

/// One object of each kind on an adapter, and the objects that they need.
struct World {
    node: Node,
    software: Evd,
    /// Dispatchers without users.
    dto: Evd,
    connection: Evd,
    requests: Evd,
    cno: Cno,
    pz: Pz,
    /// An unconnected endpoint.
    ep: Ep,
    /// Connected endpoints, the active side first.
    client: Ep,
    server: Ep,
    buffer: Buffer,
    local: LmrTriplet,
    remote: RmrTriplet,
    rmr: Option<Rmr>,
    srq: Option<Srq>,
    psp: Psp,
    csp: Option<Csp>,
    rsp: Rsp,
    reserved: Ep,
    request: Cr,
    asking: Ep,
}

/// The state that a refused call must not change.
#[derive(Debug, PartialEq)]
struct Snapshot {
    eps: Vec<EpParam>,
    evds: Vec<EvdParam>,
    lmr: LmrParam,
    rmr: Option<RmrParam>,
    srq: Option<SrqParam>,
    request: CrParam,
    points: (u64, u64, Option<SocketAddr>),
}

/// Ports and qualifiers that no other case uses.
fn fresh_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(20_000);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

const SRQ: SrqAttributes = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };

impl World {
    fn new() -> Self {
        Self::on(&open(""))
    }

    fn on(ia: &Ia) -> Self {
        let node = Node::on(ia.clone());
        let offers = ia.provider_attributes();
        let (client, server) = (node.ep(), node.ep());
        link(&node, &client, &node, &server);
        let psp = node.psp();
        let asking = node.connecting(psp.qualifier());
        let reserved = node.ep();
        let rsp = ia.rsp_create(fresh_port().into(), Some(&reserved), &node.requests);
        let csp = HAS_2_0.then(|| node.csp(fresh_port()));
        let buffer = node.buffer(64);
        Self {
            software: node.evd(EvdFlags::SOFTWARE),
            dto: node.evd(EvdFlags::COMPLETIONS),
            connection: node.evd(EvdFlags::CONNECTION),
            requests: node.evd(EvdFlags::CONNECTION_REQUEST),
            cno: ia.cno_create(None).expect("a notification object"),
            pz: ia.pz_create().expect("a zone"),
            ep: node.ep(),
            local: buffer.piece(0, 8),
            remote: buffer.remote(0, 8),
            buffer,
            rmr: offers.rmr_supported.then(|| ia.rmr_create(&node.pz).expect("a region")),
            srq: offers.srq_supported.then(|| ia.srq_create(&node.pz, SRQ).expect("a queue")),
            csp,
            rsp: rsp.expect("a qualifier"),
            request: expect_request(&node.requests).request,
            client,
            server,
            psp,
            reserved,
            asking,
            node,
        }
    }

    /// Rows that use it are skipped if the API has no such object.
    fn csp(&self) -> &Csp {
        self.csp.as_ref().expect("an API with common service points")
    }

    fn ia(&self) -> &Ia {
        &self.node.ia
    }

    fn evds(&self) -> [&Evd; 8] {
        let Node { recv, request, connect, requests, .. } = &self.node;
        let Self { software, dto, connection, requests: spare, .. } = self;
        [recv, request, connect, requests, software, dto, connection, spare]
    }

    fn eps(&self) -> [&Ep; 5] {
        [&self.ep, &self.client, &self.server, &self.reserved, &self.asking]
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot {
            eps: self.eps().map(|ep| ep.query().expect("live")).into(),
            evds: self.evds().map(|evd| evd.query().expect("live")).into(),
            lmr: self.buffer.lmr.query().expect("live"),
            rmr: self.rmr.as_ref().map(|rmr| rmr.query().expect("live")),
            srq: self.srq.as_ref().map(|srq| srq.query().expect("live")),
            request: self.request.query().expect("waiting"),
            points: (
                self.psp.query().expect("live").qualifier,
                self.rsp.query().expect("live").qualifier,
                self.csp.as_ref().map(|csp| csp.query().expect("live").address),
            ),
        }
    }

    fn untouched(&self, before: &Snapshot, what: &str) {
        assert_eq!(&self.snapshot(), before, "{what}");
        for ep in self.eps() {
            let status = ep.status().expect("live");
            assert!(status.recv_idle && status.request_idle, "{what}: {status:?}");
        }
        for evd in self.evds() {
            expect_no_event(evd);
        }
    }

    /// Frees every object, but does not close the adapter.
    fn free(&self) {
        free_all(&[&self.psp, &self.rsp]);
        self.request.reject(b"").expect("waiting");
        let optional = [
            self.csp.as_ref().map(|csp| csp as &dyn Free),
            self.rmr.as_ref().map(|rmr| rmr as &dyn Free),
            self.srq.as_ref().map(|srq| srq as &dyn Free),
        ];
        free_all(&self.eps().map(|ep| ep as &dyn Free));
        free_all(&optional.into_iter().flatten().collect::<Vec<_>>());
        self.buffer.lmr.free().expect("unused");
        free_all(&self.evds().map(|evd| evd as &dyn Free));
        free_all(&[&self.cno, &self.pz, &self.node.pz]);
    }

    fn finish(self) {
        self.free();
        self.ia().close(Close::Graceful).expect("nothing is left");
    }
}

/// Why an object is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Freed,
    /// It is live, but belongs to another instance.
    Foreign,
    /// Its adapter was closed abruptly.
    Closed,
}

impl Fate {
    fn world(self, good: &World) -> World {
        match self {
            Self::Freed => {
                let world = World::on(good.ia());
                world.free();
                world
            }
            Self::Foreign => World::new(),
            Self::Closed => {
                let world = World::new();
                world.ia().close(Close::Abrupt).expect("open");
                world
            }
        }
    }
}

/// A call that must be refused, and the handle that its error names.
struct Row {
    call: &'static str,
    subtypes: &'static [Subtype],
    run: fn(&World, &World) -> Result<()>,
}

macro_rules! rows {
    ($($call:literal, $subtypes:expr, |$good:pat_param, $bad:pat_param| $run:expr;)+) => {
        &[$(Row { call: $call, subtypes: $subtypes, run: |$good, $bad| $run.map(drop) },)+]
    };
}

const EP: &[Subtype] = &[Subtype::InvalidHandleEp];
const PZ: &[Subtype] = &[Subtype::InvalidHandlePz];
const LMR: &[Subtype] = &[Subtype::InvalidHandleLmr];
const RMR: &[Subtype] = &[Subtype::InvalidHandleRmr];
const CNO: &[Subtype] = &[Subtype::InvalidHandleCno];
const CR: &[Subtype] = &[Subtype::InvalidHandleCr];
const SRQS: &[Subtype] = &[Subtype::InvalidHandleSrq];
const PSP: &[Subtype] = &[Subtype::InvalidHandlePsp];
const RSP: &[Subtype] = &[Subtype::InvalidHandleRsp];
const CSP: &[Subtype] = &[Subtype::InvalidHandleCsp];
const IA: &[Subtype] = &[Subtype::InvalidHandleIa];
const RECV: &[Subtype] = &[Subtype::InvalidHandleEvdRecv];
const REQUEST: &[Subtype] = &[Subtype::InvalidHandleEvdRequest];
const CONNECT: &[Subtype] = &[Subtype::InvalidHandleEvdConn];
const REQUESTS: &[Subtype] = &[Subtype::InvalidHandleEvdCr];
/// Subtypes of dispatchers: no subtype names a dispatcher in general.
const EVD: &[Subtype] = &[
    Subtype::InvalidHandleEvdCr,
    Subtype::InvalidHandleEvdRequest,
    Subtype::InvalidHandleEvdRecv,
    Subtype::InvalidHandleEvdConn,
    Subtype::InvalidHandleEvdAsync,
];

/// Calls on valid objects with an invalid argument.
const ARGUMENTS: &[Row] = rows! {
    "dat_ep_create: pz_handle", PZ, |good, bad| good.ia().ep_create(&EpSpec::new(&bad.pz));
    "dat_ep_create: recv_evd_handle", RECV,
        |good, bad| good.ia().ep_create(&good.node.spec().recv_evd(&bad.dto));
    "dat_ep_create: request_evd_handle", REQUEST,
        |good, bad| good.ia().ep_create(&good.node.spec().request_evd(&bad.dto));
    "dat_ep_create: connect_evd_handle", CONNECT,
        |good, bad| good.ia().ep_create(&good.node.spec().connect_evd(&bad.connection));
    "dat_ep_modify: pz_handle", PZ, |good, bad| good.ep.modify(&EpUpdate::new().pz(&bad.pz));
    "dat_ep_modify: recv_evd_handle", RECV,
        |good, bad| good.ep.modify(&EpUpdate::new().recv_evd(Some(&bad.dto)));
    "dat_ep_modify: request_evd_handle", REQUEST,
        |good, bad| good.ep.modify(&EpUpdate::new().request_evd(Some(&bad.dto)));
    "dat_ep_modify: connect_evd_handle", CONNECT,
        |good, bad| good.ep.modify(&EpUpdate::new().connect_evd(Some(&bad.connection)));
    "dat_ep_modify: all of a change or nothing", CONNECT, |good, bad| {
        let change = EpUpdate::new().pz(&good.pz).recv_evd(None).request_evd(Some(&good.dto));
        good.ep.modify(&change.connect_evd(Some(&bad.connection)))
    };
    "dat_ep_dup_connect: dup_ep_handle", EP, |good, bad| {
        good.ep.dup_connect(&bad.client, Timeout::Infinite, b"", Default::default())
    };
    "dat_ep_dup_connect: dup_ep_handle, unconnected", EP, |good, bad| {
        good.ep.dup_connect(&bad.ep, Timeout::Infinite, b"", Default::default())
    };
    "dat_evd_create: cno_handle", CNO, |good, bad| {
        good.ia().evd_create(&EvdOptions::new(1, EvdFlags::SOFTWARE).with_cno(&bad.cno))
    };
    "dat_evd_modify_cno: cno_handle", CNO, |good, bad| good.software.modify_cno(Some(&bad.cno));
    "dat_lmr_create: pz_handle", PZ, |good, bad| {
        let source = MemorySource::Memory(&good.buffer.memory);
        good.ia().lmr_create(source, &bad.pz, Privileges::ALL)
    };
    "dat_lmr_create: an LMR as region_description", LMR, |good, bad| {
        good.ia().lmr_create(MemorySource::Lmr(&bad.buffer.lmr), &good.pz, Privileges::ALL)
    };
    "dat_psp_create: evd_handle", REQUESTS,
        |good, bad| good.ia().psp_create(fresh_port().into(), &bad.requests, EpProvision::Consumer);
    "dat_psp_create_any: evd_handle", REQUESTS,
        |good, bad| good.ia().psp_create_any(&bad.requests, EpProvision::Consumer);
    "dat_rsp_create: evd_handle", REQUESTS,
        |good, bad| good.ia().rsp_create(fresh_port().into(), Some(&good.ep), &bad.requests);
    "dat_rsp_create without an endpoint: evd_handle", REQUESTS,
        |good, bad| good.ia().rsp_create(fresh_port().into(), None, &bad.requests);
    "dat_rsp_create: ep_handle", EP,
        |good, bad| good.ia().rsp_create(fresh_port().into(), Some(&bad.ep), &good.requests);
    "dat_csp_create: evd_handle", REQUESTS, |good, bad| {
        let socket = good.node.socket(fresh_port());
        good.ia().csp_create(Comm::for_address(socket.ip()), socket, &bad.requests)
    };
    "dat_cr_accept: ep_handle", EP, |good, bad| good.request.accept(Some(&bad.ep), b"");
    "dat_cr_accept: ep_handle, connected", EP,
        |good, bad| good.request.accept(Some(&bad.client), b"");
};

/// Calls with an invalid argument that need shared receive queues.
const SRQ_ARGUMENTS: &[Row] = rows! {
    "dat_srq_create: pz_handle", PZ, |good, bad| good.ia().srq_create(&bad.pz, SRQ);
    "dat_ep_create_with_srq: srq_handle", SRQS,
        |good, bad| good.ia().ep_create(&good.node.spec().srq(srq(bad)));
    "dat_ep_create_with_srq: pz_handle", PZ,
        |good, bad| good.ia().ep_create(&EpSpec::new(&bad.pz).srq(srq(good)));
};

/// Calls with an invalid argument that need remote memory regions.
const RMR_ARGUMENTS: &[Row] = rows! {
    "dat_rmr_create: pz_handle", PZ, |good, bad| good.ia().rmr_create(&bad.pz);
    "dat_rmr_bind: ep_handle, connected", EP,
        |good, bad| rmr(good).bind(&bad.client, &opening(good));
    "dat_rmr_bind: ep_handle, unconnected", EP,
        |good, bad| rmr(good).bind(&bad.ep, &opening(good));
    "dat_rmr_bind: the LMR", LMR, |good, bad| rmr(good).bind(&good.client, &opening(bad));
};

/// Calls on invalid objects.
const CALLS: &[Row] = rows! {
    "dat_ep_query", EP, |_, bad| bad.ep.query();
    "dat_ep_get_status", EP, |_, bad| bad.ep.status();
    "dat_ep_recv_query", EP, |_, bad| bad.ep.recv_query();
    "dat_ep_free", EP, |_, bad| bad.ep.free();
    "dat_ep_free, of a connected one", EP, |_, bad| bad.client.free();
    "dat_ep_free, of a reserved one", EP, |_, bad| bad.reserved.free();
    "dat_ep_reset", EP, |_, bad| bad.ep.reset();
    "dat_ep_modify", EP, |_, bad| bad.ep.modify(&EpUpdate::new());
    "dat_ep_modify: a good zone", EP, |good, bad| bad.ep.modify(&EpUpdate::new().pz(&good.pz));
    "dat_ep_connect", EP, |good, bad| {
        bad.ep.connect(&Connect::to(good.node.address(), good.psp.qualifier()))
    };
    "dat_ep_common_connect", EP, |good, bad| {
        bad.ep.common_connect(good.csp().query().expect("live").address, Timeout::Infinite, b"")
    };
    "dat_ep_dup_connect", EP, |good, bad| {
        bad.ep.dup_connect(&good.client, Timeout::Infinite, b"", Default::default())
    };
    "dat_ep_disconnect, graceful", EP, |_, bad| bad.client.disconnect(Close::Graceful);
    "dat_ep_disconnect, abrupt", EP, |_, bad| bad.client.disconnect(Close::Abrupt);
    "dat_ep_post_recv", EP, |good, bad| bad.ep.post_recv(&[good.local], 1, NONE);
    "dat_ep_post_send", EP, |good, bad| bad.client.post_send(&[good.local], 1, NONE);
    "dat_ep_post_rdma_write", EP,
        |good, bad| bad.client.post_rdma_write(&[good.local], 1, good.remote, NONE);
    "dat_ep_post_rdma_read", EP,
        |good, bad| bad.client.post_rdma_read(&[good.local], 1, good.remote, NONE);
    "dat_ep_set_watermark", EP, |_, bad| bad.ep.set_watermark(Some(1), Some(2));
    "dat_evd_dequeue", EVD, |_, bad| bad.software.dequeue(&mut Event::default());
    "dat_evd_wait", EVD, |_, bad| bad.software.wait(Timeout::ZERO, 1, &mut Event::default());
    "dat_evd_post_se", EVD, |_, bad| bad.software.post_software_event(1);
    "dat_evd_query", EVD, |_, bad| bad.software.query();
    "dat_evd_modify_cno", EVD, |good, bad| bad.software.modify_cno(Some(&good.cno));
    "dat_evd_modify_cno, to none", EVD, |_, bad| bad.software.modify_cno(None);
    "dat_evd_enable", EVD, |_, bad| bad.software.enable();
    "dat_evd_disable", EVD, |_, bad| bad.software.disable();
    "dat_evd_set_unwaitable", EVD, |_, bad| bad.software.set_unwaitable();
    "dat_evd_clear_unwaitable", EVD, |_, bad| bad.software.clear_unwaitable();
    "dat_evd_resize", EVD, |_, bad| bad.dto.resize(2);
    "Evd::arm", EVD, |_, bad| bad.dto.arm();
    "dat_evd_free", EVD, |_, bad| bad.software.free();
    "dat_evd_free, of one that was used", EVD, |_, bad| bad.node.recv.free();
    "dat_cno_wait", CNO, |_, bad| bad.cno.wait(Timeout::ZERO);
    "dat_cno_trigger", CNO, |_, bad| bad.cno.trigger();
    "dat_cno_modify_agent", CNO, |_, bad| bad.cno.modify_agent(None);
    "dat_cno_free", CNO, |_, bad| bad.cno.free();
    "dat_pz_free", PZ, |_, bad| bad.pz.free();
    "dat_pz_free, of one that was used", PZ, |_, bad| bad.node.pz.free();
    "dat_lmr_query", LMR, |_, bad| bad.buffer.lmr.query();
    "dat_lmr_free", LMR, |_, bad| bad.buffer.lmr.free();
    "dat_psp_query", PSP, |_, bad| bad.psp.query();
    "dat_psp_free", PSP, |_, bad| bad.psp.free();
    "dat_rsp_query", RSP, |_, bad| bad.rsp.query();
    "dat_rsp_free", RSP, |_, bad| bad.rsp.free();
    "dat_csp_query", CSP, |_, bad| bad.csp().query();
    "dat_csp_free", CSP, |_, bad| bad.csp().free();
    "dat_cr_query", CR, |_, bad| bad.request.query();
    "dat_cr_reject", CR, |_, bad| bad.request.reject(b"");
    "dat_cr_handoff", CR, |good, bad| bad.request.handoff(good.psp.qualifier());
};

/// Calls on invalid objects that are optional for a provider.
const OPTIONAL_CALLS: &[Row] = rows! {
    "dat_ep_post_send_with_invalidate", EP,
        |good, bad| bad.client.post_send_with_invalidate(&[good.local], 1, NONE, 1);
    "dat_ep_post_rdma_read_to_rmr", EP,
        |good, bad| bad.client.post_rdma_read_to_rmr(good.remote, 1, good.remote, NONE);
    "dat_ib_post_rdma_write_immed", EP, |good, bad| {
        bad.client.post_rdma_write_immediate(&[good.local], 1, good.remote, 2, NONE)
    };
    "dat_ib_post_fetch_and_add", EP,
        |good, bad| bad.client.post_fetch_and_add(1, good.local, 1, good.remote, NONE);
    "dat_ib_post_cmp_and_swap", EP,
        |good, bad| bad.client.post_compare_and_swap((1, 2), good.local, 1, good.remote, NONE);
};

/// Accepts an answered request on a suitable endpoint.
const FREED_ACCEPT: &[Row] = rows! {
    "dat_cr_accept", CR, |good, bad| bad.request.accept(Some(&good.ep), b"");
};

/// Once the adapter is closed both objects are freed, and the error may name either.
const CLOSED_ACCEPT: &[Row] = rows! {
    "dat_cr_accept", &[Subtype::InvalidHandleCr, Subtype::InvalidHandleEp],
        |_, bad| bad.request.accept(Some(&bad.ep), b"");
};

const SRQ_CALLS: &[Row] = rows! {
    "dat_srq_query", SRQS, |_, bad| srq(bad).query();
    "dat_srq_post_recv", SRQS, |good, bad| srq(bad).post_recv(&[good.local], 1);
    "dat_srq_resize", SRQS, |_, bad| srq(bad).resize(2);
    "dat_srq_set_lw", SRQS, |_, bad| srq(bad).set_low_watermark(1);
    "dat_srq_free", SRQS, |_, bad| srq(bad).free();
};

const RMR_CALLS: &[Row] = rows! {
    "dat_rmr_query", RMR, |_, bad| rmr(bad).query();
    "dat_rmr_bind", RMR, |good, bad| rmr(bad).bind(&good.client, &opening(good));
    "dat_rmr_free", RMR, |_, bad| rmr(bad).free();
};

/// Calls on the adapter itself, with its own objects.
const ADAPTER: &[Row] = rows! {
    "dat_evd_create", IA, |_, bad| bad.ia().evd_create(&EvdOptions::new(1, EvdFlags::SOFTWARE));
    "dat_cno_create", IA, |_, bad| bad.ia().cno_create(None);
    "dat_cno_fd_create", IA, |_, bad| bad.ia().cno_fd_create();
    "dat_pz_create", IA, |_, bad| bad.ia().pz_create();
    "dat_ep_create", IA, |_, bad| bad.ia().ep_create(&bad.node.spec());
    "dat_lmr_create", IA, |_, bad| {
        let source = MemorySource::Memory(&bad.buffer.memory);
        bad.ia().lmr_create(source, &bad.pz, Privileges::ALL)
    };
    "dat_rmr_create", IA, |_, bad| bad.ia().rmr_create(&bad.pz);
    "dat_rmr_create_for_ep", IA, |_, bad| bad.ia().rmr_create_for_ep(&bad.pz);
    "dat_srq_create", IA, |_, bad| bad.ia().srq_create(&bad.pz, SRQ);
    "dat_psp_create", IA,
        |_, bad| bad.ia().psp_create(fresh_port().into(), &bad.requests, EpProvision::Consumer);
    "dat_psp_create_any", IA,
        |_, bad| bad.ia().psp_create_any(&bad.requests, EpProvision::Consumer);
    "dat_rsp_create", IA,
        |_, bad| bad.ia().rsp_create(fresh_port().into(), Some(&bad.ep), &bad.requests);
    "dat_csp_create", IA, |_, bad| {
        let socket = bad.node.socket(fresh_port());
        bad.ia().csp_create(Comm::for_address(socket.ip()), socket, &bad.requests)
    };
    "dat_lmr_sync_rdma_read", IA, |_, bad| bad.ia().lmr_sync_rdma_read(&[]);
    "dat_lmr_sync_rdma_write", IA, |_, bad| bad.ia().lmr_sync_rdma_write(&[]);
    "dat_ia_close, graceful", IA, |_, bad| bad.ia().close(Close::Graceful);
    "dat_ia_close, abrupt", IA, |_, bad| bad.ia().close(Close::Abrupt);
};

fn srq(world: &World) -> &Srq {
    world.srq.as_ref().expect("tried only where there are any")
}

fn rmr(world: &World) -> &Rmr {
    world.rmr.as_ref().expect("tried only where there are any")
}

/// A bind of a whole local region.
fn opening(world: &World) -> Bind<'_> {
    Bind { triplet: world.local, ..world.buffer.bind(Privileges::REMOTE_READ) }
}

/// Returns true if a provider supports a call.
fn offered(call: &str, offers: &ProviderAttributes) -> bool {
    // In DAT 1.2 only the triplet names the local region of a bind.
    const OF_2_0: [&str; 6] = ["csp", "common", "cno_trigger", "cno_fd", "for_ep", "bind: the LMR"];
    let lacks = |word, has: bool| call.contains(word) && !has;
    !(lacks("srq", offers.srq_supported)
        || OF_2_0.iter().any(|word| lacks(word, HAS_2_0))
        || lacks("rmr", offers.rmr_supported)
        || lacks("invalidate", offers.invalidate_supported)
        || lacks("read_to_rmr", offers.read_to_rmr_supported)
        || lacks("immed", offers.immediate_data_supported)
        || lacks("_and_", offers.atomics_supported))
}

/// Makes the calls of the rows with invalid objects of one kind.
fn try_rows(fate: Fate, rows: &[&[Row]]) {
    let good = World::new();
    let bad = fate.world(&good);
    let before = good.snapshot();
    let there = (fate == Fate::Foreign).then(|| bad.snapshot());
    let offers = good.ia().provider_attributes().clone();
    for row in rows.iter().flat_map(|rows| rows.iter()) {
        if !offered(row.call, &offers) {
            continue;
        }
        let what = format!("{} with {fate:?} objects", row.call);
        let Err(error) = (row.run)(&good, &bad) else { panic!("{what}: it worked") };
        assert_eq!(error.return_type(), ReturnType::InvalidHandle, "{what}: {error}");
        assert!(row.subtypes.contains(&error.subtype()), "{what}: {error}");
        let call = row.call.split([',', ' ']).next().unwrap_or_default();
        assert!(call.starts_with(error.operation()), "{what}: {error}");
        good.untouched(&before, &what);
        if let Some(there) = &there {
            bad.untouched(there, &what);
        }
    }
    if fate == Fate::Foreign {
        bad.finish();
    }
    good.finish();
}

fn freed_arguments() {
    try_rows(Fate::Freed, &[ARGUMENTS, SRQ_ARGUMENTS, RMR_ARGUMENTS]);
}

fn foreign_arguments() {
    try_rows(Fate::Foreign, &[ARGUMENTS, SRQ_ARGUMENTS, RMR_ARGUMENTS]);
}

fn arguments_of_a_closed_adapter() {
    try_rows(Fate::Closed, &[ARGUMENTS, SRQ_ARGUMENTS, RMR_ARGUMENTS]);
}

fn calls_on_freed_objects() {
    try_rows(Fate::Freed, &[CALLS, OPTIONAL_CALLS, FREED_ACCEPT, SRQ_CALLS, RMR_CALLS]);
}

fn calls_on_objects_of_a_closed_adapter() {
    try_rows(Fate::Closed, &[CALLS, OPTIONAL_CALLS, CLOSED_ACCEPT, SRQ_CALLS, RMR_CALLS]);
}

fn calls_on_a_closed_adapter() {
    try_rows(Fate::Closed, &[ADAPTER]);
    // A graceful close has the same effect.
    let (good, bad) = (World::new(), World::new());
    bad.free();
    bad.ia().close(Close::Graceful).expect("nothing is left");
    let offers = good.ia().provider_attributes().clone();
    for row in ADAPTER.iter().filter(|row| offered(row.call, &offers)) {
        let error = refused((row.run)(&good, &bad), IA[0]);
        assert!(!bad.ia().is_live(), "{error}");
    }
    good.finish();
}

fn asynchronous_dispatchers() {
    let open_to = |evd: &Evd| {
        let Target { registry, mut name, .. } = target();
        if takes_parameters() {
            name = with_parameters(&name, &format!("address={}", fresh_address()));
        }
        let options =
            IaOptions { async_evd: AsyncEvd::Existing(evd.clone()), ..Default::default() };
        registry.open_with(&name, &options)
    };
    let wrong = |evd: &Evd| refused(open_to(evd), Subtype::InvalidHandleEvdAsync);
    let node = Node::new();
    let evd = node.evd(EvdFlags::ASYNC);
    let second = open_to(&evd).expect("a dispatcher of any open instance");
    refused(evd.free(), Subtype::InvalidStateEvdInUse);
    second.close(Close::Graceful).expect("nothing is on it");
    wrong(&node.recv);
    evd.free().expect("unused again");
    wrong(&evd);
    let closed = Node::new();
    let evd = closed.evd(EvdFlags::ASYNC);
    closed.ia.close(Close::Abrupt).expect("open");
    wrong(&evd);
    node.finish();
}

/// Makes the posts and calls that name memory by segments. A context without a region is a
/// violation. A context of another instance may equal that of a region here; then its address is
/// outside of the region.
fn try_segments(fate: Fate, types: &[ReturnType]) {
    let good = World::new();
    let bad = fate.world(&good);
    let before = good.snapshot();
    let World { client, ep, local: ours, remote, .. } = &good;
    let (ours, segment) = (*ours, bad.local);
    let mut results = vec![
        ("dat_ep_post_recv", ep.post_recv(&[segment], 1, NONE)),
        ("dat_ep_post_recv, the second", ep.post_recv(&[ours, segment], 1, NONE)),
        ("dat_ep_post_send", client.post_send(&[segment], 1, NONE)),
        ("dat_ep_post_send, the second", client.post_send(&[ours, segment], 1, NONE)),
        ("dat_ep_post_rdma_write", client.post_rdma_write(&[segment], 1, *remote, NONE)),
        ("dat_ep_post_rdma_read", client.post_rdma_read(&[segment], 1, *remote, NONE)),
    ];
    if good.ia().provider_attributes().atomics_supported {
        let added = client.post_fetch_and_add(1, segment, 1, *remote, NONE);
        let swapped = client.post_compare_and_swap((1, 2), segment, 1, *remote, NONE);
        results.extend([("fetch and add", added), ("compare and swap", swapped)]);
    }
    if let Some(srq) = &good.srq {
        results.push(("dat_srq_post_recv", srq.post_recv(&[segment], 1)));
    }
    for (call, result) in results {
        let Err(error) = result else { panic!("{call} with a {fate:?} segment: it worked") };
        assert!(types.contains(&error.return_type()), "{call} with a {fate:?} segment: {error}");
    }
    for result in [
        good.ia().lmr_sync_rdma_read(&[ours, segment]),
        good.ia().lmr_sync_rdma_write(&[ours, segment]),
    ] {
        // For these calls the page reports an invalid region as an invalid parameter.
        refused(result, Subtype::InvalidArg2);
    }
    good.untouched(&before, "segments");
    if fate == Fate::Foreign {
        bad.finish();
    }
    good.finish();
}

fn segments_of_freed_regions() {
    try_segments(Fate::Freed, &[ReturnType::ProtectionViolation]);
}

fn segments_of_another_instance() {
    try_segments(Fate::Foreign, VIOLATIONS);
}

fn segments_of_a_closed_adapter() {
    try_segments(Fate::Closed, VIOLATIONS);
}

const VIOLATIONS: &[ReturnType] = &[
    ReturnType::PrivilegesViolation,
    ReturnType::ProtectionViolation,
    ReturnType::InvalidParameter,
];
