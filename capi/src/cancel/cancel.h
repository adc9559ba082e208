/*
 * The interface between sleep.rs, agent.rs and cancel.c.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DATS_CANCEL_H
#define DATS_CANCEL_H

#include <poll.h>
#include <stdint.h>
#include <time.h>

/* What a thread sleeps on: a word while it has a value, or two descriptors. */
struct dats_sleep {
    const uint32_t *word; /* NULL for descriptors */
    uint32_t seen;
    int cancel_state; /* the caller's, which holds for the time of the sleep */
    struct pollfd fds[2];
    struct timespec limit;
    int has_limit;
};

enum { DATS_WOKEN, DATS_TIMED_OUT, DATS_UNAVAILABLE };

/* Not exported. */
#pragma GCC visibility push(hidden)

/* Sleeps once. A cancellation during the sleep calls give_up(wait) and ends the thread. */
int dats_sleep(struct dats_sleep *sleep, void (*give_up)(void *), void *wait);

/* Runs a proxy agent; if it does not return, the process ends. */
void dats_run_agent(void (*agent)(void *, void *), void *data, void *evd);

#pragma GCC visibility pop

#endif
