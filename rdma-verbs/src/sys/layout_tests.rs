//! Compares the layouts and constants of this module with the installed headers of rdma-core.
//!
//! A C program is generated from the same list as the Rust side, compiled and run; each line that
//! it prints must equal the line of the Rust side. Without the headers the test reports that on
//! standard error, even if the test runner captures output, and fails if `DAT_REQUIRE_RDMA_HEADERS`
//! is set.

use std::io::Write;
use std::mem::{offset_of, size_of};
use std::process::Command;

use super::{
    completion_ex as c, device_ex as d, domain_ex as t, extended as x, gid as g, rdma_cma as cm,
    verbs as v,
};

/// A fact to compare: a C expression and our value.
struct Fact(String, i128);

macro_rules! layouts {
    ($($module:ident::$type:ident { $($field:ident $(= $c_field:literal)?),* $(,)? })+) => {{
        let mut facts = Vec::new();
        $(
            let name = stringify!($type);
            facts.push(Fact(format!("sizeof(struct {name})"), size_of::<$module::$type>() as i128));
            $(
                let mut field = stringify!($field);
                $(field = $c_field;)?
                facts.push(Fact(
                    format!("offsetof(struct {name}, {field})"),
                    offset_of!($module::$type, $field) as i128,
                ));
                let _ = &mut field;
            )*
        )+
        facts
    }};
}

macro_rules! constants {
    ($($module:ident: $($name:ident),+;)+) => {
        vec![$($(Fact(stringify!($name).to_owned(), i128::from($module::$name))),+),+]
    };
}

fn layouts() -> Vec<Fact> {
    layouts! {
        v::ibv_device { node_type, transport_type, name, dev_name, dev_path, ibdev_path }
        v::ibv_context_ops {
            alloc_mw, bind_mw, dealloc_mw, poll_cq, req_notify_cq, post_srq_recv, post_send,
            post_recv,
        }
        v::ibv_context { device, ops, cmd_fd, async_fd, num_comp_vectors, abi_compat }
        v::ibv_device_attr {
            fw_ver, node_guid, max_mr_size, vendor_id, vendor_part_id, hw_ver, max_qp, max_qp_wr,
            device_cap_flags, max_sge, max_sge_rd, max_cq, max_cqe, max_mr, max_pd,
            max_qp_rd_atom, max_res_rd_atom, max_qp_init_rd_atom, atomic_cap, max_mw, max_ah,
            max_srq, max_srq_wr, max_srq_sge, max_pkeys, local_ca_ack_delay, phys_port_cnt,
        }
        v::ibv_port_attr {
            state, max_mtu, active_mtu, gid_tbl_len, max_msg_sz, pkey_tbl_len, lid, sm_lid, lmc,
            active_width, active_speed, phys_state, link_layer, flags, port_cap_flags2,
        }
        v::ibv_global_route { dgid, flow_label, sgid_index, hop_limit, traffic_class }
        v::ibv_ah_attr { grh, dlid, sl, src_path_bits, static_rate, is_global, port_num }
        v::ibv_pd { context, handle }
        v::ibv_mr { context, pd, addr, length, handle, lkey, rkey }
        v::ibv_mw { context, pd, rkey, handle, mw_type = "type" }
        v::ibv_ah { context, pd, handle }
        v::ibv_comp_channel { context, fd, refcnt }
        v::ibv_cq {
            context, channel, cq_context, handle, cqe, mutex, cond, comp_events_completed,
            async_events_completed,
        }
        v::ibv_srq { context, srq_context, pd, handle, mutex, cond, events_completed }
        v::ibv_qp {
            context, qp_context, pd, send_cq, recv_cq, srq, handle, qp_num, state, qp_type,
            mutex, cond, events_completed,
        }
        v::ibv_srq_attr { max_wr, max_sge, srq_limit }
        v::ibv_srq_init_attr { srq_context, attr }
        v::ibv_qp_cap { max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_data }
        v::ibv_qp_init_attr { qp_context, send_cq, recv_cq, srq, cap, qp_type, sq_sig_all }
        v::ibv_qp_attr {
            qp_state, cur_qp_state, path_mtu, path_mig_state, qkey, rq_psn, sq_psn, dest_qp_num,
            qp_access_flags, cap, ah_attr, alt_ah_attr, pkey_index, alt_pkey_index,
            en_sqd_async_notify, sq_draining, max_rd_atomic, max_dest_rd_atomic, min_rnr_timer,
            port_num, timeout, retry_cnt, rnr_retry, alt_port_num, alt_timeout, rate_limit,
        }
        v::ibv_sge { addr, length, lkey }
        v::ibv_send_wr {
            wr_id, next, sg_list, num_sge, opcode, send_flags, imm_or_key = "imm_data", wr,
            remote_srqn = "qp_type", bind_mw,
        }
        v::ibv_recv_wr { wr_id, next, sg_list, num_sge }
        v::ibv_mw_bind_info { mr, addr, length, mw_access_flags }
        v::ibv_mw_bind { wr_id, send_flags, bind_info }
        v::ibv_wc {
            wr_id, status, opcode, vendor_err, byte_len, imm_or_key = "imm_data", qp_num, src_qp,
            wc_flags, pkey_index, slid, sl, dlid_path_bits,
        }
        v::ibv_async_event { element, event_type }
        x::ibv_ece { vendor_id, options, comp_mask }
        x::ibv_data_buf { addr, length }
        d::ibv_odp_caps {
            general_caps, rc_odp_caps = "per_transport_caps.rc_odp_caps",
            uc_odp_caps = "per_transport_caps.uc_odp_caps",
            ud_odp_caps = "per_transport_caps.ud_odp_caps",
        }
        d::ibv_tso_caps { max_tso, supported_qpts }
        d::ibv_rss_caps {
            supported_qpts, max_rwq_indirection_tables, max_rwq_indirection_table_size,
            rx_hash_fields_mask, rx_hash_function,
        }
        d::ibv_packet_pacing_caps { qp_rate_limit_min, qp_rate_limit_max, supported_qpts }
        d::ibv_tm_caps { max_rndv_hdr_size, max_num_tags, flags, max_ops, max_sge }
        d::ibv_cq_moderation_caps { max_cq_count, max_cq_period }
        d::ibv_pci_atomic_caps { fetch_add, swap, compare_swap }
        c::ibv_cq_init_attr_ex {
            cqe, cq_context, channel, comp_vector, wc_flags, comp_mask, flags, parent_domain,
        }
        c::ibv_poll_cq_attr { comp_mask }
        c::ibv_values_ex { comp_mask, raw_clock }
        c::ibv_moderate_cq { cq_count, cq_period }
        c::ibv_modify_cq_attr { attr_mask, moderate }
        t::ibv_td { context }
        t::ibv_td_init_attr { comp_mask }
        t::ibv_parent_domain_init_attr { pd, td, comp_mask, alloc, free, pd_context }
        g::ibv_gid_entry { gid, gid_index, port_num, gid_type, ndev_ifindex }
        x::ibv_rx_hash_conf { rx_hash_function, rx_hash_key_len, rx_hash_key, rx_hash_fields_mask }
        x::ibv_qp_init_attr_ex {
            qp_context, send_cq, recv_cq, srq, cap, qp_type, sq_sig_all, comp_mask, pd, xrcd,
            create_flags, max_tso_header, rwq_ind_tbl, rx_hash_conf, source_qpn, send_ops_flags,
        }
        x::ibv_srq_init_attr_ex {
            srq_context, attr, comp_mask, srq_type, pd, xrcd, cq, tm_cap,
        }
        v::ibv_grh { version_tclass_flow, paylen, next_hdr, hop_limit, sgid, dgid }
        cm::rdma_cm_join_mc_attr_ex { comp_mask, join_flags, addr }
        cm::rdma_ib_addr { sgid, dgid, pkey }
        cm::rdma_addr { src = "src_addr", dst = "dst_addr", ib = "addr" }
        cm::rdma_route { addr, path_rec, num_paths }
        cm::rdma_event_channel { fd }
        cm::rdma_cm_id {
            verbs, channel, context, qp, route, ps, port_num, event, send_cq_channel, send_cq,
            recv_cq_channel, recv_cq, srq, pd, qp_type,
        }
        cm::rdma_conn_param {
            private_data, private_data_len, responder_resources, initiator_depth, flow_control,
            retry_count, rnr_retry_count, srq, qp_num,
        }
        cm::rdma_ud_param { private_data, private_data_len, ah_attr, qp_num, qkey }
        cm::rdma_cm_event { id, listen_id, event, status, param }
        cm::rdma_addrinfo {
            ai_flags, ai_family, ai_qp_type, ai_port_space, ai_src_len, ai_dst_len, ai_src_addr,
            ai_dst_addr, ai_src_canonname, ai_dst_canonname, ai_route_len, ai_route,
            ai_connect_len, ai_connect, ai_next,
        }
    }
}

/// The members of the unions in a request, which have no name of their own in C.
fn nested() -> Vec<Fact> {
    let wr = offset_of!(v::ibv_send_wr, wr);
    let bind = offset_of!(v::ibv_send_wr, bind_mw);
    [
        ("wr.rdma.remote_addr", wr + offset_of!(v::rdma_wr, remote_addr)),
        ("wr.rdma.rkey", wr + offset_of!(v::rdma_wr, rkey)),
        ("wr.atomic.remote_addr", wr + offset_of!(v::atomic_wr, remote_addr)),
        ("wr.atomic.compare_add", wr + offset_of!(v::atomic_wr, compare_add)),
        ("wr.atomic.swap", wr + offset_of!(v::atomic_wr, swap)),
        ("wr.atomic.rkey", wr + offset_of!(v::atomic_wr, rkey)),
        ("wr.ud.ah", wr + offset_of!(v::ud_wr, ah)),
        ("wr.ud.remote_qpn", wr + offset_of!(v::ud_wr, remote_qpn)),
        ("wr.ud.remote_qkey", wr + offset_of!(v::ud_wr, remote_qkey)),
        ("bind_mw.mw", bind + offset_of!(v::bind_mw_wr, mw)),
        ("bind_mw.rkey", bind + offset_of!(v::bind_mw_wr, rkey)),
        ("bind_mw.bind_info", bind + offset_of!(v::bind_mw_wr, bind_info)),
    ]
    .into_iter()
    .map(|(field, offset)| Fact(format!("offsetof(struct ibv_send_wr, {field})"), offset as i128))
    .chain(extended())
    .chain([Fact("sizeof(union ibv_gid)".to_owned(), size_of::<v::ibv_gid>() as i128)])
    .collect()
}

/// For structures that are longer in C: only the offsets of the part that both have.
fn extended() -> Vec<Fact> {
    macro_rules! offsets {
        ($module:ident::$type:ident { $($field:ident),* $(,)? }) => {
            [$(Fact(
                concat!("offsetof(struct ", stringify!($type), ", ", stringify!($field), ")").to_owned(),
                offset_of!($module::$type, $field) as i128,
            )),*]
        };
    }
    macro_rules! distances {
        ($($field:ident),*) => {
            [$(Fact(
                concat!(
                    "(sizeof(struct verbs_context) - offsetof(struct verbs_context, ",
                    stringify!($field), "))",
                ).to_owned(),
                (size_of::<x::verbs_context>() - offset_of!(x::verbs_context, $field)) as i128,
            )),*]
        };
    }
    offsets! { x::ibv_qp_ex {
        qp_base, comp_mask, wr_id, wr_flags, wr_atomic_cmp_swp, wr_atomic_fetch_add, wr_bind_mw,
        wr_local_inv, wr_rdma_read, wr_rdma_write, wr_rdma_write_imm, wr_send, wr_send_imm,
        wr_send_inv, wr_send_tso, wr_set_ud_addr, wr_set_xrc_srqn, wr_set_inline_data,
        wr_set_inline_data_list, wr_set_sge, wr_set_sge_list, wr_start, wr_complete, wr_abort,
        wr_atomic_write,
    } }
    .into_iter()
    .chain(offsets! { d::ibv_device_attr_ex {
        orig_attr, comp_mask, odp_caps, completion_timestamp_mask, hca_core_clock,
        device_cap_flags_ex, tso_caps, rss_caps, max_wq_type_rq, packet_pacing_caps,
        raw_packet_caps, tm_caps, cq_mod_caps, max_dm_size, pci_atomic_caps, xrc_odp_caps,
        phys_port_cnt_ex,
    } })
    .chain(offsets! { c::ibv_cq_ex {
        context, channel, cq_context, handle, cqe, mutex, cond, comp_events_completed,
        async_events_completed, comp_mask, status, wr_id, start_poll, next_poll, end_poll,
        read_opcode, read_vendor_err, read_byte_len, read_imm_data, read_qp_num, read_src_qp,
        read_wc_flags, read_slid, read_sl, read_dlid_path_bits, read_completion_ts, read_cvlan,
        read_flow_tag, read_tm_info, read_completion_wallclock_ns,
    } })
    .chain(distances!(
        query_port,
        advise_mr,
        alloc_null_mr,
        modify_qp_rate_limit,
        alloc_parent_domain,
        dealloc_td,
        alloc_td,
        modify_cq,
        query_rt_values,
        create_cq_ex,
        query_device_ex,
        create_qp_ex,
        get_srq_num,
        create_srq_ex,
        sz,
        context
    ))
    .collect()
}

fn values() -> Vec<Fact> {
    constants! {
        v: IBV_NODE_RNIC, IBV_PORT_ACTIVE, IBV_LINK_LAYER_INFINIBAND, IBV_LINK_LAYER_ETHERNET,
           IBV_DEVICE_SRQ_RESIZE, IBV_DEVICE_MEM_WINDOW,
           IBV_DEVICE_MEM_MGT_EXTENSIONS, IBV_DEVICE_MEM_WINDOW_TYPE_2A,
           IBV_DEVICE_MEM_WINDOW_TYPE_2B, IBV_ATOMIC_NONE, IBV_ACCESS_LOCAL_WRITE,
           IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_READ, IBV_ACCESS_REMOTE_ATOMIC,
           IBV_ACCESS_MW_BIND, IBV_ACCESS_ON_DEMAND, IBV_ACCESS_HUGETLB,
           IBV_ACCESS_RELAXED_ORDERING, IBV_QPT_UC, IBV_QPS_SQD, IBV_QP_AV, IBV_QP_PATH_MTU, IBV_QP_TIMEOUT,
           IBV_QP_RETRY_CNT, IBV_QP_RNR_RETRY, IBV_QP_RQ_PSN, IBV_QP_MAX_QP_RD_ATOMIC, IBV_QP_MAX_DEST_RD_ATOMIC,
           IBV_QP_DEST_QPN, IBV_QP_INIT_ATTR_PD, IBV_QP_INIT_ATTR_SEND_OPS_FLAGS, IBV_QP_EX_WITH_RDMA_WRITE,
           IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_SEND, IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_QP_EX_WITH_RDMA_READ,
           IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_LOCAL_INV,
           IBV_QP_EX_WITH_BIND_MW, IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_IMM, IBV_WC_SEND,
           IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ, IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD, IBV_WC_BIND_MW, IBV_WC_LOCAL_INV,
           IBV_WC_RECV, IBV_WC_GRH, IBV_WC_GENERAL_ERR, IBV_EVENT_LID_CHANGE, IBV_EVENT_PKEY_CHANGE, IBV_EVENT_SM_CHANGE,
           IBV_EVENT_CLIENT_REREGISTER, IBV_EVENT_GID_CHANGE, IBV_MW_TYPE_1, IBV_MW_TYPE_2, IBV_QPT_RC, IBV_QPT_UD,
           IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQE, IBV_QPS_ERR, IBV_QP_STATE, IBV_QP_CUR_STATE,
           IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX, IBV_QP_PORT, IBV_QP_QKEY,
           IBV_QP_MIN_RNR_TIMER, IBV_QP_SQ_PSN, IBV_QP_CAP, IBV_SEND_FENCE, IBV_SEND_SIGNALED,
           IBV_SEND_SOLICITED, IBV_SEND_INLINE, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
           IBV_WR_SEND, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
           IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_LOCAL_INV, IBV_WR_BIND_MW, IBV_WR_SEND_WITH_INV,
           IBV_WC_SUCCESS, IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR,
           IBV_WC_WR_FLUSH_ERR, IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR, IBV_WC_LOC_ACCESS_ERR,
           IBV_WC_REM_INV_REQ_ERR, IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,
           IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_REM_ABORT_ERR,
           IBV_WC_FATAL_ERR, IBV_WC_RESP_TIMEOUT_ERR, IBV_WC_RECV_RDMA_WITH_IMM,
           IBV_WC_WITH_IMM, IBV_WC_WITH_INV, IBV_WC_IP_CSUM_OK, IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL,
           IBV_EVENT_QP_REQ_ERR, IBV_EVENT_QP_ACCESS_ERR, IBV_EVENT_COMM_EST,
           IBV_EVENT_SQ_DRAINED, IBV_EVENT_PATH_MIG, IBV_EVENT_PATH_MIG_ERR,
           IBV_EVENT_DEVICE_FATAL, IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR, IBV_EVENT_SRQ_ERR,
           IBV_EVENT_SRQ_LIMIT_REACHED, IBV_EVENT_QP_LAST_WQE_REACHED, IBV_SRQ_MAX_WR,
           IBV_SRQ_LIMIT, IBV_QP_ALT_PATH, IBV_QP_PATH_MIG_STATE, IBV_MIG_MIGRATED, IBV_MIG_REARM,
           IBV_MIG_ARMED;
        g: IBV_GID_TYPE_IB, IBV_GID_TYPE_ROCE_V1, IBV_GID_TYPE_ROCE_V2;
        d: IBV_ODP_SUPPORT, IBV_ODP_SUPPORT_IMPLICIT, IBV_ODP_SUPPORT_SEND, IBV_ODP_SUPPORT_RECV,
           IBV_ODP_SUPPORT_WRITE, IBV_ODP_SUPPORT_READ, IBV_ODP_SUPPORT_ATOMIC,
           IBV_ODP_SUPPORT_SRQ_RECV, IBV_RAW_PACKET_CAP_CVLAN_STRIPPING,
           IBV_RAW_PACKET_CAP_SCATTER_FCS, IBV_RAW_PACKET_CAP_IP_CSUM,
           IBV_RAW_PACKET_CAP_DELAY_DROP, IBV_PCI_ATOMIC_OPERATION_4_BYTE_SIZE_SUP,
           IBV_PCI_ATOMIC_OPERATION_8_BYTE_SIZE_SUP, IBV_PCI_ATOMIC_OPERATION_16_BYTE_SIZE_SUP;
        c: IBV_WC_EX_WITH_BYTE_LEN, IBV_WC_EX_WITH_IMM, IBV_WC_EX_WITH_QP_NUM,
           IBV_WC_EX_WITH_SRC_QP, IBV_WC_EX_WITH_SLID, IBV_WC_EX_WITH_SL,
           IBV_WC_EX_WITH_DLID_PATH_BITS, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
           IBV_WC_EX_WITH_CVLAN, IBV_WC_EX_WITH_FLOW_TAG,
           IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK, IBV_WC_STANDARD_FLAGS,
           IBV_CQ_INIT_ATTR_MASK_FLAGS, IBV_CQ_INIT_ATTR_MASK_PD,
           IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN, IBV_CQ_ATTR_MODERATE, IBV_VALUES_MASK_RAW_CLOCK;
        t: IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE,
           IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT, IBV_ADVISE_MR_FLAG_FLUSH;
        cm: RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB, RDMA_CM_EVENT_ADDR_RESOLVED,
            RDMA_CM_EVENT_ADDR_ERROR, RDMA_CM_EVENT_ROUTE_RESOLVED, RDMA_CM_EVENT_ROUTE_ERROR,
            RDMA_CM_EVENT_CONNECT_REQUEST, RDMA_CM_EVENT_CONNECT_RESPONSE,
            RDMA_CM_EVENT_CONNECT_ERROR, RDMA_CM_EVENT_UNREACHABLE, RDMA_CM_EVENT_REJECTED,
            RDMA_CM_EVENT_ESTABLISHED, RDMA_CM_EVENT_DISCONNECTED, RDMA_CM_EVENT_DEVICE_REMOVAL,
            RDMA_CM_EVENT_ADDR_CHANGE, RDMA_CM_EVENT_TIMEWAIT_EXIT, RAI_PASSIVE, RAI_NUMERICHOST, RAI_NOROUTE, RAI_FAMILY, RDMA_CM_JOIN_MC_ATTR_ADDRESS,
            RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS, RDMA_MC_JOIN_FLAG_FULLMEMBER, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
            RDMA_CM_EVENT_MULTICAST_JOIN, RDMA_CM_EVENT_MULTICAST_ERROR, RDMA_OPTION_ID_REUSEADDR, RDMA_OPTION_ID_AFONLY,
            RDMA_OPTION_ID_ACK_TIMEOUT, RDMA_OPTION_ID,
            RDMA_OPTION_ID_TOS, RDMA_UDP_QKEY;
    }
}

fn program(facts: &[Fact]) -> String {
    let mut text = String::from(
        "#include <stddef.h>\n#include <stdio.h>\n#include <infiniband/verbs.h>\n\
         #include <rdma/rdma_cma.h>\nint main(void) {\n",
    );
    for Fact(expression, _) in facts {
        text += &format!("    printf(\"%lld\\n\", (long long)({expression}));\n");
    }
    text + "    return 0;\n}\n"
}

fn are_installed() -> bool {
    ["infiniband/verbs.h", "rdma/rdma_cma.h"]
        .iter()
        .all(|header| std::path::Path::new("/usr/include").join(header).exists())
}

#[test]
fn layouts_and_constants_match_the_installed_headers() {
    let facts: Vec<Fact> = [layouts(), nested(), values()].into_iter().flatten().collect();
    if !are_installed() {
        assert!(
            std::env::var_os("DAT_REQUIRE_RDMA_HEADERS").is_none(),
            "the headers of rdma-core are required: apt-get install libibverbs-dev librdmacm-dev"
        );
        let _ = writeln!(
            std::io::stderr(),
            "NOT CHECKED: {} layouts and constants of rdma-core: its headers are not installed \
             (apt-get install libibverbs-dev librdmacm-dev)",
            facts.len()
        );
        return;
    }
    let folder = std::env::temp_dir().join(format!("dat-layout-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder");
    let (source, binary) = (folder.join("layout.c"), folder.join("layout"));
    std::fs::write(&source, program(&facts)).expect("the program is written");
    let built = Command::new("cc").arg("-o").args([&binary, &source]).output().expect("cc runs");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let output = Command::new(&binary).output().expect("the program runs").stdout;
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
    let output = String::from_utf8(output).expect("numbers");
    let theirs: Vec<i128> = output.lines().map(|line| line.parse().expect("a number")).collect();
    assert_eq!(theirs.len(), facts.len());
    let wrong: Vec<String> = facts
        .iter()
        .zip(&theirs)
        .filter(|(Fact(_, ours), theirs)| ours != *theirs)
        .map(|(Fact(expression, ours), theirs)| format!("{expression}: {theirs} in C, {ours} here"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
