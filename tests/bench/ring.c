/*
 * The floor of shared memory: a byte ring in each direction with one writer and one reader, and
 * neither checks nor completions. What is read is what is acknowledged.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "way.h"

#include <stdatomic.h>
#include <string.h>

#define RING (256u << 10)
#define PIECE (16u << 10) /* a longer message is copied in and out in pieces at the same time */

struct ring {
    _Alignas(128) _Atomic uint64_t written;
    _Alignas(128) _Atomic uint64_t read;
    _Alignas(4096) char bytes[RING];
};

static struct ring *ring_of(enum side writer)
{
    return (struct ring *)session_memory() + writer;
}

static void ring_write(struct ring *ring, const char *from, size_t size)
{
    uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);

    while (size > 0) {
        size_t piece = size < PIECE ? size : PIECE, at = written % RING;

        while (written + piece - atomic_load_explicit(&ring->read, memory_order_acquire) > RING)
            ;
        if (piece > RING - at)
            piece = RING - at;
        memcpy(ring->bytes + at, from, piece);
        written += piece, from += piece, size -= piece;
        atomic_store_explicit(&ring->written, written, memory_order_release);
    }
}

static void ring_read(struct ring *ring, char *to, size_t size)
{
    uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

    while (size > 0) {
        size_t piece = size < PIECE ? size : PIECE, at = read % RING;

        if (piece > RING - at)
            piece = RING - at;
        while (atomic_load_explicit(&ring->written, memory_order_acquire) - read < piece)
            ;
        memcpy(to, ring->bytes + at, piece);
        read += piece, to += piece, size -= piece;
        atomic_store_explicit(&ring->read, read, memory_order_release);
    }
}

static int ring_fits(const struct adapter *adapter, const struct row *row)
{
    return adapter->kind != TCP && !row->waiting && (row->task == ROUND_TRIP || row->task == STREAM);
}

static void ring_open(enum side me, const struct adapter *adapter, const struct row *row)
{
    (void)adapter, (void)row;
    if (me == NEAR)
        memset(session_memory(), 0, 2 * sizeof(struct ring));
    session_meet();
}

static void ring_run(enum side me, const struct row *row, unsigned long times)
{
    struct ring *out = ring_of(me), *in = ring_of(!me);

    for (unsigned long at = 0; at < times; at++)
        if (row->task == STREAM && me == NEAR) {
            while (out->written - atomic_load_explicit(&out->read, memory_order_acquire) >=
                   row->window * row->size)
                ;
            ring_write(out, slot_of(buffers[me].outgoing, row, at), row->size);
        } else if (row->task == STREAM) {
            ring_read(in, slot_of(buffers[me].incoming, row, at), row->size);
        } else if (me == NEAR) {
            ring_write(out, buffers[me].outgoing, row->size);
            ring_read(in, buffers[me].incoming, row->size);
        } else {
            ring_read(in, buffers[me].incoming, row->size);
            ring_write(out, buffers[me].outgoing, row->size);
        }
}

static void ring_close(enum side me, const struct row *row)
{
    (void)me, (void)row;
}

const struct way by_ring = {"ring", 0, ring_fits, ring_open, ring_run, ring_close};
