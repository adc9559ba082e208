/*
 * Queues that are larger than the memory that is left: each call succeeds or says
 * DAT_INSUFFICIENT_RESOURCES, and afterwards, with more memory, it succeeds: large ADAPTER.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#ifdef DAT_1_2
#include <dat/dat_detail.h>
#else
#include <dat2/dat_detail.h>
#endif

#include "../examples/end.h"

/* More than the reserve of the library, less than any of the queues needs. */
#define LEFT (1 << 20)
#define SEGMENTS 16

static char memory[4096];
static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE events;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_TRIPLET segments[SEGMENTS];
static struct rlimit before;
static int refusals;

/* Limits the memory of the process to what it has and `LEFT` more. */
static void limit_memory(void)
{
    struct rlimit limit = before;
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");

    if (file == NULL || fscanf(file, "%lu", &pages) != 1)
        exit(2);
    fclose(file);
    limit.rlim_cur = pages * 4096 + LEFT;
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        exit(2);
}

static void unlimit_memory(void)
{
    setrlimit(RLIMIT_AS, &before);
}

/* Returns whether a call succeeded; the only other result is that resources are missing. */
static int succeeds(DAT_RETURN code, const char *call)
{
    if (code != DAT_SUCCESS && DAT_GET_TYPE(code) != DAT_INSUFFICIENT_RESOURCES) {
        printf("NOT OK: %s: %#x: %s\n", call, (unsigned)code, dat_error_detail());
        exit(1);
    }
    refusals += code != DAT_SUCCESS;
    return code == DAT_SUCCESS;
}
#define SUCCEEDS(call) succeeds(call, #call)

/* A call, with little memory and then with enough. */
#define LARGE(call)                                        \
    do {                                                   \
        limit_memory();                                    \
        if (!SUCCEEDS(call)) {                             \
            unlimit_memory();                              \
            CHECK(call);                                   \
        }                                                  \
        unlimit_memory();                                  \
    } while (0)

static void test_dispatchers(DAT_COUNT most)
{
    DAT_EVD_HANDLE large;
    DAT_EVENT event;
    DAT_COUNT posted = 0;

    LARGE(dat_evd_create(ia, most, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &large));
    CHECK(dat_evd_free(large));
    CHECK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &large));
    LARGE(dat_evd_resize(large, most));

    /* The queue grows with its events. */
    memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    limit_memory();
    while (posted < most && dat_evd_post_se(large, &event) == DAT_SUCCESS)
        posted++;
    unlimit_memory();
    if (posted < most) {
        refusals++;
        CHECK(dat_evd_post_se(large, &event));
        posted++;
    }
    while (dat_evd_dequeue(large, &event) == DAT_SUCCESS)
        posted--;
    if (posted != 0) {
        printf("NOT OK: %d events are missing\n", (int)posted);
        exit(1);
    }
    CHECK(dat_evd_free(large));
}

static void test_endpoints(DAT_COUNT most)
{
    DAT_EP_ATTR attributes;
    DAT_EP_PARAM param;
    DAT_EP_HANDLE ep;
    DAT_COUNT number;

    CHECK(dat_ep_create(ia, pz, events, events, events, NULL, &ep));
    CHECK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    CHECK(dat_ep_free(ep));
    attributes = param.ep_attr;
    attributes.max_recv_dtos = most;
    attributes.max_recv_iov = SEGMENTS;
    LARGE(dat_ep_create(ia, pz, events, events, events, &attributes, &ep));
    for (number = 0; number < most; number++)
        LARGE(dat_ep_post_recv(ep, SEGMENTS, segments, cookie_of(1), DAT_COMPLETION_DEFAULT_FLAG));
    CHECK(dat_ep_free(ep));
}

static void test_shared_queues(DAT_COUNT most)
{
    DAT_SRQ_ATTR attributes = {0, SEGMENTS, 0};
    DAT_SRQ_HANDLE srq;
    DAT_COUNT number;

    attributes.max_recv_dtos = most;
    LARGE(dat_srq_create(ia, pz, &attributes, &srq));
    for (number = 0; number < 16; number++)
        LARGE(dat_srq_post_recv(srq, SEGMENTS, segments, cookie_of(1)));
    LARGE(dat_srq_resize(srq, most / 2));
    CHECK(dat_srq_free(srq));
}

int main(int argc, char **argv)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_REGION_DESCRIPTION region;
    DAT_LMR_CONTEXT context;
    DAT_IA_ATTR attributes;
    int number;

    /* What is freed goes back to the system. */
    mallopt(M_MMAP_THRESHOLD, 128 << 10);
    getrlimit(RLIMIT_AS, &before);
    CHECK(dat_ia_open(argc > 1 ? argv[1] : "loopback", 8, &async, &ia));
    CHECK(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    CHECK(dat_pz_create(ia, &pz));
    CHECK(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &events));
    region.for_va = memory;
    CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, pz, PRIVILEGES, &lmr, &context,
                         NULL, NULL, NULL));
    for (number = 0; number < SEGMENTS; number++) {
        segments[number].lmr_context = context;
        segments[number].virtual_address = (DAT_VADDR)(uintptr_t)(memory + number * 64);
        segments[number].segment_length = 64;
    }

    test_dispatchers(attributes.max_evd_qlen);
    test_endpoints(attributes.max_dto_per_ep);
    test_shared_queues(attributes.max_recv_per_srq);

    CHECK(dat_lmr_free(lmr));
    CHECK(dat_evd_free(events));
    CHECK(dat_pz_free(pz));
    CHECK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
    printf("%d calls had no memory\n", refusals);
    if (refusals == 0)
        printf("NOT OK: the memory was not short\n");
    return refusals == 0;
}
