/* Service points, requests, connections. SPDX-License-Identifier: MIT OR Apache-2.0 */

static void service_points(void)
{
    DAT_PSP_HANDLE psp, other;
    DAT_RSP_HANDLE rsp;
    DAT_CONN_QUAL any;
    DAT_PSP_PARAM param;
    DAT_RSP_PARAM rsp_param;
    DAT_EP_HANDLE ep;

    make_objects();
    ep = endpoint(NULL);
    TRY(dat_psp_create(ia, qualifier, DAT_HANDLE_NULL, DAT_PSP_CONSUMER_FLAG, &psp), "psp: no dispatcher");
    TRY(dat_psp_create(ia, qualifier + 1, dtos, DAT_PSP_CONSUMER_FLAG, &psp), "psp: a dispatcher of completions");
    TRY(dat_psp_create(ia, qualifier + 2, listening, DAT_PSP_PROVIDER_FLAG, &psp), "psp: provider makes endpoints");
    TRY(dat_psp_create(ia, qualifier + 3, listening, 7, &psp), "psp: flag 7");
    TRY(dat_psp_create(ia, 0, listening, DAT_PSP_CONSUMER_FLAG, &psp), "psp: qualifier 0");
    TRY(dat_psp_create(ia, 65536 + 4444, listening, DAT_PSP_CONSUMER_FLAG, &psp), "psp: qualifier above 65535");
    TRY(dat_psp_create(ia, ~(DAT_CONN_QUAL)0, listening, DAT_PSP_CONSUMER_FLAG, &psp), "psp: qualifier all bits");
    TRY(dat_psp_create(ia, qualifier + 4, listening, DAT_PSP_CONSUMER_FLAG, NULL), "psp: no handle");
    TRY(dat_psp_create_any(ia, NULL, listening, DAT_PSP_CONSUMER_FLAG, &psp), "psp any: no qualifier");
    if (begins("psp any")) {
        any = 0;
        if (said(dat_psp_create_any(ia, &any, listening, DAT_PSP_CONSUMER_FLAG, &psp)) == DAT_SUCCESS) {
            say("a qualifier", "%d", any != 0);
            say("free", "%s", code(dat_psp_free(psp)));
        }
    }
    if (begins("psp")) {
        if (said(dat_psp_create(ia, qualifier + 5, listening, DAT_PSP_CONSUMER_FLAG, &psp)) == DAT_SUCCESS) {
            memset(&param, 0, sizeof param);
            say("query", "%s", code(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &param)));
            say("same", "%d %d %d %d", param.ia_handle == ia, param.conn_qual == qualifier + 5,
                param.evd_handle == listening, (int)param.psp_flags);
            say("query with no bits", "%s", code(dat_psp_query(psp, 0, &param)));
            say("query of undefined bits", "%s", code(dat_psp_query(psp, 0xff0, &param)));
            say("again", "%s", code(dat_psp_create(ia, qualifier + 5, listening, DAT_PSP_CONSUMER_FLAG, &other)));
            say("rsp at the same", "%s", code(dat_rsp_create(ia, qualifier + 5, ep, listening, &rsp)));
            say("dispatcher in use", "%s", code(dat_evd_free(listening)));
            say("free", "%s", code(dat_psp_free(psp)));
        }
    }
    TRY(dat_rsp_create(ia, qualifier + 6, DAT_HANDLE_NULL, listening, &rsp), "rsp: no endpoint");
    TRY(dat_rsp_create(ia, qualifier + 7, ep, DAT_HANDLE_NULL, &rsp), "rsp: no dispatcher");
    if (begins("rsp")) {
        ep = endpoint(NULL);
        if (said(dat_rsp_create(ia, qualifier + 8, ep, listening, &rsp)) == DAT_SUCCESS) {
            memset(&rsp_param, 0, sizeof rsp_param);
            say("state", "%s", state_of(ep));
            say("query", "%s", code(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rsp_param)));
            say("same", "%d %d %d %d", rsp_param.ia_handle == ia, rsp_param.conn_qual == qualifier + 8,
                rsp_param.evd_handle == listening, rsp_param.ep_handle == ep);
            say("endpoint twice", "%s", code(dat_rsp_create(ia, qualifier + 9, ep, listening, &rsp)));
            say("free endpoint", "%s", code(dat_ep_free(ep)));
            say("free", "%s", code(dat_rsp_free(rsp)));
            say("state afterwards", "%s", state_of(ep));
        }
    }
}

static DAT_RETURN reject(DAT_CR_HANDLE cr)
{
#ifdef DAT_1_2
    return dat_cr_reject(cr);
#else
    return dat_cr_reject(cr, 0, NULL);
#endif
}

static void connecting(void)
{
    DAT_PSP_HANDLE psp;
    DAT_CR_PARAM param;
    static char data[512];
    DAT_COUNT sizes[] = {0, 1, 64, 128, 196, 256, 300, -1};

    make_objects();
    active = endpoint(NULL);
#define CONNECT(name, to, port, timeout, size, bytes, qos, flags)                                       \
    if (begins("connect: %s", name)) {                                                                  \
        forget();                                                                                       \
        active = endpoint(NULL);                                                                        \
        if (said(dat_ep_connect(active, to, port, timeout, size, bytes, qos, flags)) == DAT_SUCCESS) {  \
            take(connections, "connection", 1);                                                         \
            say("state", "%s", state_of(active));                                                       \
            say("reset", "%s", code(dat_ep_reset(active)));                                             \
            say("state after reset", "%s", state_of(active));                                           \
        }                                                                                               \
        dat_ep_free(active);                                                                            \
    }
    CONNECT("no listener", (DAT_IA_ADDRESS_PTR)&address, 4, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0)
    CONNECT("no address", NULL, 4, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0)
    CONNECT("time-out 0", (DAT_IA_ADDRESS_PTR)&address, 4, 0, 0, NULL, DAT_QOS_BEST_EFFORT, 0)
    CONNECT("size of data without data", (DAT_IA_ADDRESS_PTR)&address, 4, 10000000, 10, NULL, DAT_QOS_BEST_EFFORT, 0)
    CONNECT("high throughput", (DAT_IA_ADDRESS_PTR)&address, 4, 10000000, 0, NULL, DAT_QOS_HIGH_THROUGHPUT, 0)
    CONNECT("multipath", (DAT_IA_ADDRESS_PTR)&address, 4, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_MULTIPATH_FLAG)
    CONNECT("flag 0x70", (DAT_IA_ADDRESS_PTR)&address, 4, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0x70)
    CONNECT("qualifier 0", (DAT_IA_ADDRESS_PTR)&address, 0, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0)
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (begins("private data: %d bytes", (int)sizes[i])) {
            if (connect_pair(NULL, sizes[i], data))
                free_pair();
        }
    if (begins("request")) {
        forget();
        active = endpoint(NULL);
        passive = endpoint(NULL);
        qualifier++;
        MUST(dat_psp_create(ia, qualifier, listening, DAT_PSP_CONSUMER_FLAG, &psp));
        said(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, qualifier, 10000000, 16, data, DAT_QOS_BEST_EFFORT, 0));
        say("state", "%s", state_of(active));
        say("connect again", "%s", code(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, qualifier, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0)));
        say("reset while connecting", "%s", code(dat_ep_reset(active)));
        if (take(listening, "request", 1)) {
            memset(&param, 0, sizeof param);
            say("query", "%s", code(dat_cr_query(request, DAT_CR_FIELD_ALL, &param)));
            say("private_data_size", "%d", (int)param.private_data_size);
            say("local endpoint", "%s", which(param.local_ep_handle));
            say("remote address", "%d", param.remote_ia_address_ptr != NULL);
            say("query of undefined bits", "%s", code(dat_cr_query(request, 0xff00, &param)));
            say("accept with a connecting endpoint", "%s", code(dat_cr_accept(request, active, 0, NULL)));
            say("accept without an endpoint", "%s", code(dat_cr_accept(request, DAT_HANDLE_NULL, 0, NULL)));
            say("reject", "%s", code(reject(request)));
            take(connections, "connection", 1);
            say("state afterwards", "%s", state_of(active));
        }
        dat_psp_free(psp);
        dat_ep_free(active);
        dat_ep_free(passive);
    }
    if (begins("handoff")) {
        forget();
        active = endpoint(NULL);
        qualifier++;
        MUST(dat_psp_create(ia, qualifier, listening, DAT_PSP_CONSUMER_FLAG, &psp));
        MUST(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, qualifier, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0));
        if (take(listening, "request", 1)) {
            said(dat_cr_handoff(request, qualifier));
            /* It arrives again, at the service point with that qualifier. */
            if (take(listening, "request again", 1))
                say("reject", "%s", code(reject(request)));
            take(connections, "connection", 1);
        }
        dat_psp_free(psp);
        dat_ep_free(active);
    }
    if (begins("disconnect: abrupt") && connect_pair(NULL, 0, NULL)) {
        say("connect when connected", "%s", code(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, qualifier, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0)));
        say("reset when connected", "%s", code(dat_ep_reset(active)));
        said(dat_ep_disconnect(active, DAT_CLOSE_ABRUPT_FLAG));
        take_both();
        say("active", "%s", state_of(active));
        say("passive", "%s", state_of(passive));
        say("again", "%s", code(dat_ep_disconnect(active, DAT_CLOSE_ABRUPT_FLAG)));
        say("connect again without a reset", "%s", code(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, 4, 10000000, 0, NULL, DAT_QOS_BEST_EFFORT, 0)));
        say("reset", "%s", code(dat_ep_reset(active)));
        say("after the reset", "%s", state_of(active));
        take_none(connections, "connection");
        free_pair();
    }
    if (begins("disconnect: graceful") && connect_pair(NULL, 0, NULL)) {
        said(dat_ep_disconnect(active, DAT_CLOSE_GRACEFUL_FLAG));
        take_both();
        say("again", "%s", code(dat_ep_disconnect(active, DAT_CLOSE_GRACEFUL_FLAG)));
        take_none(connections, "connection");
        free_pair();
    }
    if (begins("free when connected") && connect_pair(NULL, 0, NULL)) {
        said(dat_ep_free(active));
        take(connections, "connection", 1);
        say("passive", "%s", state_of(passive));
        dat_ep_disconnect(passive, DAT_CLOSE_ABRUPT_FLAG);
        dat_ep_free(passive);
    }
}
