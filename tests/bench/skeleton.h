/*
 * A connection between two threads as a careful program would write it with mutexes: a message goes
 * into a posted receive or waits for one, and both sides get a completion. A floor of streams.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef STREAM_SKELETON_H
#define STREAM_SKELETON_H

#include <pthread.h>
#include <stdint.h>
#include <string.h>

#define RING 128 /* entries; more than any row has outstanding */

struct ring {
    uint64_t head, tail;
    struct work {
        char *memory;
        uint64_t cookie;
    } entries[RING];
};

static inline int ring_push(struct ring *ring, struct work work)
{
    if (ring->tail - ring->head == RING)
        return 0;
    ring->entries[ring->tail++ % RING] = work;
    return 1;
}

static inline int ring_pop(struct ring *ring, struct work *work)
{
    if (ring->tail == ring->head)
        return 0;
    *work = ring->entries[ring->head++ % RING];
    return 1;
}

struct completions {
    pthread_mutex_t lock;
    struct ring ring;
} __attribute__((aligned(64)));

struct skeleton {
    pthread_mutex_t lock;
    struct ring receives, waiting;
    struct completions received, sent;
} __attribute__((aligned(64)));

static void skeleton_open(struct skeleton *all)
{
    memset(all, 0, sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    pthread_mutex_init(&all->received.lock, NULL);
    pthread_mutex_init(&all->sent.lock, NULL);
}

static inline int completions_push(struct completions *completions, struct work work)
{
    int pushed;

    pthread_mutex_lock(&completions->lock);
    pushed = ring_push(&completions->ring, work);
    pthread_mutex_unlock(&completions->lock);
    return pushed;
}

static inline int completions_poll(struct completions *completions, struct work *work)
{
    int found;

    pthread_mutex_lock(&completions->lock);
    found = ring_pop(&completions->ring, work);
    pthread_mutex_unlock(&completions->lock);
    return found;
}

/* Both have work; the caller holds the lock. */
static inline int skeleton_move(struct skeleton *all, struct work from, struct work to, size_t size)
{
    memcpy(to.memory, from.memory, size);
    return completions_push(&all->received, to) && completions_push(&all->sent, from);
}

static inline int skeleton_send(struct skeleton *all, struct work work, size_t size)
{
    struct work receive;
    int done;

    pthread_mutex_lock(&all->lock);
    if (all->waiting.head == all->waiting.tail && ring_pop(&all->receives, &receive))
        done = skeleton_move(all, work, receive, size);
    else
        done = ring_push(&all->waiting, work);
    pthread_mutex_unlock(&all->lock);
    return done;
}

static inline int skeleton_receive(struct skeleton *all, struct work work, size_t size)
{
    struct work send;
    int done;

    pthread_mutex_lock(&all->lock);
    if (ring_pop(&all->waiting, &send))
        done = skeleton_move(all, send, work, size);
    else
        done = ring_push(&all->receives, work);
    pthread_mutex_unlock(&all->lock);
    return done;
}

#endif
