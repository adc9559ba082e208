//! Object ids that the consumer assigns.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use dat_core::registry::Configuration;
use dat_core::{
    Close, Connect, EpProvision, EpSpec, Error, EvdFlags, EvdOptions, Ia, IdAllocator, Memory,
    MemorySource, ObjectKind, Privileges, Registry, Result, ReturnType, SrqAttributes, Subtype,
    Timeout,
};

/// Allocates ids, and records which are in use.
#[derive(Default)]
struct RecordingAllocator(Mutex<RecordedIds>);

#[derive(Default)]
struct RecordedIds {
    issued: u64,
    live: BTreeMap<u64, ObjectKind>,
    refused: Option<ObjectKind>,
}

const FIRST: u64 = 0x7f00_0000_0000;

impl IdAllocator for RecordingAllocator {
    fn allocate(&self, kind: ObjectKind) -> Result<u64> {
        let mut state = self.0.lock().unwrap();
        if state.refused == Some(kind) {
            return Err(Error::new(ReturnType::InsufficientResources, Subtype::ResourceMemory));
        }
        state.issued += 1;
        let number = FIRST + 64 * state.issued;
        state.live.insert(number, kind);
        Ok(number)
    }

    fn release(&self, kind: ObjectKind, number: u64) {
        let gone = self.0.lock().unwrap().live.remove(&number);
        assert_eq!(gone, Some(kind), "{number:#x} was released twice, or as another kind");
    }
}

impl RecordingAllocator {
    fn live(&self, kind: ObjectKind) -> Vec<u64> {
        let state = self.0.lock().unwrap();
        state.live.iter().filter(|(_, it)| **it == kind).map(|(number, _)| *number).collect()
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().live.len()
    }
}

fn open() -> (Arc<RecordingAllocator>, Ia) {
    let numbers = Arc::new(RecordingAllocator::default());
    let id_allocator = Arc::clone(&numbers) as Arc<dyn IdAllocator>;
    let registry = Registry::with_id_allocator(Configuration::default(), id_allocator);
    registry.add_provider(dat_provider_loopback::provider()).unwrap();
    let ia = registry.open("loopback").unwrap();
    (numbers, ia)
}

/// Creates one object of each kind, and a connection request.
fn populate(ia: &Ia) -> Vec<Box<dyn std::any::Any>> {
    let pz = ia.pz_create().unwrap();
    let cno = ia.cno_create(None).unwrap();
    let all = EvdFlags::DTO | EvdFlags::CONNECTION | EvdFlags::RMR_BIND;
    let evd = ia.evd_create(&EvdOptions::new(8, all)).unwrap();
    let requests = ia.evd_create(&EvdOptions::new(8, EvdFlags::CONNECTION_REQUEST)).unwrap();
    let memory = Memory::zeroed(64).unwrap();
    let source = MemorySource::Memory(&memory);
    let lmr = ia.lmr_create(source, &pz, Privileges::all()).unwrap();
    let rmr = ia.rmr_create(&pz).unwrap();
    let attributes = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };
    let srq = ia.srq_create(&pz, attributes).unwrap();
    let psp = ia.psp_create_any(&requests, EpProvision::Provider).unwrap();
    let spec = EpSpec::new(&pz).recv_evd(&evd).request_evd(&evd).connect_evd(&evd);
    let ep = ia.ep_create(&spec).unwrap();
    let address = ia.attributes().address;
    ep.connect(&Connect::to(address, psp.qualifier()).timeout(Timeout::Infinite)).unwrap();
    vec![Box::new((pz, cno, evd, requests, lmr)), Box::new((memory, rmr, srq, psp, ep))]
}

#[test]
fn every_object_has_an_id_of_the_consumer() {
    let (numbers, ia) = open();
    assert_eq!(numbers.live(ObjectKind::Ia), [ia.id()]);
    let kept = populate(&ia);
    for kind in ObjectKind::ALL {
        let expected = match kind {
            ObjectKind::Rsp | ObjectKind::Csp => 0,
            // One is for asynchronous errors. The service point created an endpoint.
            ObjectKind::Evd => 3,
            ObjectKind::Ep => 2,
            _ => 1,
        };
        assert_eq!(numbers.live(kind).len(), expected, "{kind}");
    }
    ia.close(Close::Abrupt).unwrap();
    assert_eq!(numbers.count(), 0, "closing the adapter retires all ids");
    drop(kept);
    assert_eq!(numbers.count(), 0);
}

#[test]
fn freeing_an_object_retires_its_id_at_once() {
    let (numbers, ia) = open();
    let pz = ia.pz_create().unwrap();
    assert_eq!(numbers.live(ObjectKind::Pz), [pz.id()]);
    pz.free().unwrap();
    assert_eq!(numbers.live(ObjectKind::Pz), []);
    ia.close(Close::Graceful).unwrap();
    assert_eq!(numbers.count(), 0);
}

#[test]
fn a_failed_creation_leaves_no_id_in_use() {
    let (numbers, ia) = open();
    let before = numbers.count();
    assert!(ia.evd_create(&EvdOptions::new(u32::MAX, EvdFlags::DTO)).is_err());
    assert_eq!(numbers.count(), before);
    numbers.0.lock().unwrap().refused = Some(ObjectKind::Pz);
    let error = ia.pz_create().unwrap_err();
    assert!(error.is(ReturnType::InsufficientResources));
    assert_eq!(error.operation(), "dat_pz_create");
}
