/*
 * The list of rows.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef ROWS_H
#define ROWS_H

#include "way.h"

static const struct row rows[] = {
    {"half round trip 64 B", ROUND_TRIP, 64},
    {"half round trip 64 B, pinned", ROUND_TRIP, 64, .pinned = 1},
    {"half round trip 64 B, one receive ahead", ROUND_TRIP, 64, .receives = 1},
    {"half round trip 64 B, 60 receives ahead", ROUND_TRIP, 64, .receives = 60},
    {"half round trip 64 B, waiting", ROUND_TRIP, 64, .waiting = 1},
    {"half round trip 64 B, waiting, pinned", ROUND_TRIP, 64, .waiting = 1, .pinned = 1},
    {"half round trip 64 B, asleep", ROUND_TRIP, 64, .waiting = 1, .asleep = 1},
    {"half round trip 4 KiB", ROUND_TRIP, 4096},
    {"half round trip 64 KiB", ROUND_TRIP, 65536},
    {"half round trip 1 MiB", ROUND_TRIP, LARGEST},
    {"half round trip 8 B, polling memory", MEMORY_TRIP, 8},
    {"half round trip 8 KiB, polling memory", MEMORY_TRIP, 8192},
    {"half round trip 64 KiB, polling memory", MEMORY_TRIP, 65536},
    {"half round trip 1 MiB, polling memory", MEMORY_TRIP, LARGEST},
    {"half round trip 8 B, polling memory, each 16th reaped", MEMORY_TRIP, 8, .reaped = SIGNALLED_OF},
    {"half round trip 8 KiB, polling memory, each 16th reaped", MEMORY_TRIP, 8192, .reaped = SIGNALLED_OF},
    {"half round trip 64 KiB, polling memory, each 16th reaped", MEMORY_TRIP, 65536, .reaped = SIGNALLED_OF},
    {"half round trip 1 MiB, polling memory, each 16th reaped", MEMORY_TRIP, LARGEST, .reaped = SIGNALLED_OF},
    {"half round trip 8 B, polling memory, stray polls", MEMORY_TRIP, 8, .stray = 1},
    {"half round trip 8 KiB, polling memory, stray polls", MEMORY_TRIP, 8192, .stray = 1},
    {"half round trip 64 KiB, polling memory, stray polls", MEMORY_TRIP, 65536, .stray = 1},
    {"half round trip 1 MiB, polling memory, stray polls", MEMORY_TRIP, LARGEST, .stray = 1},
    {"half round trip 8 B, polling memory, spinning", MEMORY_TRIP, 8, .progress = "spin"},
    {"half round trip 8 KiB, polling memory, spinning", MEMORY_TRIP, 8192, .progress = "spin"},
    {"half round trip 64 KiB, polling memory, spinning", MEMORY_TRIP, 65536, .progress = "spin"},
    {"half round trip 1 MiB, polling memory, spinning", MEMORY_TRIP, LARGEST, .progress = "spin"},
    {"half round trip 8 B, polling memory, priority", MEMORY_TRIP, 8, .progress = "priority"},
    {"half round trip 8 KiB, polling memory, priority", MEMORY_TRIP, 8192, .progress = "priority"},
    {"half round trip 64 KiB, polling memory, priority", MEMORY_TRIP, 65536, .progress = "priority"},
    {"half round trip 1 MiB, polling memory, priority", MEMORY_TRIP, LARGEST, .progress = "priority"},
    {"stream of 64 KiB", STREAM, 65536, .window = 8, .receives = 16},
    {"stream of 1 MiB", STREAM, LARGEST, .window = 8, .receives = 16},
    {"one way 64 B, all complete", STREAM, 64, .window = 64, .receives = 64},
    {"one way 64 B, suppressed", STREAM, 64, .window = 64, .receives = 64, .suppressed = 1},
    {"stream, receiver ahead", STREAM, 64, .window = 8, .receives = 60},
    {"stream, receiver ahead, pinned", STREAM, 64, .window = 8, .receives = 60, .pinned = 1},
    {"stream, balanced", STREAM, 64, .window = 48, .receives = 60},
    {"stream, balanced, pinned", STREAM, 64, .window = 48, .receives = 60, .pinned = 1},
    {"stream, sender ahead", STREAM, 64, .window = 60, .receives = 16},
    {"stream, sender ahead, pinned", STREAM, 64, .window = 60, .receives = 16, .pinned = 1},
    {"stream, receives scarce", STREAM, 64, .window = 60, .receives = 4},
    {"stream, receives scarce, pinned", STREAM, 64, .window = 60, .receives = 4, .pinned = 1},
    {"RDMA write 64 B, target polling", WRITE, 64},
    {"RDMA write 64 B, target computing", WRITE, 64, .computing = 1},
    {"RDMA write 64 B, target writing", WRITE, 64, .both = 1},
    {"RDMA write 1 MiB, target polling", WRITE, LARGEST},
    {"RDMA write 1 MiB, target computing", WRITE, LARGEST, .computing = 1},
    {"RDMA read 64 B, target polling", READ, 64},
    {"RDMA read 64 B, target computing", READ, 64, .computing = 1},
    {"RDMA read 1 MiB, target polling", READ, LARGEST},
    {"RDMA read 1 MiB, target computing", READ, LARGEST, .computing = 1},
    {"connect, accept, disconnect, reset", CONNECT, 64},
    {"open and close the adapter", OPEN, 64},
    {"register and release a page", REGISTER, 4096},
};
#define ROWS (sizeof rows / sizeof rows[0])

#endif
