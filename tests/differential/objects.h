/*
 * The objects that the cases of the differential test use.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

static char *adapter;
/* The first of the qualifiers that this program listens on. */
static DAT_CONN_QUAL qualifier;

static DAT_IA_HANDLE ia;
static DAT_EVD_HANDLE async, dtos, requests, connections, listening;
static DAT_PZ_HANDLE pz;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT local_context;
static DAT_RMR_CONTEXT remote_context;
static DAT_OS_WAIT_PROXY_AGENT no_agent;
static _Alignas(4096) char memory[65536];
static struct sockaddr_storage address;

#ifdef DAT_1_2
#define REMOTE_ADDRESS target_address
#else
#define REMOTE_ADDRESS virtual_address
#endif

static DAT_RETURN register_memory(DAT_MEM_TYPE type, void *where, DAT_VLEN length, DAT_PZ_HANDLE zone,
                                  DAT_MEM_PRIV_FLAGS privileges, int zero_based, DAT_LMR_HANDLE *made,
                                  DAT_LMR_CONTEXT *local, DAT_RMR_CONTEXT *remote, DAT_VLEN *size,
                                  DAT_VADDR *start)
{
    DAT_REGION_DESCRIPTION region;

    memset(&region, 0, sizeof region);
    if (type == DAT_MEM_TYPE_LMR)
        region.for_lmr_handle = where;
    else
        region.for_va = where;
#ifdef DAT_1_2
    (void)zero_based;
    return dat_lmr_create(ia, type, region, length, zone, privileges, made, local, remote, size, start);
#else
    return dat_lmr_create(ia, type, region, length, zone, privileges,
                          zero_based ? DAT_VA_TYPE_ZB : DAT_VA_TYPE_VA, made, local, remote, size, start);
#endif
}

static void open_adapter(void)
{
    DAT_IA_ATTR attributes;

    async = DAT_HANDLE_NULL;
    MUST(dat_ia_open(adapter, 8, &async, &ia));
    MUST(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    memcpy(&address, attributes.ia_address_ptr, sizeof(struct sockaddr));
}

static void make_objects(void)
{
    DAT_VLEN size;
    DAT_VADDR start;

    open_adapter();
    MUST(dat_pz_create(ia, &pz));
    MUST(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &dtos));
    MUST(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &requests));
    MUST(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connections));
    MUST(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &listening));
    MUST(register_memory(DAT_MEM_TYPE_VIRTUAL, memory, sizeof memory, pz, DAT_MEM_PRIV_ALL_FLAG, 0, &lmr,
                         &local_context, &remote_context, &size, &start));
}

static DAT_LMR_TRIPLET segment(unsigned offset, DAT_VLEN length)
{
    DAT_LMR_TRIPLET made;

    memset(&made, 0, sizeof made);
    made.lmr_context = local_context;
    made.virtual_address = (DAT_VADDR)(uintptr_t)(memory + offset);
    made.segment_length = length;
    return made;
}

static DAT_RMR_TRIPLET remote(unsigned offset, DAT_VLEN length)
{
    DAT_RMR_TRIPLET made;

    memset(&made, 0, sizeof made);
    made.rmr_context = remote_context;
    made.REMOTE_ADDRESS = (DAT_VADDR)(uintptr_t)(memory + offset);
    made.segment_length = length;
    return made;
}

static DAT_DTO_COOKIE cookie(unsigned number)
{
    DAT_DTO_COOKIE made;

    made.as_64 = number;
    return made;
}

static DAT_EP_HANDLE endpoint(const DAT_EP_ATTR *attributes)
{
    DAT_EP_HANDLE made = DAT_HANDLE_NULL;

    MUST(dat_ep_create(ia, pz, dtos, requests, connections, (DAT_EP_ATTR *)attributes, &made));
    return made;
}

static const char *state_of(DAT_EP_HANDLE ep)
{
    static char text[64];
    DAT_EP_STATE state = 0;
    DAT_BOOLEAN recv_idle, request_idle;
    DAT_RETURN value = dat_ep_get_status(ep, &state, &recv_idle, &request_idle);

    if (value != DAT_SUCCESS)
        return code(value);
    /* The values differ between 1.2 and 2.0, which has more states. */
    switch (state) {
#define STATE(name) case DAT_EP_STATE_##name: return #name
    STATE(UNCONNECTED);
    STATE(RESERVED);
    STATE(PASSIVE_CONNECTION_PENDING);
    STATE(ACTIVE_CONNECTION_PENDING);
    STATE(TENTATIVE_CONNECTION_PENDING);
    STATE(CONNECTED);
    STATE(DISCONNECT_PENDING);
    STATE(DISCONNECTED);
    STATE(COMPLETION_PENDING);
    default: snprintf(text, sizeof text, "%d", (int)state);
    }
    return text;
}

/* Discards the events of earlier cases. */
static void forget(void)
{
    DAT_EVD_HANDLE all[] = {dtos, requests, connections, listening};
    DAT_EVENT event;

    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        for (int j = 0; j < 64 && dat_evd_dequeue(all[i], &event) == DAT_SUCCESS; j++)
            ;
}

/* Takes one event per side of a connection, in any order. */
static void take_both(void)
{
    DAT_EVENT events[2];
    DAT_COUNT more;

    for (int i = 0; i < 2; i++) {
        DAT_RETURN value = dat_evd_wait(connections, 3000000, 1, &events[i], &more);

        if (value != DAT_SUCCESS) {
            say("connection events", "%d, then %s", i, code(value));
            return;
        }
    }
    int first = events[0].event_data.connect_event_data.ep_handle == active ? 0 : 1;
    say_event("one side", &events[first]);
    say_event("other side", &events[1 - first]);
}

/* Connects two endpoints of this process. */
static int connect_pair(const DAT_EP_ATTR *attributes, DAT_COUNT private_size, DAT_PVOID private_data)
{
    DAT_PSP_HANDLE psp;
    DAT_RETURN value;

    forget();
    active = endpoint(attributes);
    passive = endpoint(attributes);
    /* A qualifier of its own for each pair, since a port may not be free immediately after use. */
    qualifier++;
    MUST(dat_psp_create(ia, qualifier, listening, DAT_PSP_CONSUMER_FLAG, &psp));
    value = dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, qualifier, 10000000, private_size, private_data,
                           DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
    if (value != DAT_SUCCESS) {
        say("connect", "%s", code(value));
        return 0;
    }
    if (!take(listening, "request", 1))
        return 0;
    value = dat_cr_accept(request, passive, private_size, private_data);
    if (value != DAT_SUCCESS) {
        say("accept", "%s", code(value));
        return 0;
    }
    /* Which side gets its event first is random. */
    DAT_EVENT event;
    DAT_COUNT more;
    int heard = 0;
    for (int i = 0; i < 2; i++) {
        value = dat_evd_wait(connections, 10000000, 1, &event, &more);
        if (value != DAT_SUCCESS || event.event_number != DAT_CONNECTION_EVENT_ESTABLISHED) {
            say("established", "%s, %s", code(value), word(event_numbers, event.event_number));
            return 0;
        }
        heard |= event.event_data.connect_event_data.ep_handle == active ? 1 : 2;
    }
    dat_psp_free(psp);
    say("connected", "%d, %s", heard, state_of(active));
    return heard == 3;
}

static void free_pair(void)
{
    dat_ep_disconnect(active, DAT_CLOSE_ABRUPT_FLAG);
    dat_ep_disconnect(passive, DAT_CLOSE_ABRUPT_FLAG);
    usleep(200000);
    dat_ep_free(active);
    dat_ep_free(passive);
}
