/*
 * A row is a task; a way is something that can do it: the library, a floor, or a peer.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef WAY_H
#define WAY_H

#include "session.h"

/* A MEMORY_TRIP is a round trip of RDMA writes: each side finds what arrives by its last bytes, and makes no call
 * meanwhile. */
enum task { ROUND_TRIP, MEMORY_TRIP, STREAM, WRITE, READ, CONNECT, OPEN, REGISTER };

struct row {
    const char *name;
    enum task task;
    size_t size;        /* bytes of a message, at most LARGEST */
    int waiting;        /* the sides sleep instead of polling */
    int asleep;         /* of ROUND_TRIP: the far side sleeps when a message comes; implies waiting */
    unsigned window;    /* of STREAM: messages in flight, at most SLOTS */
    unsigned receives;  /* posted ahead, at most SLOTS; two if it is 0 */
    int suppressed;     /* of STREAM: one send of SIGNALLED_OF has a completion */
    int computing;      /* of WRITE and READ: the target makes no call */
    int both;           /* of WRITE: the target writes, too */
    unsigned reaped;    /* of MEMORY_TRIP: completions are taken after this many writes; each time if it is 0 */
    int stray;          /* of MEMORY_TRIP: one poll of the dispatcher in STRAY_LOOKS checks of the memory */
    const char *progress; /* of MEMORY_TRIP: how the progress threads wait; not over loopback, which has none */
    int pinned;
};

#define LARGEST (1u << 20)
#define SLOTS 64
#define SIGNALLED_OF 16
#define STRAY_LOOKS 1000

/* True if the row has neither floors nor peers. */
static inline int is_of_library(const struct row *row)
{
    return row->task == OPEN || row->task == REGISTER || row->both;
}

/* Buffers of a side: what it sends and what it receives. */
struct buffers {
    _Alignas(4096) char outgoing[2 * LARGEST], incoming[2 * LARGEST];
};
extern struct buffers buffers[2];

/* The part of a buffer for a message: the next of SLOTS for short ones, the beginning for others. */
static inline char *slot_of(char *buffer, const struct row *row, unsigned long at)
{
    return buffer + at % SLOTS * (row->size <= 64 ? row->size : 0);
}

enum kind { LOOPBACK, SHM, TCP }; /* what an adapter is; auto is SHM here */

struct adapter {
    char *name;
    enum kind kind;
};

struct way {
    const char *name;
    int acknowledges; /* a send has completed only when it was received */
    /* Returns whether the way can do this row next to this adapter. The library does every row. */
    int (*fits)(const struct adapter *adapter, const struct row *row);
    /* Both sides call each of these in the same order. A run does the task `times` times, which is
     * a multiple of SIGNALLED_OF; the far side of WRITE and READ serves until the near one has ended
     * its run. */
    void (*open)(enum side me, const struct adapter *adapter, const struct row *row);
    void (*run)(enum side me, const struct row *row, unsigned long times);
    void (*close)(enum side me, const struct row *row);
};

extern const struct way by_dat, by_ring, by_mutexes, by_copy, by_socket, by_ucx, by_libfabric;

/* Gives the far side time to fall asleep before the near one sends, if the row wants that. */
void await_sleep(const struct row *row);

/* Runs MEMORY_TRIP: `put` writes `row->size` bytes of the outgoing buffer to the incoming one of the peer, which awaits
 * the number that the last of them are. `missed`, unless it is NULL, is called after each look that does not find it. */
void memory_trips(enum side me, const struct row *row, unsigned long times,
                  void (*put)(enum side me, const struct row *row),
                  void (*missed)(enum side me, const struct row *row));

/* Spins like a program that computes, until the other side has ended its run. */
void compute(enum side me);

#endif
