/*
 * The exact values of the returns that programs compare with ==: a poll that finds nothing returns
 * DAT_QUEUE_EMPTY without class bits, and every failure has the class bits of an error, so that
 * programs need DAT_GET_TYPE.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <pthread.h>

#include "../objects.h"

#define FAILED(type) (DAT_CLASS_ERROR | (type))

static const struct {
    const char *name;
    DAT_EVD_FLAGS flags;
} streams[] = {
    {"completions", DAT_EVD_DTO_FLAG},
    {"completions of binds", DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG},
    {"connections", DAT_EVD_CONNECTION_FLAG},
    {"requests", DAT_EVD_CR_FLAG},
    {"software events", DAT_EVD_SOFTWARE_FLAG},
    {"asynchronous errors", DAT_EVD_ASYNC_FLAG},
    {"several streams", DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG},
};

static void expect(DAT_RETURN code, DAT_RETURN wanted, const char *call, const char *evd)
{
    CHECK(code == wanted, "%s on a dispatcher of %s: %#x, not %#x", call, evd, (unsigned)code,
          (unsigned)wanted);
}

static void try_empty_dispatchers(DAT_IA_HANDLE ia)
{
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        DAT_EVD_HANDLE evd;
        DAT_EVENT event;
        DAT_COUNT more;

        MUST(dat_evd_create(ia, 4, DAT_HANDLE_NULL, streams[i].flags, &evd));
        expect(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, "dat_evd_dequeue", streams[i].name);
        expect(dat_evd_wait(evd, 0, 1, &event, &more), FAILED(DAT_TIMEOUT_EXPIRED),
               "dat_evd_wait", streams[i].name);
        MUST(dat_evd_free(evd));
        expect(dat_evd_dequeue(evd, &event), FAILED(DAT_INVALID_HANDLE) |
                   DAT_INVALID_HANDLE_EVD_REQUEST, "dat_evd_dequeue", "freed");
    }
}

/* A dispatcher that held events before. */
static void try_drained(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event = {0};

    event.event_number = DAT_SOFTWARE_EVENT;
    for (int round = 0; round < 3; round++) {
        MUST(dat_evd_post_se(evd, &event));
        CHECK(dat_evd_dequeue(evd, &event) == DAT_SUCCESS, "no event in round %d", round);
        expect(dat_evd_dequeue(evd, &event), DAT_QUEUE_EMPTY, "dat_evd_dequeue", "drained");
    }
}

static void *post_later(void *evd)
{
    DAT_EVENT event = {0};

    event.event_number = DAT_SOFTWARE_EVENT;
    event.event_data.software_event_data.pointer = memory;
    for (int spin = 0; spin < 100000; spin++)
        __asm__ volatile("");
    MUST(dat_evd_post_se(evd, &event));
    return NULL;
}

/* The usual polling loop. */
static void try_loop(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event = {0};
    pthread_t thread;
    DAT_RETURN code;

    if (pthread_create(&thread, NULL, post_later, evd) != 0)
        exit(1);
    while ((code = dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY)
        ;
    CHECK(code == DAT_SUCCESS && event.event_data.software_event_data.pointer == memory,
          "the loop ended with %#x before the event came", (unsigned)code);
    pthread_join(thread, NULL);
}

static void try_notification(DAT_IA_HANDLE ia)
{
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE evd = memory;

    MUST(dat_cno_create(ia, no_agent, &cno));
    expect(dat_cno_wait(cno, 0, &evd), DAT_QUEUE_EMPTY, "dat_cno_wait with timeout 0", "nothing");
    CHECK(evd == DAT_HANDLE_NULL, "a dispatcher that woke no waiter: %p", evd);
    evd = memory;
    expect(dat_cno_wait(cno, 1000, &evd), DAT_QUEUE_EMPTY, "dat_cno_wait", "nothing");
    CHECK(evd == DAT_HANDLE_NULL, "a dispatcher that woke no waiter: %p", evd);
    MUST(dat_cno_free(cno));
    expect(dat_cno_wait(cno, 0, &evd), FAILED(DAT_INVALID_HANDLE) | DAT_INVALID_HANDLE_CNO,
           "dat_cno_wait", "a freed object");
#ifndef DAT_1_2
    {
        DAT_FD fd;

        MUST(dat_cno_fd_create(ia, &fd, &cno));
        expect(dat_cno_trigger(cno, &evd), DAT_QUEUE_EMPTY, "dat_cno_trigger", "nothing");
        MUST(dat_cno_free(cno));
    }
#endif
}

/* The bare value has a description too. */
static void try_words(void)
{
    const char *major = "", *minor = "";

    CHECK(dat_strerror(DAT_QUEUE_EMPTY, &major, &minor) == DAT_SUCCESS &&
              strcmp(major, "DAT_QUEUE_EMPTY") == 0,
          "the description of DAT_QUEUE_EMPTY is \"%s\"", major);
}

int main(void)
{
    DAT_HANDLE set[KINDS];
    DAT_EVD_HANDLE evd;

    open_adapter(set);
    MUST(dat_evd_create(set[KIND_IA], 4, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &evd));
    try_empty_dispatchers(set[KIND_IA]);
    try_drained(evd);
    try_loop(evd);
    try_notification(set[KIND_IA]);
    try_words();
    MUST(dat_evd_free(evd));
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    return verdict();
}
