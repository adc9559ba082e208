/*
 * Streams through the skeleton with mutexes: what a careful program for two threads would do.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "skeleton.h"
#include "way.h"

static struct skeleton skeleton;

static int mutexes_fit(const struct adapter *adapter, const struct row *row)
{
    return adapter->kind == LOOPBACK && row->task == STREAM && !row->suppressed;
}

static void post(enum side me, const struct row *row, uint64_t slot)
{
    struct buffers *own = &buffers[me];
    char *memory = slot_of(me == NEAR ? own->outgoing : own->incoming, row, slot);

    if (!(me == NEAR ? skeleton_send : skeleton_receive)(&skeleton, (struct work){memory, slot},
                                                         row->size))
        fail("the skeleton is full");
}

static void mutexes_open(enum side me, const struct adapter *adapter, const struct row *row)
{
    (void)adapter;
    if (me == FAR) {
        skeleton_open(&skeleton);
        for (unsigned slot = 0; slot < row->receives; slot++)
            post(FAR, row, slot);
    }
    session_meet();
}

static void mutexes_run(enum side me, const struct row *row, unsigned long times)
{
    struct completions *completions = me == NEAR ? &skeleton.sent : &skeleton.received;
    unsigned long sent = 0, done = 0;
    struct work work;

    while (done < times) {
        if (me == NEAR && sent < times && sent - done < row->window)
            post(NEAR, row, sent++ % row->window);
        if (!completions_poll(completions, &work))
            continue;
        done++;
        if (me == FAR)
            post(FAR, row, work.cookie);
    }
}

static void mutexes_close(enum side me, const struct row *row)
{
    (void)me, (void)row;
}

const struct way by_mutexes = {"mutexes", 0, mutexes_fit, mutexes_open, mutexes_run, mutexes_close};
