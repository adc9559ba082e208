//! Calls that fail: registrations, posts, creations.

use super::*;
use dat_core::{EpProvision, EvdOptions, SrqAttributes, Subtype};

#[test]
fn the_nth_registration_fails_once() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new().register_nth(2));
        let register = || site.register();
        for _ in 0..2 {
            assert!(register().is_ok());
            let error = register().unwrap_err();
            assert!(error.is(ReturnType::InsufficientResources), "{error}");
            assert_eq!(error.subtype(), Subtype::ResourceMemoryRegion);
            assert!(error.to_string().contains("fault.register_nth=2"), "{error}");
            assert!(register().is_ok() && register().is_ok());
            // A new plan restarts the counts.
            faults.set(FaultPlan::new().register_nth(2));
        }
    });
}

#[test]
fn the_nth_post_fails_once_without_effect() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let (a, b) = site.pair();
        faults.set(FaultPlan::new().post_nth(3));
        b.receive(1).unwrap();
        a.send(2).unwrap();
        let error = a.send(3).unwrap_err();
        assert!(error.is(ReturnType::InsufficientResources), "{error}");
        assert_eq!(error.subtype(), Subtype::ResourceCredits);
        assert!(!b.has_event(), "still connected");
        b.receive(4).unwrap();
        a.send(5).unwrap();
        assert_eq!(a.done(), [(Send, 2, Success), (Send, 5, Success)]);
        assert_eq!(b.done(), [(Receive, 1, Success), (Receive, 4, Success)]);
        faults.set(FaultPlan::new().post_nth(1));
        assert!(b.receive(6).unwrap_err().is(ReturnType::InsufficientResources));
        b.receive(7).unwrap();
    });
}

#[test]
fn the_nth_creation_fails_with_its_resource() {
    bounded(|| {
        let (site, faults) = planned(FaultPlan::new());
        let ia = &site.ia;
        let evd = || ia.evd_create(&EvdOptions::new(4, EvdFlags::DTO)).map(drop);
        let srq = SrqAttributes { max_recv_dtos: 4, max_recv_iov: 1, low_watermark: 0 };
        let psp = || ia.psp_create_any(&site.requests, EpProvision::Consumer).map(drop);
        let creations: [(&dyn Fn() -> dat_core::Result<()>, Subtype); 5] = [
            (&|| ia.pz_create().map(drop), Subtype::ResourceProtectionDomain),
            (&evd, Subtype::ResourceTevd),
            (&|| ia.ep_create(&EpSpec::new(&site.pz)).map(drop), Subtype::ResourceTep),
            (&|| ia.srq_create(&site.pz, srq).map(drop), Subtype::ResourceSrq),
            (&psp, Subtype::ResourceDevice),
        ];
        for (create, resource) in creations {
            faults.set(FaultPlan::new().create_nth(2));
            create().unwrap();
            let error = create().unwrap_err();
            assert!(error.is(ReturnType::InsufficientResources), "{error}");
            assert_eq!(error.subtype(), resource);
            create().unwrap();
        }
    });
}
