/* Regions, windows, shared receive queues. SPDX-License-Identifier: MIT OR Apache-2.0 */

static void regions(void)
{
    DAT_LMR_HANDLE made;
    DAT_LMR_CONTEXT local;
    DAT_RMR_CONTEXT rmr;
    DAT_VLEN size, lengths[] = {0, 1, 4095, 4096, 4097, 65536};
    DAT_VADDR start;
    DAT_LMR_PARAM param;
    DAT_MEM_PRIV_FLAGS privileges[] = {0, 1, 2, 3, 0x10, 0x20, 0x11, 0x12, 0x21, 0x22, 0x23, 0x13, 0x33, 0x40, 0x4, 0xff, 0x7fffffff};
    DAT_LMR_TRIPLET list[2];

    make_objects();
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (begins("create: %d bytes", (int)lengths[i])) {
            size = 0;
            if (said(register_memory(0, memory + 64, lengths[i], pz, DAT_MEM_PRIV_ALL_FLAG, 0, &made, &local, &rmr, &size, &start)) != DAT_SUCCESS)
                continue;
            say("covers what was asked", "%d", start <= (DAT_VADDR)(uintptr_t)(memory + 64) && start + size >= (DAT_VADDR)(uintptr_t)(memory + 64) + lengths[i]);
            say("free", "%s", code(dat_lmr_free(made)));
        }
    for (unsigned i = 0; i < sizeof privileges / sizeof *privileges; i++)
        if (begins("create: privileges %#x", (unsigned)privileges[i])) {
            if (said(register_memory(0, memory, 4096, pz, privileges[i], 0, &made, &local, &rmr, &size, &start)) != DAT_SUCCESS)
                continue;
            memset(&param, 0, sizeof param);
            say("query", "%s", code(dat_lmr_query(made, DAT_LMR_FIELD_ALL, &param)));
            say("mem_priv", "%#x", (unsigned)param.mem_priv);
            SAY_COUNT(param, mem_type);
            SAY_COUNT(param, length);
            say("same", "%d %d %d %d", param.ia_handle == ia, param.pz_handle == pz, param.lmr_context == local, param.region_desc.for_va == memory);
            dat_lmr_free(made);
        }
    TRY(register_memory(0, memory, 4096, pz, 0x33, 1, &made, &local, &rmr, &size, &start), "create: zero based");
    TRY(register_memory(0, NULL, 4096, pz, 0x33, 0, &made, &local, &rmr, &size, &start), "create: NULL memory");
    TRY(register_memory(0, (void *)1, 4096, pz, 0x33, 0, &made, &local, &rmr, &size, &start), "create: memory that is not mapped");
    TRY(register_memory(0, memory, ~(DAT_VLEN)0, pz, 0x33, 0, &made, &local, &rmr, &size, &start), "create: longer than memory");
    TRY(register_memory(DAT_MEM_TYPE_LMR, lmr, sizeof memory, pz, 0x33, 0, &made, &local, &rmr, &size, &start), "create: of another region");
    TRY(register_memory(DAT_MEM_TYPE_LMR, lmr, 4096, pz, 0x33, 0, &made, &local, &rmr, &size, &start), "create: of another region, shorter");
    TRY(register_memory(DAT_MEM_TYPE_LMR, NULL, 4096, pz, 0x33, 0, &made, &local, &rmr, &size, &start), "create: of no other region");
    TRY(register_memory(77, memory, 4096, pz, 0x33, 0, &made, &local, &rmr, &size, &start), "create: type 77");
    TRY(register_memory(0, memory, 4096, pz, 0x33, 0, NULL, &local, &rmr, &size, &start), "create: no handle");
    TRY(register_memory(0, memory, 4096, pz, 0x33, 0, &made, NULL, &rmr, &size, &start), "create: no local context");
    TRY(register_memory(0, memory, 4096, pz, 0x33, 0, &made, &local, NULL, &size, &start), "create: no remote context");
    TRY(register_memory(0, memory, 4096, pz, 0x33, 0, &made, &local, &rmr, NULL, NULL), "create: no size nor address");
    TRY(register_memory(0, memory, 4096, pz, 0x33, 0, &made, NULL, NULL, NULL, NULL), "create: handle only");
    TRY(register_memory(0, memory, 4096, DAT_HANDLE_NULL, 0x33, 0, &made, &local, &rmr, &size, &start), "create: no zone");
    TRY(dat_lmr_query(lmr, 0, &param), "query: no bits");
    TRY(dat_lmr_query(lmr, 0xff000, &param), "query: undefined bits");
    list[0] = segment(0, 64);
    list[1] = segment(sizeof memory - 32, 64);
    TRY(dat_lmr_sync_rdma_read(ia, list, 1), "sync_rdma_read: 1 segment");
    TRY(dat_lmr_sync_rdma_read(ia, list, 2), "sync_rdma_read: outside");
    TRY(dat_lmr_sync_rdma_read(ia, NULL, 0), "sync_rdma_read: none");
    TRY(dat_lmr_sync_rdma_write(ia, list, 1), "sync_rdma_write: 1 segment");
    TRY(dat_lmr_sync_rdma_write(ia, list, 2), "sync_rdma_write: outside");
    TRY(dat_lmr_sync_rdma_write(ia, NULL, 0), "sync_rdma_write: none");
    TRY(dat_pz_free(pz), "zone: free in use");
}

static DAT_RETURN bind_window(DAT_RMR_HANDLE rmr, DAT_LMR_TRIPLET *what, DAT_MEM_PRIV_FLAGS privileges, DAT_EP_HANDLE ep,
                       unsigned number, DAT_COMPLETION_FLAGS flags, DAT_RMR_CONTEXT *made)
{
#ifdef DAT_1_2
    return dat_rmr_bind(rmr, what, privileges, ep, cookie(number), flags, made);
#else
    return dat_rmr_bind(rmr, lmr, what, privileges, DAT_VA_TYPE_VA, ep, cookie(number), flags, made);
#endif
}

static void windows(void)
{
    DAT_RMR_HANDLE rmr;
    DAT_RMR_PARAM param;
    DAT_RMR_CONTEXT made;
    DAT_LMR_TRIPLET what;

    make_objects();
    if (!begins("create"))
        return;
    if (said(dat_rmr_create(pz, &rmr)) != DAT_SUCCESS)
        return;
    TRY(dat_rmr_create(pz, NULL), "create: no handle");
    TRY(dat_rmr_query(rmr, DAT_RMR_FIELD_ALL, &param), "query");
    TRY(dat_rmr_query(rmr, 0, &param), "query: no bits");
    TRY(dat_rmr_query(rmr, 0xff00, &param), "query: undefined bits");
    what = segment(0, 4096);
    active = endpoint(NULL);
    TRY(bind_window(rmr, &what, DAT_MEM_PRIV_ALL_FLAG, active, 1, 0, &made), "bind: unconnected");
    if (begins("bind: connected") && connect_pair(NULL, 0, NULL)) {
        say("bind", "%s", code(bind_window(rmr, &what, DAT_MEM_PRIV_ALL_FLAG, active, 1, 0, &made)));
        take(requests, "request", 1);
        say("free while bound", "%s", code(dat_rmr_free(rmr)));
        dat_rmr_create(pz, &rmr);
        what.segment_length = 0;
        say("bind nothing", "%s", code(bind_window(rmr, &what, DAT_MEM_PRIV_ALL_FLAG, active, 2, 0, &made)));
        take(requests, "nothing", 1);
        what = segment(sizeof memory - 10, 4096);
        say("bind outside", "%s", code(bind_window(rmr, &what, DAT_MEM_PRIV_ALL_FLAG, active, 3, 0, &made)));
        take_none(requests, "outside");
        what = segment(0, 64);
        say("bind without privileges", "%s", code(bind_window(rmr, &what, 0, active, 4, 0, &made)));
        take_none(requests, "without privileges");
        free_pair();
    }
    TRY(dat_rmr_free(rmr), "free");
}

static void receive_queues(void)
{
    DAT_SRQ_HANDLE srq;
    DAT_SRQ_ATTR attributes[] = {{4, 1, 0}, {0, 0, 0}, {1, 1, DAT_SRQ_LW_DEFAULT}, {16, 4, 8}, {4, 1, 5}, {4, 1, -1}, {-1, 1, 0},
        {4, -1, 0}, {4, 0, 0}, {0, 1, 0}, {4, 1000, 0}, {0x7fffffff, 0x7fffffff, 0}};
    DAT_SRQ_PARAM param;
    DAT_EP_HANDLE ep;
    DAT_EP_ATTR at;
    DAT_EP_PARAM ep_param;
    DAT_LMR_TRIPLET what;

    make_objects();
    what = segment(0, 64);
    for (unsigned i = 0; i < sizeof attributes / sizeof *attributes; i++)
        if (begins("create: %d, %d, %d", (int)attributes[i].max_recv_dtos, (int)attributes[i].max_recv_iov, (int)attributes[i].low_watermark)) {
            if (said(dat_srq_create(ia, pz, &attributes[i], &srq)) != DAT_SUCCESS)
                continue;
            memset(&param, 0, sizeof param);
            say("query", "%s", code(dat_srq_query(srq, DAT_SRQ_FIELD_ALL, &param)));
            SAY_COUNT(param, srq_state);
            SAY_COUNT(param, max_recv_dtos);
            SAY_COUNT(param, max_recv_iov);
            SAY_COUNT(param, low_watermark);
            SAY_COUNT(param, available_dto_count);
            SAY_COUNT(param, outstanding_dto_count);
            say("free", "%s", code(dat_srq_free(srq)));
        }
    TRY(dat_srq_create(ia, pz, NULL, &srq), "create: no attributes");
    if (!begins("queue"))
        return;
    if (said(dat_srq_create(ia, pz, &attributes[3], &srq)) != DAT_SUCCESS)
        return;
    TRY(dat_srq_post_recv(srq, 1, &what, cookie(1)), "post");
    TRY(dat_srq_post_recv(srq, 0, NULL, cookie(2)), "post: no segment");
    TRY(dat_srq_post_recv(srq, 1, NULL, cookie(2)), "post: 1 segment, NULL");
    TRY(dat_srq_post_recv(srq, 100, &what, cookie(2)), "post: 100 segments");
    TRY(dat_srq_post_recv(srq, -1, &what, cookie(2)), "post: -1 segments");
    TRY(dat_srq_query(srq, 0, &param), "query: no bits");
    TRY(dat_srq_query(srq, 0xff00, &param), "query: undefined bits");
    TRY(dat_srq_resize(srq, 32), "resize: 32");
    TRY(dat_srq_resize(srq, 16), "resize: 16");
    TRY(dat_srq_resize(srq, 0), "resize: 0");
    TRY(dat_srq_resize(srq, -1), "resize: -1");
    TRY(dat_srq_resize(srq, 100000000), "resize: 100000000");
    TRY(dat_srq_set_lw(srq, 2), "set_lw: 2");
    TRY(dat_srq_set_lw(srq, 0), "set_lw: 0");
    TRY(dat_srq_set_lw(srq, -1), "set_lw: -1");
    TRY(dat_srq_set_lw(srq, 1000), "set_lw: 1000");
    TRY(dat_ep_create_with_srq(ia, pz, dtos, requests, connections, DAT_HANDLE_NULL, NULL, &ep), "endpoint: no queue");
    if (begins("endpoint: queried")) {
        ep = DAT_HANDLE_NULL;
        if (said(dat_ep_create_with_srq(ia, pz, dtos, requests, connections, srq, NULL, &ep)) == DAT_SUCCESS) {
            memset(&ep_param, 0, sizeof ep_param);
            say("query", "%s", code(dat_ep_query(ep, DAT_EP_FIELD_ALL, &ep_param)));
            SAY_COUNT(ep_param.ep_attr, srq_soft_hw);
            SAY_COUNT(ep_param.ep_attr, max_recv_dtos);
            SAY_COUNT(ep_param.ep_attr, max_recv_iov);
            at = ep_param.ep_attr;
            say("post_recv", "%s", code(dat_ep_post_recv(ep, 1, &what, cookie(3), 0)));
            say("watermark", "%s", code(dat_ep_set_watermark(ep, 1, 2)));
            say("recv_query", "%s", code(dat_ep_recv_query(ep, NULL, NULL)));
            say("free queue in use", "%s", code(dat_srq_free(srq)));
            say("free", "%s", code(dat_ep_free(ep)));
            DAT_COUNT marks[] = {DAT_HW_DEFAULT, 0, 1, 100, -2};
            for (unsigned i = 0; i < sizeof marks / sizeof *marks; i++) {
                char part[32];
                snprintf(part, sizeof part, "srq_soft_hw %d", (int)marks[i]);
                at.srq_soft_hw = marks[i];
                DAT_RETURN value = dat_ep_create_with_srq(ia, pz, dtos, requests, connections, srq, &at, &ep);
                say(part, "%s", code(value));
                if (value == DAT_SUCCESS)
                    dat_ep_free(ep);
            }
        }
    }
    TRY(dat_srq_free(srq), "free");
}
