//! Asynchronous errors.

use super::*;
use dat_core::AsyncErrorKind;
use dat_core::provider::AsyncUpcall;
use dat_provider_hooks::faults::AsyncFault;

#[test]
fn asynchronous_errors_can_be_raised() {
    bounded(|| {
        let provider = Arc::new(faulty(FaultPlan::new()));
        let faults = provider.faults();
        let sites = [Site::over(Arc::clone(&provider) as _), Site::over(provider)];
        let (a, _b) = sites[0].pair();
        let tag = a.ep.id();
        for (event, kind) in [
            (AsyncUpcall::Catastrophic, AsyncErrorKind::IaCatastrophic),
            (AsyncUpcall::ProviderInternal, AsyncErrorKind::ProviderInternal),
            (AsyncUpcall::QueuePairBroken { tag }, AsyncErrorKind::EpBroken),
        ] {
            assert_eq!(faults.raise(event), 2);
            for site in &sites {
                let error = site.async_error().unwrap();
                let object = if kind == AsyncErrorKind::EpBroken { tag } else { site.ia.id() };
                assert_eq!((error.kind, error.object), (kind, object));
                assert_eq!(site.async_error(), None);
            }
        }
        for site in &sites {
            site.ia.close(Close::Abrupt).unwrap();
        }
        assert_eq!(faults.raise(AsyncUpcall::Catastrophic), 0, "nothing is open");
    });
}

#[test]
fn an_asynchronous_error_follows_the_nth_post() {
    bounded(|| {
        for (value, kind) in [
            ("catastrophic", AsyncErrorKind::IaCatastrophic),
            ("internal", AsyncErrorKind::ProviderInternal),
            ("ep_broken", AsyncErrorKind::EpBroken),
        ] {
            let site = Site::with(&format!("fault.async={value} fault.async_after=2"));
            let (a, b) = site.pair();
            b.receive(1).unwrap();
            assert_eq!(site.async_error(), None);
            a.send(2).unwrap();
            let error = site.async_error().unwrap();
            assert_eq!(error.kind, kind);
            let object = if value == "ep_broken" { a.ep.id() } else { site.ia.id() };
            assert_eq!(error.object, object);
            b.receive(3).unwrap();
            assert_eq!(site.async_error(), None, "once");
        }
        // Without a number it follows the first post.
        let site = Site::with("fault.async=internal");
        site.end().receive(1).unwrap();
        assert!(site.async_error().is_some());
        let (site, faults) = planned(FaultPlan::new().async_after(AsyncFault::Internal, 1));
        site.end().receive(1).unwrap();
        assert!(site.async_error().is_some());
        faults.set(FaultPlan::new().async_after(AsyncFault::Internal, 0));
        site.end().receive(1).unwrap();
        assert_eq!(site.async_error(), None);
    });
}
