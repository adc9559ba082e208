/* Endpoints without a connection. SPDX-License-Identifier: MIT OR Apache-2.0 */

/* What a query returns for an endpoint, where it differs from the request. */
static void say_attributes(DAT_EP_HANDLE ep, const DAT_EP_ATTR *asked)
{
    DAT_EP_PARAM param;
    const DAT_EP_ATTR *told = &param.ep_attr;

    memset(&param, 0, sizeof param);
    say("query", "%s", code(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param)));
#define TOLD(field)                                              \
    if (asked == NULL)                                           \
        say(#field, "%lld", (long long)told->field);             \
    else if (told->field != asked->field)                        \
        say(#field, "%lld became %lld", (long long)asked->field, (long long)told->field)
    TOLD(service_type);
    TOLD(max_message_size);
    TOLD(max_rdma_size);
    TOLD(qos);
    TOLD(recv_completion_flags);
    TOLD(request_completion_flags);
    TOLD(max_recv_dtos);
    TOLD(max_request_dtos);
    TOLD(max_recv_iov);
    TOLD(max_request_iov);
    TOLD(max_rdma_read_in);
    TOLD(max_rdma_read_out);
    TOLD(srq_soft_hw);
    TOLD(max_rdma_read_iov);
    TOLD(max_rdma_write_iov);
    TOLD(ep_transport_specific_count);
    TOLD(ep_provider_specific_count);
}

static void try_attributes(const char *name, DAT_EP_ATTR *attributes)
{
    DAT_EP_HANDLE ep;

    if (!begins("create: %s", name))
        return;
    /* Dispatchers of its own, since some flags must be combined. */
    DAT_EVD_HANDLE in, out;
    MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &in));
    MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &out));
    if (said(dat_ep_create(ia, pz, in, out, connections, attributes, &ep)) == DAT_SUCCESS) {
        say_attributes(ep, attributes);
        say("free", "%s", code(dat_ep_free(ep)));
    }
    dat_evd_free(in);
    dat_evd_free(out);
}

/* The attributes of a query with one field changed. */
#define CHANGED(field, value)                             \
    do {                                                  \
        at = defaults;                                    \
        at.field = (value);                               \
        try_attributes(#field " is " #value, &at);         \
    } while (0)
#define COUNTS(field)                \
    do {                             \
        CHANGED(field, 0);           \
        CHANGED(field, 1);           \
        CHANGED(field, -1);          \
        CHANGED(field, -2);          \
        CHANGED(field, 16);          \
        CHANGED(field, 0x7fffffff);  \
    } while (0)

static void endpoint_attributes(void)
{
    DAT_EP_ATTR at, defaults;
    DAT_EP_PARAM param;
    DAT_IA_ATTR limits;

    make_objects();
    active = endpoint(NULL);
    memset(&param, 0, sizeof param);
    MUST(dat_ep_query(active, DAT_EP_FIELD_ALL, &param));
    MUST(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &limits, 0, NULL));
    defaults = param.ep_attr;
    try_attributes("no attributes", NULL);
    try_attributes("copied from a query", &defaults);
    memset(&at, 0, sizeof at);
    try_attributes("all zero", &at);
    at.max_recv_dtos = at.max_request_dtos = at.max_recv_iov = at.max_request_iov = 1;
    try_attributes("zero but one of each", &at);
    at.max_rdma_size = at.max_message_size = 65536;
    at.max_rdma_read_in = at.max_rdma_read_out = 4;
    at.max_rdma_read_iov = at.max_rdma_write_iov = 1;
    at.srq_soft_hw = DAT_HW_DEFAULT;
    try_attributes("as programs fill it in", &at);
    at.max_recv_iov = at.max_request_iov = limits.max_iov_segments_per_dto;
    at.max_rdma_read_iov = limits.max_iov_segments_per_rdma_read;
    at.max_rdma_write_iov = limits.max_iov_segments_per_rdma_write;
    try_attributes("as many segments as the adapter says", &at);
    memset(&at, 0xff, sizeof at);
    at.ep_transport_specific_count = at.ep_provider_specific_count = 0;
    at.ep_transport_specific = at.ep_provider_specific = NULL;
    try_attributes("all bits", &at);
    COUNTS(max_recv_dtos);
    COUNTS(max_request_dtos);
    COUNTS(max_recv_iov);
    COUNTS(max_request_iov);
    COUNTS(max_rdma_read_in);
    COUNTS(max_rdma_read_out);
    COUNTS(max_rdma_read_iov);
    COUNTS(max_rdma_write_iov);
    COUNTS(srq_soft_hw);
    COUNTS(max_message_size);
    COUNTS(max_rdma_size);
    CHANGED(max_message_size, limits.max_message_size);
    CHANGED(max_message_size, limits.max_message_size + 1);
    CHANGED(max_rdma_size, limits.max_rdma_size);
    CHANGED(max_rdma_size, limits.max_rdma_size + 1);
    CHANGED(service_type, 1);
    CHANGED(service_type, 77);
    CHANGED(qos, DAT_QOS_HIGH_THROUGHPUT);
    CHANGED(qos, DAT_QOS_LOW_LATENCY);
    CHANGED(qos, DAT_QOS_ECONOMY);
    CHANGED(qos, DAT_QOS_PREMIUM);
    CHANGED(qos, 3);
    CHANGED(qos, 0x100);
#define FLAGS(field)                                                  \
    CHANGED(field, DAT_COMPLETION_SUPPRESS_FLAG);                     \
    CHANGED(field, DAT_COMPLETION_SOLICITED_WAIT_FLAG);               \
    CHANGED(field, DAT_COMPLETION_UNSIGNALLED_FLAG);                  \
    CHANGED(field, DAT_COMPLETION_BARRIER_FENCE_FLAG);                \
    CHANGED(field, DAT_COMPLETION_EVD_THRESHOLD_FLAG);                \
    CHANGED(field, 3);                                                \
    CHANGED(field, 0xff)
    FLAGS(recv_completion_flags);
    FLAGS(request_completion_flags);
    CHANGED(ep_transport_specific_count, 1);
    CHANGED(ep_provider_specific_count, 1);
}

static void endpoints(void)
{
    DAT_EP_HANDLE ep;
    DAT_EP_PARAM param;
    DAT_COUNT allocated = -7, span = -7;
    DAT_LMR_TRIPLET what, pieces[3];
    DAT_RMR_TRIPLET there;
    DAT_EVENT event;

    make_objects();
    what = segment(0, 64);
    there = remote(4096, 64);
#define CREATE(name, zone, in, out, connection) \
    if (begins("create: %s", name) && said(dat_ep_create(ia, zone, in, out, connection, NULL, &ep)) == DAT_SUCCESS) { \
        DAT_BOOLEAN in_idle = 9, out_idle = 9; \
        say("state", "%s", state_of(ep)); \
        say("status", "%s", code(dat_ep_get_status(ep, NULL, &in_idle, &out_idle))); \
        say("idle", "%d %d", in_idle, out_idle); \
        say("free", "%s", code(dat_ep_free(ep))); \
    }
    CREATE("all", pz, dtos, requests, connections)
    CREATE("no zone", DAT_HANDLE_NULL, dtos, requests, connections)
    CREATE("no receives", pz, DAT_HANDLE_NULL, requests, connections)
    CREATE("no requests", pz, dtos, DAT_HANDLE_NULL, connections)
    CREATE("no connections", pz, dtos, requests, DAT_HANDLE_NULL)
    CREATE("nothing", DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL)
    CREATE("no dispatchers", pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, DAT_HANDLE_NULL)
    CREATE("one for completions", pz, dtos, dtos, connections)
    CREATE("connections at a dispatcher of completions", pz, dtos, requests, dtos)
    CREATE("completions at a dispatcher of connections", pz, connections, connections, connections)
    CREATE("the asynchronous one", pz, async, async, async)
    ep = endpoint(NULL);
    TRY(dat_ep_query(ep, 0, &param), "query: no bits");
    TRY(dat_ep_query(ep, (DAT_EP_PARAM_MASK)1 << 31, &param), "query: undefined bits");
    if (begins("query")) {
        memset(&param, 0, sizeof param);
        said(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
        say("same", "%d %d %d %d %d", param.ia_handle == ia, param.pz_handle == pz, param.recv_evd_handle == dtos,
            param.request_evd_handle == requests, param.connect_evd_handle == connections);
        say("local address", "%d", param.local_ia_address_ptr != NULL);
        say("remote address", "%d", param.remote_ia_address_ptr != NULL);
    }
    TRY(dat_ep_get_status(ep, NULL, NULL, NULL), "get_status: nothing asked");
    TRY(dat_ep_recv_query(ep, &allocated, &span), "recv_query");
    TRY(dat_ep_recv_query(ep, NULL, NULL), "recv_query: nothing asked");
    TRY(dat_ep_set_watermark(ep, 1, 2), "watermark: 1, 2");
    TRY(dat_ep_set_watermark(ep, DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE), "watermark: infinite");
    TRY(dat_ep_set_watermark(ep, -5, -5), "watermark: -5");
    TRY(dat_ep_reset(ep), "reset: unconnected");
    TRY(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG), "disconnect: unconnected, abrupt");
    TRY(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG), "disconnect: unconnected, graceful");
    TRY(dat_ep_disconnect(ep, 7), "disconnect: flag 7");
    TRY(dat_ep_post_send(ep, 1, &what, cookie(1), 0), "send: unconnected");
    TRY(dat_ep_post_rdma_write(ep, 1, &what, cookie(1), &there, 0), "rdma_write: unconnected");
    TRY(dat_ep_post_rdma_read(ep, 1, &what, cookie(1), &there, 0), "rdma_read: unconnected");
    pieces[0] = segment(0, 64);
    pieces[1] = segment(64, 0);
    pieces[1].lmr_context = 0x123456;
    pieces[2] = segment(128, 64);
    TRY(dat_ep_post_recv(ep, 1, &what, cookie(1), 0), "recv: unconnected");
    TRY(dat_ep_post_recv(ep, 0, NULL, cookie(2), 0), "recv: no segment");
    TRY(dat_ep_post_recv(ep, 0, &what, cookie(2), 0), "recv: 0 segments of a list");
    TRY(dat_ep_post_recv(ep, 1, NULL, cookie(2), 0), "recv: 1 segment, NULL");
    TRY(dat_ep_post_recv(ep, -1, &what, cookie(2), 0), "recv: -1 segments");
    TRY(dat_ep_post_recv(ep, 1000, &what, cookie(2), 0), "recv: 1000 segments");
    TRY(dat_ep_post_recv(ep, 3, pieces, cookie(2), 0), "recv: an empty segment among others");
    what.segment_length = sizeof memory + 1;
    TRY(dat_ep_post_recv(ep, 1, &what, cookie(2), 0), "recv: outside");
    what = segment(0, 64);
    what.lmr_context ^= 0x5555;
    TRY(dat_ep_post_recv(ep, 1, &what, cookie(2), 0), "recv: made-up context");
    what = segment(0, 64);
    TRY(dat_ep_post_recv(ep, 1, &what, cookie(2), DAT_COMPLETION_SUPPRESS_FLAG), "recv: suppressed");
    TRY(dat_ep_post_recv(ep, 1, &what, cookie(2), DAT_COMPLETION_UNSIGNALLED_FLAG), "recv: unsignalled");
    TRY(dat_ep_post_recv(ep, 1, &what, cookie(2), 0xff), "recv: flags 0xff");
    if (begins("recv: more than there is space for")) {
        int posted = 0;
        DAT_RETURN value = DAT_SUCCESS;

        while (posted < 100000 && (value = dat_ep_post_recv(ep, 1, &what, cookie(2), 0)) == DAT_SUCCESS)
            posted++;
        said(value);
    }
    if (begins("free with receives posted")) {
        said(dat_ep_free(ep));
        say("dequeue", "%s", code(dat_evd_dequeue(dtos, &event)));
    }
    ep = endpoint(NULL);
#define MODIFY(name, mask)                                        \
    if (begins("modify: %s", name)) {                             \
        memset(&param, 0, sizeof param);                          \
        dat_ep_query(ep, DAT_EP_FIELD_ALL, &param);               \
        said(dat_ep_modify(ep, mask, &param));                    \
    }
    MODIFY("nothing", 0)
    MODIFY("zone", DAT_EP_FIELD_PZ_HANDLE)
    MODIFY("dispatchers", DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE)
    MODIFY("sizes", DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE | DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE)
    MODIFY("dtos", DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS | DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS)
    MODIFY("flags", DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS | DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS)
    MODIFY("all attributes", DAT_EP_FIELD_EP_ATTR_ALL)
    MODIFY("adapter", DAT_EP_FIELD_IA_HANDLE)
    MODIFY("state", DAT_EP_FIELD_EP_STATE)
    MODIFY("everything", DAT_EP_FIELD_ALL)
    TRY(dat_evd_free(dtos), "dispatcher: free in use");
    TRY(dat_ep_free(ep), "free");
}
