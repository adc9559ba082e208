//! Listing and opening adapters: parameters and attributes.

use crate::common::{Setup, check_refused, in_world, try_open};
use dat_core::flags::{CompletionFlags, MemoryTypes, Qos};
use dat_core::provider::Provider;
use dat_core::{ReturnType, Subtype};
use dat_provider_loopback::LoopbackProvider;

#[test]
fn the_provider_describes_itself() {
    let described = LoopbackProvider.describe();
    assert_eq!(described.name, "loopback");
    let found = dat_provider_loopback::provider().discover();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].name, "loopback");
    assert!(found[0].unusable.is_none());
    assert!(found[0].summary.contains("127.0.0.1"));
}

#[test]
fn any_name_can_be_opened_and_reports_its_attributes() {
    let attributes = try_open("ia7", "").unwrap().attributes();
    let (ia, provider, ep) = (&attributes.ia, &attributes.provider, &attributes.default_ep);
    assert_eq!(ia.adapter_name, "ia7");
    assert_eq!(ia.address.to_string(), "127.0.0.1");
    assert_eq!(ia.max_message_size, 1 << 30);
    assert_eq!(ia.max_rdma_size, 1 << 30);
    assert_eq!(provider.qos_supported, Qos::all());
    assert_eq!(provider.lmr_mem_types, MemoryTypes::all());
    let flags = provider.completion_flags_supported;
    assert_eq!(flags, CompletionFlags::all() - CompletionFlags::LMR_INVALIDATE_FENCE);
    assert_eq!(256 % provider.optimal_buffer_alignment, 0);
    assert!(ep.max_recv_dtos > 0 && ep.max_request_dtos > 0);
    assert!(ep.max_recv_iov > 0 && ep.max_request_iov > 0);
    assert!(ep.max_rdma_read_in > 0 && ep.max_rdma_read_out > 0);
    assert!(ep.max_message_size > 0 && ep.max_rdma_size > 0);
}

#[test]
fn parameters_set_limits_and_the_defaults_are_within_them() {
    let text = "max_eps=3,max_message_size=100 max_rdma_size=2147483647, max_dto_per_ep=5 \
                max_iov=2 max_rdma_read_in=1,max_rdma_read_out=0,max_private_data_size=17 \
                max_lmrs=9 max_pzs=4 max_rmrs=0 max_srqs=1 max_evds=6 max_evd_qlen=77 \
                address=127.9.9.9";
    let attributes = try_open("x", text).unwrap().attributes();
    let (ia, ep) = (&attributes.ia, &attributes.default_ep);
    assert_eq!((ia.max_eps, ia.max_message_size, ia.max_rdma_size), (3, 100, 2_147_483_647));
    assert_eq!((ia.max_dto_per_ep, ia.max_iov_segments_per_dto), (5, 2));
    assert_eq!((ia.max_rdma_read_per_ep_in, ia.max_rdma_read_per_ep_out), (1, 0));
    assert_eq!((ia.max_rdma_read_in, ia.max_rdma_read_out), (3, 0));
    assert_eq!((ia.max_lmrs, ia.max_pzs, ia.max_rmrs, ia.max_srqs), (9, 4, 0, 1));
    assert_eq!((ia.max_evds, ia.max_evd_qlen), (6, 77));
    assert_eq!(ia.address.to_string(), "127.9.9.9");
    assert_eq!(attributes.provider.max_private_data_size, 17);
    assert_eq!((ep.max_recv_dtos, ep.max_request_iov), (5, 2));
    assert_eq!((ep.max_message_size, ep.max_rdma_read_in, ep.max_rdma_read_out), (100, 1, 0));
}

#[test]
fn an_invalid_parameter_is_named_with_the_valid_ones() {
    let cases: [(_, &[_]); 9] = [
        ("max_ep=5", &["\"max_ep\"", "\"5\"", "max_eps=5?"]),
        ("colour=blue", &["\"colour\"", "\"blue\"", "max_iov", "address"]),
        ("max_eps=many", &["max_eps", "\"many\"", "from 1 to"]),
        ("max_eps=0", &["max_eps", "\"0\"", "from 1 to"]),
        ("max_message_size=2147483648", &["max_message_size", "2147483648", "2147483647"]),
        ("max_iov=-1", &["max_iov", "\"-1\""]),
        ("max_iov", &["\"max_iov\"", "key=value"]),
        ("address=10.0.0.1", &["address", "\"10.0.0.1\"", "127.0.0.0"]),
        ("max_iov=2,address=here", &["address", "\"here\""]),
    ];
    check_refused(&cases, |text| try_open("ia", text).err());
}

#[test]
fn objects_of_another_provider_are_refused() {
    struct Foreign;
    impl dat_core::provider::CompletionQueue for Foreign {}
    in_world(|world| {
        let mut spec = world.side_with(Setup::default()).spec.clone();
        spec.receive_queue = Some(std::sync::Arc::new(Foreign));
        let refused = world.adapter.create_queue_pair(spec).err().unwrap();
        assert!(refused.is(ReturnType::InvalidHandle));
        assert_eq!(refused.subtype(), Subtype::InvalidHandleEvdRecv);
    });
}
