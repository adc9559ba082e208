/*
 * What calls write: an event or the struct of a query, and no byte outside it; and nothing on
 * failure. handles.c tests failures caused by handles and pointers, this file all others.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

#ifdef DAT_1_2
_Static_assert(sizeof(DAT_EVENT) == 48, "an event of DAT 1.2");
#else
_Static_assert(sizeof(DAT_EVENT) == 120, "an event of DAT 2.0");
#endif

/* The destination of a result, between areas that must not be written. */
#define FENCE 256
#define ROOM 1024
static union {
    unsigned char bytes[FENCE + ROOM + FENCE];
    uint64_t align;
} place;
static void *const result = place.bytes + FENCE;
static const unsigned char before = 0xa5;

static void *fresh(void)
{
    memset(place.bytes, before, sizeof place.bytes);
    return result;
}

/* Checks that at most `size` bytes were written. */
static int within(size_t size)
{
    for (size_t i = 0; i < sizeof place.bytes; i++) {
        int inside = i >= FENCE && i < FENCE + size;
        if (!inside && place.bytes[i] != before)
            return 0;
    }
    return 1;
}

static DAT_HANDLE set[KINDS];

/* The next event, by both calls in turn; an empty queue writes no event. */
static DAT_EVENT take(DAT_EVD_HANDLE evd, unsigned expected)
{
    static int turn;
    DAT_EVENT *event;
    DAT_COUNT more;
    DAT_RETURN code;

    if (turn++ % 2 == 0) {
        MUST(dat_evd_wait(evd, 10000000, 1, event = fresh(), &more));
    } else {
        while (DAT_GET_TYPE(code = dat_evd_dequeue(evd, event = fresh())) == DAT_QUEUE_EMPTY)
            CHECK(within(0), "an empty queue writes an event");
        must(code, "dat_evd_dequeue");
    }
    CHECK(within(sizeof *event), "event %#x goes beyond DAT_EVENT", (unsigned)event->event_number);
    CHECK(event->event_number == expected, "event %#x instead of %#x",
          (unsigned)event->event_number, expected);
    CHECK(event->evd_handle == evd, "event %#x has another dispatcher", expected);
    return *event;
}

static void try_empty(void)
{
    DAT_EVD_HANDLE none = DAT_HANDLE_NULL;
    DAT_COUNT more = 77;

    CHECK(DAT_GET_TYPE(dat_evd_dequeue(set[KIND_EVD], fresh())) == DAT_QUEUE_EMPTY && within(0),
          "an empty queue writes an event");
    CHECK(DAT_GET_TYPE(dat_evd_wait(set[KIND_EVD], 0, 1, fresh(), &more)) == DAT_TIMEOUT_EXPIRED &&
              within(0), "a wait that times out writes an event");
    CHECK(more == 0, "a wait that times out tells of %d events", (int)more);
    fresh();
    /* This result is also set on a time-out: to no dispatcher. */
    CHECK(DAT_GET_TYPE(dat_cno_wait(set[KIND_CNO], 0, result)) != DAT_SUCCESS &&
              within(sizeof none) && memcmp(result, &none, sizeof none) == 0,
          "a wait that times out names a dispatcher");
}

static void try_software(void)
{
    DAT_EVENT event;
    int word;

    memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    event.event_data.software_event_data.pointer = &word;
    for (int i = 0; i < 2; i++) {
        MUST(dat_evd_post_se(set[KIND_EVD], &event));
        CHECK(take(set[KIND_EVD], DAT_SOFTWARE_EVENT).event_data.software_event_data.pointer ==
                  &word, "the word of a software event");
    }
}

/* A queue with fewer receives than its watermark. */
static void try_async(DAT_EVD_HANDLE async)
{
    for (int i = 0; i < 2; i++) {
        MUST(dat_srq_set_lw(set[KIND_SRQ], 1));
        take(async, DAT_ASYNC_ERROR_EP_BROKEN);
    }
}

/* All events of a connection, on both sides. */
static void try_connection(void)
{
    DAT_EVD_HANDLE evd;
    DAT_EP_HANDLE ends[2], refused;
    DAT_CONN_QUAL qualifier;
    DAT_PSP_HANDLE psp;
    DAT_CR_HANDLE request;
    DAT_CONTEXT cookie = {.as_64 = 5};
    DAT_RMR_CONTEXT rmr_context;
    char data[] = "private";

    MUST(dat_evd_create(set[KIND_IA], 32, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG & ~DAT_EVD_ASYNC_FLAG,
                        &evd));
    MUST(dat_psp_create_any(set[KIND_IA], &qualifier, evd, DAT_PSP_CONSUMER_FLAG, &psp));
    for (int i = 0; i < 2; i++)
        MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], evd, evd, evd, NULL, &ends[i]));
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], evd, evd, evd, NULL, &refused));

    MUST(dat_ep_connect(refused, (DAT_IA_ADDRESS_PTR)&address, qualifier, DAT_TIMEOUT_INFINITE,
                        sizeof data, data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    request = take(evd, DAT_CONNECTION_REQUEST_EVENT).event_data.cr_arrival_event_data.cr_handle;
#ifdef DAT_1_2
    MUST(dat_cr_reject(request));
#else
    MUST(dat_cr_reject(request, sizeof data, data));
#endif
    take(evd, DAT_CONNECTION_EVENT_PEER_REJECTED);
    MUST(dat_ep_free(refused));

    MUST(dat_ep_post_recv(ends[1], 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
    MUST(dat_ep_connect(ends[0], (DAT_IA_ADDRESS_PTR)&address, qualifier, DAT_TIMEOUT_INFINITE,
                        sizeof data, data, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    request = take(evd, DAT_CONNECTION_REQUEST_EVENT).event_data.cr_arrival_event_data.cr_handle;
    MUST(dat_cr_accept(request, ends[1], sizeof data, data));
    take(evd, DAT_CONNECTION_EVENT_ESTABLISHED);
    take(evd, DAT_CONNECTION_EVENT_ESTABLISHED);

    MUST(dat_ep_post_send(ends[0], 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));
    take(evd, DAT_DTO_COMPLETION_EVENT);
    take(evd, DAT_DTO_COMPLETION_EVENT);
    for (int i = 0; i < 2; i++) {
        fresh();
#ifdef DAT_1_2
        MUST(dat_rmr_bind(set[KIND_RMR], &segment, DAT_MEM_PRIV_ALL_FLAG, ends[0], cookie,
                          DAT_COMPLETION_DEFAULT_FLAG, result));
#else
        MUST(dat_rmr_bind(set[KIND_RMR], set[KIND_LMR], &segment, DAT_MEM_PRIV_ALL_FLAG,
                          DAT_VA_TYPE_VA, ends[0], cookie, DAT_COMPLETION_DEFAULT_FLAG, result));
#endif
        CHECK(within(sizeof rmr_context), "dat_rmr_bind writes beyond its context");
        memcpy(&rmr_context, result, sizeof rmr_context);
        take(evd, DAT_RMR_BIND_COMPLETION_EVENT);
    }
#ifndef DAT_1_2
    {
        DAT_RMR_TRIPLET remote = {segment.virtual_address, segment.segment_length, rmr_context};

        MUST(dat_ep_post_recv(ends[0], 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
        MUST(dat_ib_post_rdma_write_immed(ends[1], 1, &segment, cookie, &remote, 7,
                                          DAT_COMPLETION_DEFAULT_FLAG));
        take(evd, DAT_IB_DTO_EVENT);
        take(evd, DAT_IB_DTO_EVENT);
    }
#endif
    MUST(dat_ep_disconnect(ends[0], DAT_CLOSE_ABRUPT_FLAG));
    take(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    take(evd, DAT_CONNECTION_EVENT_DISCONNECTED);
    for (int i = 0; i < 2; i++)
        MUST(dat_ep_free(ends[i]));
    MUST(dat_psp_free(psp));
    MUST(dat_evd_free(evd));
}

/* The queries, except that of an adapter. */
typedef DAT_RETURN (*query)(DAT_HANDLE handle, uint64_t mask, void *place);
#define QUERY(name, MASK, PARAM)                                                              \
    static DAT_RETURN query_##name(DAT_HANDLE handle, uint64_t mask, void *to)                \
    {                                                                                         \
        return dat_##name##_query(handle, (MASK)mask, (PARAM *)to);                           \
    }
QUERY(evd, DAT_EVD_PARAM_MASK, DAT_EVD_PARAM)
QUERY(cno, DAT_CNO_PARAM_MASK, DAT_CNO_PARAM)
QUERY(pz, DAT_PZ_PARAM_MASK, DAT_PZ_PARAM)
QUERY(ep, DAT_EP_PARAM_MASK, DAT_EP_PARAM)
QUERY(lmr, DAT_LMR_PARAM_MASK, DAT_LMR_PARAM)
QUERY(rmr, DAT_RMR_PARAM_MASK, DAT_RMR_PARAM)
QUERY(psp, DAT_PSP_PARAM_MASK, DAT_PSP_PARAM)
QUERY(rsp, DAT_RSP_PARAM_MASK, DAT_RSP_PARAM)
QUERY(cr, DAT_CR_PARAM_MASK, DAT_CR_PARAM)
QUERY(srq, DAT_SRQ_PARAM_MASK, DAT_SRQ_PARAM)
#ifndef DAT_1_2
QUERY(csp, DAT_CSP_PARAM_MASK, DAT_CSP_PARAM)
#endif

static DAT_RETURN query_ia(DAT_HANDLE handle, uint64_t mask, void *to)
{
    return dat_ia_query(handle, NULL, mask, to, 0, NULL);
}

static DAT_RETURN query_provider(DAT_HANDLE handle, uint64_t mask, void *to)
{
    return dat_ia_query(handle, NULL, 0, NULL, mask, to);
}

static const struct {
    const char *name;
    query make;
    enum kind kind;
    size_t size;
    uint64_t all;
} queries[] = {
    {"dat_ia_query: adapter", query_ia, KIND_IA, sizeof(DAT_IA_ATTR), DAT_IA_FIELD_ALL},
    {"dat_ia_query: provider", query_provider, KIND_IA, sizeof(DAT_PROVIDER_ATTR),
     DAT_PROVIDER_FIELD_ALL},
    {"dat_evd_query", query_evd, KIND_EVD, sizeof(DAT_EVD_PARAM), DAT_EVD_FIELD_ALL},
    {"dat_cno_query", query_cno, KIND_CNO, sizeof(DAT_CNO_PARAM), DAT_CNO_FIELD_ALL},
    {"dat_pz_query", query_pz, KIND_PZ, sizeof(DAT_PZ_PARAM), DAT_PZ_FIELD_ALL},
    {"dat_ep_query", query_ep, KIND_EP, sizeof(DAT_EP_PARAM), DAT_EP_FIELD_ALL},
    {"dat_lmr_query", query_lmr, KIND_LMR, sizeof(DAT_LMR_PARAM), DAT_LMR_FIELD_ALL},
    {"dat_rmr_query", query_rmr, KIND_RMR, sizeof(DAT_RMR_PARAM), DAT_RMR_FIELD_ALL},
    {"dat_psp_query", query_psp, KIND_PSP, sizeof(DAT_PSP_PARAM), DAT_PSP_FIELD_ALL},
    {"dat_rsp_query", query_rsp, KIND_RSP, sizeof(DAT_RSP_PARAM), DAT_RSP_FIELD_ALL},
    {"dat_cr_query", query_cr, KIND_CR, sizeof(DAT_CR_PARAM), DAT_CR_FIELD_ALL},
    {"dat_srq_query", query_srq, KIND_SRQ, sizeof(DAT_SRQ_PARAM), DAT_SRQ_FIELD_ALL},
#ifndef DAT_1_2
    {"dat_csp_query", query_csp, KIND_CSP, sizeof(DAT_CSP_PARAM), DAT_CSP_FIELD_ALL},
#endif
};

static void try_mask(size_t i, uint64_t mask)
{
    DAT_RETURN code = queries[i].make(set[queries[i].kind], mask, fresh());

    CHECK(code == DAT_SUCCESS, "%s with mask %#llx: %#x", queries[i].name,
          (unsigned long long)mask, (unsigned)code);
    CHECK(within(queries[i].size), "%s with mask %#llx writes beyond its struct", queries[i].name,
          (unsigned long long)mask);
    if (mask != 0)
        CHECK(!within(0), "%s with mask %#llx writes nothing", queries[i].name,
              (unsigned long long)mask);
}

static void try_queries(void)
{
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        try_mask(i, 0);
        for (uint64_t bit = 1; bit != 0 && bit <= queries[i].all; bit *= 2) {
            if (queries[i].all & bit)
                try_mask(i, bit);
        }
        try_mask(i, queries[i].all);
    }
}

/* A call that succeeds writes its result and nothing else. */
#define WRITES(size, call)                                                          \
    do {                                                                            \
        fresh();                                                                    \
        MUST(call);                                                                 \
        CHECK(within(size) && !within(0), "%s writes too much or nothing", #call);  \
    } while (0)

static void try_results(void)
{
    WRITES(sizeof(DAT_CONTEXT), dat_get_consumer_context(set[KIND_EP], result));
    WRITES(sizeof(DAT_HANDLE_TYPE), dat_get_handle_type(set[KIND_EP], result));
    WRITES(sizeof(DAT_IA_HANDLE), dats_get_ia_handle(set[KIND_IA], result));
    WRITES(sizeof(DAT_EVD_HANDLE), dat_ia_query(set[KIND_IA], result, 0, NULL, 0, NULL));
    WRITES(sizeof(DAT_EP_STATE), dat_ep_get_status(set[KIND_EP], result, NULL, NULL));
    WRITES(sizeof(DAT_BOOLEAN), dat_ep_get_status(set[KIND_EP], NULL, result, NULL));
    WRITES(sizeof(DAT_BOOLEAN), dat_ep_get_status(set[KIND_EP], NULL, NULL, result));
    WRITES(sizeof(DAT_COUNT), dat_ep_recv_query(set[KIND_EP], result, NULL));
    WRITES(sizeof(DAT_COUNT), dat_ep_recv_query(set[KIND_EP], NULL, result));
}

/* A call that fails writes nothing. */
#define REFUSED(type, call)                                                                  \
    do {                                                                                     \
        DAT_RETURN code_;                                                                    \
        fresh();                                                                             \
        code_ = call;                                                                        \
        CHECK(DAT_GET_TYPE(code_) == (type), "%s: %#x", #call, (unsigned)code_);             \
        CHECK(within(0), "%s writes a result though it fails", #call);                       \
    } while (0)

static void try_failures(void)
{
    DAT_IA_HANDLE ia = set[KIND_IA];
    DAT_EVD_HANDLE evd = set[KIND_EVD], none = DAT_HANDLE_NULL;
    DAT_PSP_PARAM listening;
    DAT_EP_ATTR attributes;
    DAT_EP_HANDLE spare;
    DAT_SRQ_ATTR huge = {0x7fffffff, 1, 0};
    char nobody[] = "no-such-adapter";
    DAT_PROVIDER_INFO *list[1] = {NULL};

    MUST(dat_psp_query(set[KIND_PSP], DAT_PSP_FIELD_ALL, &listening));
    MUST(dat_ep_create(ia, set[KIND_PZ], evd, evd, evd, NULL, &spare));
    REFUSED(DAT_PROVIDER_NOT_FOUND, dat_ia_open(nobody, 8, &none, result));
    CHECK(none == DAT_HANDLE_NULL, "dat_ia_open names a dispatcher though it fails");
    REFUSED(DAT_INVALID_PARAMETER, dat_evd_create(ia, -1, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, result));
    REFUSED(DAT_INVALID_PARAMETER,
            dat_evd_create(ia, 8, DAT_HANDLE_NULL, (DAT_EVD_FLAGS)0x800, result));
    memset(&attributes, 0xff, sizeof attributes);
    attributes.ep_transport_specific_count = 0;
    attributes.ep_provider_specific_count = 0;
    REFUSED(DAT_INVALID_PARAMETER,
            dat_ep_create(ia, set[KIND_PZ], evd, evd, evd, &attributes, result));
    REFUSED(DAT_INVALID_PARAMETER, dat_srq_create(ia, set[KIND_PZ], &huge, result));
    REFUSED(DAT_CONN_QUAL_IN_USE,
            dat_psp_create(ia, listening.conn_qual, evd, DAT_PSP_CONSUMER_FLAG, result));
    REFUSED(DAT_INVALID_PARAMETER,
            dat_psp_create_any(ia, result, evd, (DAT_PSP_FLAGS)77, &none));
    REFUSED(DAT_CONN_QUAL_IN_USE, dat_rsp_create(ia, listening.conn_qual, spare, evd, result));
    fresh();
    CHECK(DAT_GET_TYPE(dat_registry_list_providers(-1, result, list)) == DAT_INVALID_PARAMETER &&
              within(sizeof(DAT_COUNT)) && list[0] == NULL,
          "a list of length 0 has entries"); /* their number is written nevertheless */
    REFUSED(DAT_INVALID_PARAMETER, dat_strerror(0x12345678, result, (const char **)result + 1));
    region.for_va = memory;
#ifdef DAT_1_2
    REFUSED(DAT_INVALID_PARAMETER,
            dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, set[KIND_PZ],
                           (DAT_MEM_PRIV_FLAGS)0x800, result, result, result, result, result));
    REFUSED(DAT_INVALID_STATE,
            dat_rmr_bind(set[KIND_RMR], &segment, DAT_MEM_PRIV_ALL_FLAG, asking,
                         (DAT_CONTEXT){.as_64 = 0}, DAT_COMPLETION_DEFAULT_FLAG, result));
#else
    REFUSED(DAT_INVALID_PARAMETER,
            dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, set[KIND_PZ],
                           (DAT_MEM_PRIV_FLAGS)0x800, DAT_VA_TYPE_VA, result, result, result, result,
                           result));
    REFUSED(DAT_INVALID_STATE,
            dat_rmr_bind(set[KIND_RMR], set[KIND_LMR], &segment, DAT_MEM_PRIV_ALL_FLAG,
                         DAT_VA_TYPE_VA, asking, (DAT_CONTEXT){.as_64 = 0},
                         DAT_COMPLETION_DEFAULT_FLAG, result));
    REFUSED(DAT_PORT_IN_USE,
            dat_csp_create(ia, &comm, (DAT_IA_ADDRESS_PTR)&address, evd, result));
    REFUSED(DAT_PROVIDER_NOT_FOUND, dat_registry_providers_related(adapter, nobody, result));
#endif
}

int main(void)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

    MUST(dat_ia_open(adapter, 8, &async, &set[KIND_IA]));
    make(set);
    try_empty();
    try_software();
    try_async(async);
    try_connection();
    try_queries();
    try_results();
    try_failures();
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    return verdict();
}
