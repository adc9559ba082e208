/*
 * The same operations through UCX in one process: a message of 64 bytes into a receive that was
 * posted before, and a put of 64 bytes. Prints nanoseconds: the median of many rounds, the worst
 * and the best.
 *
 *   UCX_TLS=self ucx single|multi
 *
 * multi has a worker that several threads may use, like every object of DAT.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucp/api/ucp.h>

#define SIZE 64
#define ROUNDS 300
#define TIMES 20000

static ucp_worker_h worker;
static ucp_ep_h ep;
static ucp_rkey_h rkey;
static const ucp_request_param_t plain = {0};
static char from[SIZE] __attribute__((aligned(64))), to[SIZE] __attribute__((aligned(64)));
static char window[4096] __attribute__((aligned(4096)));

#define CHECK(call) check((call), #call)

static void check(ucs_status_t status, const char *call)
{
    if (status == UCS_OK)
        return;
    fprintf(stderr, "%s: %s\n", call, ucs_status_string(status));
    exit(1);
}

static void set_up(int multi)
{
    ucp_params_t needs = {
        .field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_MT_WORKERS_SHARED,
        .features = UCP_FEATURE_TAG | UCP_FEATURE_RMA,
        .mt_workers_shared = multi,
    };
    ucp_worker_params_t threads = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = multi ? UCS_THREAD_MODE_MULTI : UCS_THREAD_MODE_SINGLE,
    };
    ucp_worker_attr_t given = {.field_mask = UCP_WORKER_ATTR_FIELD_THREAD_MODE};
    ucp_mem_map_params_t memory = {
        .field_mask = UCP_MEM_MAP_PARAM_FIELD_ADDRESS | UCP_MEM_MAP_PARAM_FIELD_LENGTH,
        .address = window,
        .length = sizeof window,
    };
    ucp_ep_params_t peer = {.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS};
    ucp_address_t *address;
    ucp_config_t *config;
    ucp_context_h context;
    ucp_mem_h mapped;
    void *packed;
    size_t length;

    CHECK(ucp_config_read(NULL, NULL, &config));
    CHECK(ucp_init(&needs, config, &context));
    CHECK(ucp_worker_create(context, &threads, &worker));
    CHECK(ucp_worker_query(worker, &given));
    if (given.thread_mode != threads.thread_mode) {
        fprintf(stderr, "this UCX was built without that thread mode\n");
        exit(1);
    }
    CHECK(ucp_worker_get_address(worker, &address, &length));
    peer.address = address;
    CHECK(ucp_ep_create(worker, &peer, &ep));
    CHECK(ucp_mem_map(context, &memory, &mapped));
    CHECK(ucp_rkey_pack(context, mapped, &packed, &length));
    CHECK(ucp_ep_rkey_unpack(ep, packed, &rkey));
}

static inline void finish(void *request)
{
    if (!UCS_PTR_IS_PTR(request)) {
        check(UCS_PTR_STATUS(request), "a request");
        return;
    }
    while (ucp_request_check_status(request) == UCS_INPROGRESS)
        ucp_worker_progress(worker);
    check(ucp_request_check_status(request), "a request");
    ucp_request_free(request);
}

static void message(void)
{
    void *receive = ucp_tag_recv_nbx(worker, to, SIZE, 7, ~(ucp_tag_t)0, &plain);

    finish(ucp_tag_send_nbx(ep, from, SIZE, 7, &plain));
    finish(receive);
}

static void put(void) { finish(ucp_put_nbx(ep, from, SIZE, (uint64_t)(uintptr_t)window, rkey, &plain)); }

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

static inline void measure(const char *what, void (*operation)(void))
{
    static double rounds[ROUNDS];

    for (int round = 0; round < ROUNDS; round++) {
        double start = now();

        for (int time = 0; time < TIMES; time++)
            operation();
        rounds[round] = (now() - start) / TIMES;
    }
    qsort(rounds, ROUNDS, sizeof rounds[0], compare);
    printf("  %s %.1f (%.1f to %.1f)", what, rounds[ROUNDS / 2], rounds[ROUNDS - 1], rounds[0]);
}

int main(int count, char **words)
{
    int multi = count == 2 && strcmp(words[1], "multi") == 0;

    if (!multi && (count != 2 || strcmp(words[1], "single") != 0)) {
        fprintf(stderr, "usage: ucx single|multi\n");
        return 2;
    }
    set_up(multi);
    strcpy(from, "a message");
    printf("UCX, %-6s", words[1]);
    measure("message and its receive", message);
    measure("put", put);
    putchar('\n');
    if (strcmp(to, from) != 0 || strcmp(window, from) != 0) {
        fprintf(stderr, "the bytes did not arrive\n");
        return 1;
    }
    return 0;
}
