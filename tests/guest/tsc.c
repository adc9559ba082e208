/*
 * Prints the frequency of the processor's time stamp counter in kHz.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <x86intrin.h>

/* A pair of readings; of several, the one that took the shortest time. */
static uint64_t read_both(uint64_t *nanoseconds)
{
    uint64_t ticks = 0, shortest = UINT64_MAX;
    int tries;

    for (tries = 0; tries < 100; tries++) {
        struct timespec now;
        uint64_t begin = __rdtsc(), took;

        clock_gettime(CLOCK_MONOTONIC_RAW, &now);
        took = __rdtsc() - begin;
        if (took < shortest) {
            shortest = took;
            ticks = begin + took / 2;
            *nanoseconds = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
        }
    }
    return ticks;
}

int main(void)
{
    struct timespec pause = {0, 200000000};
    uint64_t begin, end, ticks = read_both(&begin);

    nanosleep(&pause, NULL);
    ticks = read_both(&end) - ticks;
    printf("%.0f\n", (double)ticks * 1e6 / (double)(end - begin));
    return 0;
}
