/*
 * To be preloaded: a gettimeofday that sleeps for a moment if a loop calls it.
 *
 * At its begin, each program of perftest measures the frequency of the processor by 200 loops that call gettimeofday until
 * some time has passed, which is most of the processor time of a short run: a quarter of a second. Both the time and the
 * cycles are read when the loop ends, so the result is the same if it sleeps.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <stddef.h>
#include <sys/time.h>
#include <time.h>

int gettimeofday(struct timeval *restrict now, void *restrict zone)
{
    static _Thread_local struct timeval *last;
    const struct timespec pause = {0, 200000};
    struct timespec time;

    (void)zone;
    /* A loop has one place for the time at which it may end. */
    if (now == last)
        nanosleep(&pause, NULL);
    last = now;
    clock_gettime(CLOCK_REALTIME, &time);
    now->tv_sec = time.tv_sec;
    now->tv_usec = time.tv_nsec / 1000;
    return 0;
}
