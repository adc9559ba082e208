/*
 * The rows through UCX, if it was there when this was built: tagged messages, puts and gets, each
 * side with a worker of its own for one thread.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "way.h"

#ifdef HAVE_UCX

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>

#define ADDRESS 2048
#define KEY 512

struct side_state {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h ep;
    ucp_mem_h memory;
    ucp_rkey_h key;
    uint64_t remote; /* address of the peer's incoming buffer */
    int waiting;
};
static struct side_state states[2];

struct card {
    size_t address_length, key_length;
    uint64_t incoming;
    char address[ADDRESS], key[KEY];
};

#define CHECK(call) check((call), #call)

static void check(ucs_status_t status, const char *call)
{
    if (status == UCS_OK)
        return;
    fprintf(stderr, "%s: %s\n", call, ucs_status_string(status));
    exit(1);
}

static int ucx_fits(const struct adapter *adapter, const struct row *row)
{
    (void)adapter;
    /* A target that makes no call makes no progress: a put would wait without end. */
    return row->task != CONNECT && row->task != MEMORY_TRIP && !row->suppressed && !row->computing;
}

static void start(struct side_state *my, const struct adapter *adapter, const struct row *row)
{
    ucp_params_t needs = {
        .field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA | (row->waiting ? UCP_FEATURE_WAKEUP : 0),
    };
    ucp_worker_params_t threads = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE,
    };
    ucp_config_t *config;

    CHECK(ucp_config_read(NULL, NULL, &config));
    CHECK(ucp_config_modify(config, "TLS",
                            adapter->kind == TCP ? "tcp,self" : "posix,sysv,cma,self"));
    if (adapter->kind == TCP)
        CHECK(ucp_config_modify(config, "NET_DEVICES", "lo"));
    CHECK(ucp_init(&needs, config, &my->context));
    ucp_config_release(config);
    CHECK(ucp_worker_create(my->context, &threads, &my->worker));
}

/* Both sides exchange their addresses and keys. */
static void meet(enum side me)
{
    struct side_state *my = &states[me];
    ucp_mem_map_params_t region = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = buffers[me].incoming,
        .length = sizeof buffers[me].incoming,
    };
    ucp_ep_params_t peer = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    struct card mine = {0}, its;
    ucp_address_t *address;
    void *key;

    CHECK(ucp_mem_map(my->context, &region, &my->memory));
    CHECK(ucp_worker_get_address(my->worker, &address, &mine.address_length));
    CHECK(ucp_rkey_pack(my->context, my->memory, &key, &mine.key_length));
    if (mine.address_length > ADDRESS || mine.key_length > KEY)
        fail("an address of UCX is too long");
    memcpy(mine.address, address, mine.address_length);
    memcpy(mine.key, key, mine.key_length);
    mine.incoming = (uintptr_t)buffers[me].incoming;
    session_exchange(me, &mine, &its, sizeof mine);
    ucp_worker_release_address(my->worker, address);
    ucp_rkey_buffer_release(key);
    peer.address = (ucp_address_t *)its.address;
    my->remote = its.incoming;
    CHECK(ucp_ep_create(my->worker, &peer, &my->ep));
    CHECK(ucp_ep_rkey_unpack(my->ep, its.key, &my->key));
}

static void ucx_open(enum side me, const struct adapter *adapter, const struct row *row)
{
    struct side_state *my = &states[me];

    memset(my, 0, sizeof *my);
    my->waiting = row->waiting;
    start(my, adapter, row);
    meet(me);
}

static void progress(struct side_state *my)
{
    if (ucp_worker_progress(my->worker) == 0 && my->waiting)
        CHECK(ucp_worker_wait(my->worker));
}

static void finish(struct side_state *my, void *request)
{
    ucs_status_t status;

    if (UCS_PTR_IS_ERR(request))
        CHECK(UCS_PTR_STATUS(request));
    if (!UCS_PTR_IS_PTR(request))
        return;
    while ((status = ucp_request_check_status(request)) == UCS_INPROGRESS)
        progress(my);
    CHECK(status);
    ucp_request_free(request);
}

static const ucp_request_param_t plain = {0};

static void *post_send(enum side me, const struct row *row, unsigned long at)
{
    const char *from = slot_of(buffers[me].outgoing, row, at);

    return ucp_tag_send_nbx(states[me].ep, from, row->size, 1, &plain);
}

static void *post_receive(enum side me, const struct row *row, unsigned long at)
{
    char *to = slot_of(buffers[me].incoming, row, at);

    return ucp_tag_recv_nbx(states[me].worker, to, row->size, 1, ~(ucp_tag_t)0, &plain);
}

static void round_trips(enum side me, const struct row *row, unsigned long times)
{
    struct side_state *my = &states[me];

    for (unsigned long at = 0; at < times; at++) {
        void *receive = post_receive(me, row, 0), *send = NULL;

        if (me == NEAR) {
            await_sleep(row);
            send = post_send(me, row, 0);
        }
        finish(my, receive);
        if (me == FAR)
            send = post_send(me, row, 0);
        finish(my, send);
    }
}

/* Windows of requests: the oldest one is finished before its place is used again. */
static void stream(enum side me, const struct row *row, unsigned long times)
{
    unsigned window = me == NEAR ? row->window : row->receives;
    void *requests[SLOTS] = {NULL};

    for (unsigned long at = 0; at < times + window; at++) {
        finish(&states[me], requests[at % window]);
        requests[at % window] = NULL;
        if (at < times)
            requests[at % window] = (me == NEAR ? post_send : post_receive)(me, row, at);
    }
}

static void move(enum side me, const struct row *row, unsigned long times)
{
    struct side_state *my = &states[me];

    for (unsigned long at = 0; at < times; at++) {
        char *here = buffers[me].outgoing;

        if (row->task == READ) {
            finish(my, ucp_get_nbx(my->ep, here, row->size, my->remote, my->key, &plain));
        } else {
            finish(my, ucp_put_nbx(my->ep, here, row->size, my->remote, my->key, &plain));
            finish(my, ucp_ep_flush_nbx(my->ep, &plain));
        }
    }
}

static void ucx_run(enum side me, const struct row *row, unsigned long times)
{
    if (row->task == ROUND_TRIP)
        round_trips(me, row, times);
    else if (row->task == STREAM)
        stream(me, row, times);
    else if (me == NEAR)
        move(me, row, times);
    else
        while (!session_peer_ended(me))
            ucp_worker_progress(states[me].worker);
}

static void ucx_close(enum side me, const struct row *row)
{
    struct side_state *my = &states[me];
    ucs_status_ptr_t closing;

    (void)row;
    ucp_rkey_destroy(my->key);
    CHECK(ucp_mem_unmap(my->context, my->memory));
    closing = ucp_ep_close_nb(my->ep, UCP_EP_CLOSE_MODE_FORCE);
    if (UCS_PTR_IS_PTR(closing)) {
        while (ucp_request_check_status(closing) == UCS_INPROGRESS)
            ucp_worker_progress(my->worker);
        ucp_request_free(closing);
    }
    session_meet();
    ucp_worker_destroy(my->worker);
    ucp_cleanup(my->context);
}

const struct way by_ucx = {"UCX", 0, ucx_fits, ucx_open, ucx_run, ucx_close};

#endif
