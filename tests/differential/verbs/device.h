/* Devices, ports, domains. SPDX-License-Identifier: MIT OR Apache-2.0 */

static void devices(void)
{
    struct ibv_port_attr port;
    union ibv_gid one;
    __be16 key;
    struct ibv_device_attr_ex extended;
    int number;

    open_device();
    if (begins("device")) {
        say("type", "%d", context->device->node_type);
        say("transport", "%d", context->device->transport_type);
        say("ports", "%d", limits.phys_port_cnt);
        say("atomics", "%d", limits.atomic_cap != IBV_ATOMIC_NONE);
        say("limits", "%d %d %d %d %d", limits.max_qp > 0, limits.max_cq > 0, limits.max_mr > 0, limits.max_pd > 0, limits.max_srq > 0);
        say("windows", "%d", (limits.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0);
    }
    for (number = 0; number < 3; number++)
        if (begins("port %d", number)) {
            memset(&port, 0, sizeof port);
            say("", "%s", result(ibv_query_port(context, number, &port)));
            say("state", "%d", port.state);
            say("link layer", "%d", port.link_layer);
            say("P_Keys", "%d", port.pkey_tbl_len);
            say("message", "%d", port.max_msg_sz >= 1 << 20);
        }
    for (number = -1; number < 3; number++) {
        TRY(ibv_query_gid(context, 1, number == 2 ? 100000 : number < 0 ? -1 : gid_index, &one), "GID %d", number);
        TRY(ibv_query_pkey(context, 1, number == 2 ? 100000 : number, &key), "P_Key %d", number);
    }
    TRY(ibv_query_gid(context, 0, gid_index, &one), "GID of port 0");
    TRY(ibv_query_gid(context, 2, gid_index, &one), "GID of port 2");
    if (begins("P_Key")) {
        say("", "%s", result(ibv_query_pkey(context, 1, 0, &key)));
        say("value", "%#x", ntohs(key));
        say("its index", "%d", ibv_get_pkey_index(context, 1, key));
        say("index of another", "%d", ibv_get_pkey_index(context, 1, htons(0x1234)));
    }
    TRY(ibv_query_device_ex(context, NULL, &extended), "query_device_ex");
    if (begins("async event")) {
        struct pollfd waits = {context->async_fd, POLLIN, 0};

        say("readable", "%d", poll(&waits, 1, 0));
    }
    TRY(ibv_fork_init(), "fork_init");
    for (number = 0; number < 20; number++)
        if (begins("rate %d", number))
            say("", "%d %d", ibv_rate_to_mult(number), ibv_rate_to_mbps(number));
}

static void domains(void)
{
    struct ibv_pd *one;
    struct ibv_mr *region;
    struct ibv_mw *window;
    struct ibv_ah *handle;
    struct ibv_qp *qp;
    struct ibv_srq *srq;
    struct ibv_qp_init_attr init;
    struct ibv_srq_init_attr shared = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_ah_attr to;
    struct ibv_td_init_attr thread = {0};
    struct ibv_parent_domain_init_attr parent = {0};

    make_objects();
    if (begins("free")) {
        one = ibv_alloc_pd(context);
        say("", "%s", result(ibv_dealloc_pd(one)));
    }
    one = ibv_alloc_pd(context);
    if (begins("free with a region")) {
        region = ibv_reg_mr(one, memory, 64, 0);
        say("", "%s", result(ibv_dealloc_pd(one)));
        say("region", "%s", result(ibv_dereg_mr(region)));
    }
    if (begins("free with a window")) {
        window = ibv_alloc_mw(one, IBV_MW_TYPE_1);
        say("window", "%s", object(window));
        if (window != NULL) {
            say("", "%s", result(ibv_dealloc_pd(one)));
            say("free", "%s", result(ibv_dealloc_mw(window)));
        }
    }
    if (begins("free with a queue pair")) {
        init = pair_init(IBV_QPT_RC);
        qp = ibv_create_qp(one, &init);
        say("", "%s", result(ibv_dealloc_pd(one)));
        say("destroy", "%s", result(ibv_destroy_qp(qp)));
    }
    if (begins("free with a shared receive queue")) {
        srq = ibv_create_srq(one, &shared);
        say("", "%s", result(ibv_dealloc_pd(one)));
        say("destroy", "%s", result(ibv_destroy_srq(srq)));
    }
    if (begins("free with an address handle")) {
        to = attributes(0, 0).ah_attr;
        handle = ibv_create_ah(one, &to);
        say("handle", "%s", object(handle));
        say("", "%s", result(ibv_dealloc_pd(one)));
        say("destroy", "%s", result(ibv_destroy_ah(handle)));
    }
    if (begins("thread domain"))
        say("", "%s", object(ibv_alloc_td(context, &thread)));
    parent.pd = one;
    if (begins("parent domain"))
        say("", "%s", object(ibv_alloc_parent_domain(context, &parent)));
}
