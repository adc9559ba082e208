/*
 * A process that used the library and then enters a sandbox that forbids membarrier(2): threads
 * continue to share objects, nothing is lost, and handles are created and freed as before.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../objects.h"
#include "forbid.h"

#define EVENTS 2000
#define OBJECTS 3000

static DAT_EVD_HANDLE events;

/* Posts the events with numbers from `from` to `to`, in order. */
static void raise_events(size_t from, size_t to)
{
    DAT_EVENT event = {0};
    size_t number;

    event.event_number = DAT_SOFTWARE_EVENT;
    for (number = from; number < to; number++) {
        event.event_data.software_event_data.pointer = (DAT_PVOID)number;
        MUST(dat_evd_post_se(events, &event));
    }
}

static void *raise_in_thread(void *unused)
{
    raise_events(EVENTS, 2 * EVENTS);
    return unused;
}

/* Takes all expected events; those of this thread and those of the other one must each be in order. */
static void take_events(size_t from, size_t to)
{
    DAT_EVENT event;
    DAT_COUNT more;
    size_t number;

    for (number = from; number < to; number++) {
        MUST(dat_evd_wait(events, 10000000, 1, &event, &more));
        CHECK((size_t)event.event_data.software_event_data.pointer == number, "event %zu, not %zu",
              (size_t)event.event_data.software_event_data.pointer, number);
    }
}

int main(void)
{
    DAT_HANDLE set[KINDS];
    DAT_EVENT event;
    DAT_PZ_HANDLE zone;
    pthread_t other;
    size_t number;

    open_adapter(set);
    MUST(dat_evd_create(set[KIND_IA], 2 * EVENTS, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &events));
    /* For a long time, by one thread. */
    raise_events(0, EVENTS);
    take_events(0, EVENTS);

    forbid(SYS_membarrier);
    CHECK(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == EPERM, "membarrier works still");

    /* While this thread dequeues, as before, the other one posts. */
    CHECK(pthread_create(&other, NULL, raise_in_thread, NULL) == 0, "no thread");
    take_events(EVENTS, 2 * EVENTS);
    pthread_join(other, NULL);
    CHECK(DAT_GET_TYPE(dat_evd_dequeue(events, &event)) == DAT_QUEUE_EMPTY, "an event too many");

    for (number = 0; number < OBJECTS; number++) {
        MUST(dat_pz_create(set[KIND_IA], &zone));
        MUST(dat_pz_free(zone));
        CHECK(DAT_GET_TYPE(dat_pz_free(zone)) == DAT_INVALID_HANDLE, "freed twice");
    }

    MUST(dat_evd_free(events));
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    return verdict();
}
