/* Adapters, their registry, zones. SPDX-License-Identifier: MIT OR Apache-2.0 */

#define SAY_COUNT(from, field) say(#field, "%lld", (long long)(from).field)

static void adapters(void)
{
    DAT_IA_ATTR at;
    DAT_PROVIDER_ATTR pa;
    DAT_EVD_HANDLE evd;
    DAT_IA_HANDLE other;
    DAT_PROVIDER_INFO entries[64], *list[64];
    DAT_COUNT number;
    static char nobody[] = "no-such-adapter", empty[] = "", lengthy[300];
    DAT_COUNT lengths[] = {0, 1, 8, -1, 1000000, 0x7fffffff};

    open_adapter();
    memset(lengthy, 'a', sizeof lengthy - 1);
    for (int i = 0; i < 64; i++)
        list[i] = &entries[i];
    TRY(dat_registry_list_providers(0, &number, list), "list of 0");
    TRY(dat_registry_list_providers(0, &number, NULL), "list of 0, NULL");
    TRY(dat_registry_list_providers(1, &number, list), "list of 1");
    TRY(dat_registry_list_providers(-1, &number, list), "list of -1");
    TRY(dat_registry_list_providers(64, &number, list), "list of 64");
    TRY(dat_registry_list_providers(64, NULL, list), "list, no number");

#define OPEN(what, name, queue, given, version_major, version_minor, safe)                         \
    if (begins("open: %s", what)) {                                                                \
        evd = given;                                                                               \
        if (said(dat_ia_openv(name, queue, &evd, &other, version_major, version_minor, safe)) == DAT_SUCCESS) \
            say("close", "%s", code(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG)));                  \
    }
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        char what[32];
        snprintf(what, sizeof what, "queue of %d", (int)lengths[i]);
        OPEN(what, adapter, lengths[i], DAT_HANDLE_NULL, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)
    }
    OPEN("unknown name", nobody, 8, DAT_HANDLE_NULL, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)
    OPEN("empty name", empty, 8, DAT_HANDLE_NULL, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)
    OPEN("long name", lengthy, 8, DAT_HANDLE_NULL, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)
    OPEN("NULL name", NULL, 8, DAT_HANDLE_NULL, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)
    OPEN("a major more", adapter, 8, DAT_HANDLE_NULL, DAT_VERSION_MAJOR + 1, DAT_VERSION_MINOR, DAT_THREADSAFE)
    OPEN("a major less", adapter, 8, DAT_HANDLE_NULL, DAT_VERSION_MAJOR - 1, DAT_VERSION_MINOR, DAT_THREADSAFE)
    OPEN("a minor more", adapter, 8, DAT_HANDLE_NULL, DAT_VERSION_MAJOR, DAT_VERSION_MINOR + 1, DAT_THREADSAFE)
    OPEN("not thread safe", adapter, 8, DAT_HANDLE_NULL, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_FALSE)
    OPEN("async exists, without one", adapter, 8, DAT_EVD_ASYNC_EXISTS, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)
    OPEN("async of another", adapter, 8, async, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)
    TRY(dat_ia_openv(adapter, 8, NULL, &other, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE), "open: no async");

    TRY(dat_ia_query(ia, NULL, 0, NULL, 0, NULL), "query: nothing");
    TRY(dat_ia_query(ia, &evd, 0, &at, 0, &pa), "query: no bits");
    TRY(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, NULL, 0, NULL), "query: all, no place");
    TRY(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, NULL), "query: all of the provider, no place");
#ifndef DAT_1_2
    TRY(dat_ia_query(ia, NULL, UINT64_C(1) << 60, &at, 0, NULL), "query: undefined bits");
    TRY(dat_ia_query(ia, NULL, ~UINT64_C(0), &at, ~UINT64_C(0), &pa), "query: all bits");
#endif
    if (begins("query")) {
        evd = DAT_HANDLE_NULL;
        memset(&at, 0, sizeof at);
        memset(&pa, 0, sizeof pa);
        said(dat_ia_query(ia, &evd, DAT_IA_FIELD_ALL, &at, DAT_PROVIDER_FIELD_ALL, &pa));
        say("async", "%s", evd == async ? "the same" : "another");
        say("adapter_name", "%s", at.adapter_name);
        say("address family", "%d", ((struct sockaddr *)at.ia_address_ptr)->sa_family);
        SAY_COUNT(at, max_eps);
        SAY_COUNT(at, max_dto_per_ep);
        SAY_COUNT(at, max_rdma_read_per_ep_in);
        SAY_COUNT(at, max_rdma_read_per_ep_out);
        SAY_COUNT(at, max_evds);
        SAY_COUNT(at, max_evd_qlen);
        SAY_COUNT(at, max_iov_segments_per_dto);
        SAY_COUNT(at, max_lmrs);
        SAY_COUNT(at, max_lmr_block_size);
        SAY_COUNT(at, max_lmr_virtual_address);
        SAY_COUNT(at, max_pzs);
        SAY_COUNT(at, max_message_size);
        SAY_COUNT(at, max_rdma_size);
        SAY_COUNT(at, max_rmrs);
        SAY_COUNT(at, max_rmr_target_address);
        SAY_COUNT(at, max_srqs);
        SAY_COUNT(at, max_ep_per_srq);
        SAY_COUNT(at, max_recv_per_srq);
        SAY_COUNT(at, max_iov_segments_per_rdma_read);
        SAY_COUNT(at, max_iov_segments_per_rdma_write);
        SAY_COUNT(at, max_rdma_read_in);
        SAY_COUNT(at, max_rdma_read_out);
        SAY_COUNT(at, max_rdma_read_per_ep_in_guaranteed);
        SAY_COUNT(at, max_rdma_read_per_ep_out_guaranteed);
        SAY_COUNT(pa, lmr_mem_types_supported);
        SAY_COUNT(pa, iov_ownership_on_return);
        SAY_COUNT(pa, dat_qos_supported);
        SAY_COUNT(pa, completion_flags_supported);
        SAY_COUNT(pa, is_thread_safe);
        SAY_COUNT(pa, max_private_data_size);
        SAY_COUNT(pa, supports_multipath);
        SAY_COUNT(pa, ep_creator);
        SAY_COUNT(pa, pz_support);
        SAY_COUNT(pa, optimal_buffer_alignment);
        static const char *const rows[] = {"merging with SOFTWARE", "merging with CR", "merging with DTO", "merging with CONNECTION", "merging with RMR_BIND", "merging with ASYNC"};

        for (int i = 0; i < 6; i++)
            say(rows[i], "%d%d%d%d%d%d", pa.evd_stream_merging_supported[i][0],
                pa.evd_stream_merging_supported[i][1], pa.evd_stream_merging_supported[i][2],
                pa.evd_stream_merging_supported[i][3], pa.evd_stream_merging_supported[i][4],
                pa.evd_stream_merging_supported[i][5]);
        SAY_COUNT(pa, srq_supported);
        SAY_COUNT(pa, srq_watermarks_supported);
        SAY_COUNT(pa, srq_ep_pz_difference_supported);
        SAY_COUNT(pa, srq_info_supported);
        SAY_COUNT(pa, ep_recv_info_supported);
        SAY_COUNT(pa, lmr_sync_req);
        SAY_COUNT(pa, dto_async_return_guaranteed);
        SAY_COUNT(pa, rdma_write_for_rdma_read_req);
#ifndef DAT_1_2
        SAY_COUNT(at, zb_supported);
        SAY_COUNT(at, extension_supported);
        SAY_COUNT(pa, rdma_read_lmr_rmr_context_exposure);
        SAY_COUNT(pa, rmr_scope_supported);
        SAY_COUNT(pa, is_signal_safe);
        SAY_COUNT(pa, ha_supported);
        SAY_COUNT(pa, ha_loadbalancing);
#endif
    }
    if (begins("zone")) {
        DAT_PZ_HANDLE zone;
        DAT_PZ_PARAM param;

        memset(&param, 0, sizeof param);
        said(dat_pz_create(ia, &zone));
        say("query", "%s", code(dat_pz_query(zone, DAT_PZ_FIELD_ALL, &param)));
        say("same", "%d", param.ia_handle == ia);
        say("query with no bits", "%s", code(dat_pz_query(zone, 0, &param)));
        say("query of undefined bits", "%s", code(dat_pz_query(zone, 0xff0, &param)));
        say("free", "%s", code(dat_pz_free(zone)));
    }
    if (begins("close while in use")) {
        DAT_PZ_HANDLE zone;

        evd = DAT_HANDLE_NULL;
        MUST(dat_ia_open(adapter, 8, &evd, &other));
        MUST(dat_pz_create(other, &zone));
        said(dat_ia_close(other, DAT_CLOSE_GRACEFUL_FLAG));
        say("flag 7", "%s", code(dat_ia_close(other, 7)));
        say("abrupt", "%s", code(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG)));
    }
}
