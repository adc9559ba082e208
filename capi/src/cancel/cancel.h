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

/* What a thread sleeps on: a word while it has a value, two words, or two descriptors. */
enum { DATS_WORD, DATS_WORDS, DATS_DESCRIPTORS };

/* The types of futex_waitv(2), which are the same on all processors. */
struct dats_word {
    uint64_t seen;
    uint64_t address;
    uint32_t flags;
    uint32_t reserved;
};
struct dats_time {
    int64_t seconds;
    int64_t nanoseconds;
};

struct dats_sleep {
    int kind;
    int cancel_state; /* the caller's, which holds for the time of the sleep */
    const uint32_t *word;
    uint32_t seen;
    struct dats_word words[2];
    struct dats_time until; /* of a sleep on words, by CLOCK_MONOTONIC */
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
