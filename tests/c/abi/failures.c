/*
 * dat_error_detail after an event that reports a failure: it describes the failure and, for a
 * flushed operation or a broken connection, the endpoint's first failure.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <pthread.h>

#include "../objects.h"

#define REFUSED 0x77
#define FLUSHED 0x55

static DAT_HANDLE set[KINDS];
static DAT_EP_HANDLE peer;

static DAT_EVENT next(void)
{
    DAT_EVENT event;
    DAT_COUNT more;

    MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
    return event;
}

static DAT_DTO_COOKIE cookie(DAT_UINT64 number)
{
    DAT_DTO_COOKIE cookie;

    cookie.as_64 = number;
    return cookie;
}

static void has(const char *what, const char *words)
{
    CHECK(strstr(dat_error_detail(), words) != NULL, "%s: no \"%s\" in \"%s\"", what, words,
          dat_error_detail());
}

static void connect_both(void)
{
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                       NULL, &peer));
    MUST(dat_cr_accept(set[KIND_CR], peer, 0, NULL));
    for (int side = 0; side < 2; side++) {
        DAT_EVENT event = next();

        CHECK(event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "%#x",
              (unsigned)event.event_number);
    }
}

/* A send that arrives does not change the text. */
static void succeed(void)
{
    segment.segment_length = 8;
    MUST(dat_ep_post_recv(peer, 1, &segment, cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
    MUST(dat_ep_post_send(asking, 1, &segment, cookie(2), DAT_COMPLETION_DEFAULT_FLAG));
    for (int side = 0; side < 2; side++)
        CHECK(next().event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS, "a failure");
    CHECK(*dat_error_detail() == '\0', "a success has words: \"%s\"", dat_error_detail());
}

/* A wait that times out replaces the text of an earlier error. */
static void time_out(void)
{
    DAT_EVENT event;
    DAT_COUNT more;

    CHECK(dat_evd_free(DAT_HANDLE_NULL) != DAT_SUCCESS, "NULL was freed");
    CHECK(strstr(dat_error_detail(), "dat_evd_free") != NULL, "\"%s\"", dat_error_detail());
    CHECK(DAT_GET_TYPE(dat_evd_wait(set[KIND_EVD], 0, 1, &event, &more)) == DAT_TIMEOUT_EXPIRED, "an event");
    CHECK(strstr(dat_error_detail(), "no event arrived") != NULL, "\"%s\"", dat_error_detail());
}

/* A dequeue that finds nothing replaces the text of an earlier error, and names the dispatcher. */
static void find_nothing(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;
    char name[40];
    int round;

    sprintf(name, "EVD %p: no event", evd);
    CHECK(dat_ep_free(DAT_HANDLE_NULL) != DAT_SUCCESS, "NULL was freed");
    for (round = 0; round < 100; round++)
        CHECK(dat_evd_dequeue(evd, &event) == DAT_QUEUE_EMPTY, "an event");
    CHECK(strstr(dat_error_detail(), name) != NULL, "no %s: \"%s\"", name, dat_error_detail());
    CHECK(strstr(dat_error_detail(), name) != NULL, "a second time: \"%s\"", dat_error_detail());
    CHECK(dat_evd_dequeue(evd, &event) == DAT_QUEUE_EMPTY, "an event");
    CHECK(dat_ep_free(DAT_HANDLE_NULL) != DAT_SUCCESS, "NULL was freed");
    CHECK(strstr(dat_error_detail(), "dat_ep_free") != NULL, "\"%s\"", dat_error_detail());
}

/* A wait that times out says what a request waits for, in the words of `dat top`. */
static void stall(void)
{
    static const char words[] = ": no receive is posted at the peer; ";
    DAT_EVENT event;
    DAT_COUNT more;

    MUST(dat_ep_post_send(asking, 1, &segment, cookie(3), DAT_COMPLETION_DEFAULT_FLAG));
    /* The library checks the requests every second, or less often while there is much to do. */
    for (int second = 0; second < 60; second++) {
        CHECK(DAT_GET_TYPE(dat_evd_wait(set[KIND_EVD], 1000000, 1, &event, &more)) == DAT_TIMEOUT_EXPIRED, "an event");
        if (strstr(dat_error_detail(), words) != NULL)
            break;
    }
    has("a request that is stalled", " has waited for ");
    has("a request that is stalled", words);
    MUST(dat_ep_post_recv(peer, 1, &segment, cookie(4), DAT_COMPLETION_DEFAULT_FLAG));
    for (int side = 0; side < 2; side++)
        CHECK(next().event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS, "a failure");
}

/* A write that the peer refuses breaks the connection, and flushes a receive. */
static void fail(void)
{
    int refused = 0, flushed = 0, broken = 0, alone = 0;
    DAT_RMR_TRIPLET nowhere;

    memset(&nowhere, 0, sizeof nowhere);
    nowhere.rmr_context = 0x5ead;
    nowhere.segment_length = 8;
    MUST(dat_ep_post_recv(asking, 1, &segment, cookie(FLUSHED), DAT_COMPLETION_DEFAULT_FLAG));
    MUST(dat_ep_post_rdma_write(asking, 1, &segment, cookie(REFUSED), &nowhere,
                                DAT_COMPLETION_DEFAULT_FLAG));
    for (int events = 0; events < 4; events++) {
        DAT_EVENT event = next();
        const DAT_DTO_COMPLETION_EVENT_DATA *done = &event.event_data.dto_completion_event_data;

        if (event.event_number == DAT_CONNECTION_EVENT_BROKEN) {
            broken++;
            has("a connection that broke", "DAT_CONNECTION_EVENT_BROKEN: ");
            if (strstr(dat_error_detail(), "cookie 0x77") == NULL) {
                alone++;
                has("the other side", "No local operation");
            }
        } else if (done->user_cookie.as_64 == REFUSED) {
            refused++;
            CHECK(done->status == DAT_DTO_ERR_REMOTE_ACCESS, "status %d", (int)done->status);
            has("what failed", "RDMA write with cookie 0x77: DAT_DTO_ERR_REMOTE_ACCESS: ");
            CHECK(strstr(dat_error_detail(), "first failure") == NULL, "told twice: \"%s\"",
                  dat_error_detail());
        } else {
            flushed++;
            CHECK(done->status == DAT_DTO_ERR_FLUSHED, "status %d", (int)done->status);
            has("what was flushed", "receive with cookie 0x55: DAT_DTO_ERR_FLUSHED: ");
            has("what was flushed", "The first failure of the endpoint: RDMA write with cookie 0x77");
        }
    }
    CHECK(refused == 1 && flushed == 1 && broken == 2 && alone == 1, "%d, %d, %d, %d", refused,
          flushed, broken, alone);
}

/* The text of an attempt without a listener names the destination. */
static void ask_nobody(void)
{
    DAT_EP_HANDLE ep;

    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                       NULL, &ep));
    MUST(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&address, 4711, DAT_TIMEOUT_INFINITE, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    CHECK(next().event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "another event");
    has("an attempt", "peer 127.0.0.1 port 4711: DAT_CONNECTION_EVENT_NON_PEER_REJECTED: ");
    has("an attempt", "reaches only endpoints of this process");
    has("an attempt", "such as shm, tcp-lo or auto");
    MUST(dat_ep_free(ep));
}

/* Events can be dequeued before the text is requested; a reset clears the first failure. */
static void forget(void)
{
    MUST(dat_ep_post_recv(asking, 1, &segment, cookie(FLUSHED), DAT_COMPLETION_DEFAULT_FLAG));
    MUST(dat_ep_reset(asking));
    CHECK(next().event_data.dto_completion_event_data.status == DAT_DTO_ERR_FLUSHED, "not flushed");
    has("what was flushed before", "receive with cookie 0x55: DAT_DTO_ERR_FLUSHED: ");
    CHECK(strstr(dat_error_detail(), "0x77") == NULL, "after a reset: \"%s\"", dat_error_detail());
}

/* In a thread that has not made a call before. */
static void *find_nothing_elsewhere(void *evd)
{
    find_nothing(evd);
    return NULL;
}

int main(void)
{
    DAT_EVD_HANDLE completions;
    pthread_t thread;

    open_adapter(set);
    make(set);
    connect_both();
    succeed();
    time_out();
    find_nothing(set[KIND_EVD]);
    MUST(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &completions));
    find_nothing(completions);
    CHECK(pthread_create(&thread, NULL, find_nothing_elsewhere, completions) == 0 &&
              pthread_join(thread, NULL) == 0, "no thread");
    find_nothing(completions);
    stall();
    fail();
    forget();
    ask_nobody();
    MUST(dat_ep_free(peer));
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    return verdict();
}
