/*
 * Two sides of a benchmark: two threads, or two processes that share one mapping. Each side runs the
 * same list of rows in the same order and meets the other one at each step.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef SESSION_H
#define SESSION_H

#include <stddef.h>
#include <stdint.h>

enum side { NEAR, FAR }; /* NEAR begins and takes the times */

/* Starts the far side in a thread or in a process, runs both, and returns when both have ended. */
void session_run(int processes, void (*run)(enum side));

/* True if the two sides are processes. */
int session_has_processes(void);

/* Waits until both sides have called it. */
void session_meet(void);

/* Gives the other side `mine` and takes what it gave: `length` bytes each, at most 4096. */
void session_exchange(enum side me, const void *mine, void *its, size_t length);

/* One side announces the end of a run; the other one can ask whether it has. Both sides make the
 * same number of runs. */
void session_end_run(enum side me);
int session_peer_ended(enum side me);

/* Binds the calling thread, and those that it starts, to a processor of its own, or frees it. */
void session_pin(enum side me, int pinned);

/* Memory that both sides see, zero at first; at most SESSION_MEMORY bytes. */
#define SESSION_MEMORY (4u << 20)
void *session_memory(void);

/* Prints what failed and ends the program. */
void fail(const char *what);

double seconds(void);

#endif
