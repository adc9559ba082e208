/*
 * Every provider by the same rows, through libdat2, in turns with what the machine itself needs and
 * with peers. See docs/speed.md.
 *
 *   providers [-b BATCHES] [-j FILE] [-r PART-OF-A-ROW] ADAPTER...
 *
 * An adapter `loopback` has two threads, any other one two processes.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report.h"
#include "rows.h"

/* A batch takes about this long. */
#define BATCH_SECONDS 0.004
#define FEWEST SIGNALLED_OF
#define MOST 100000
/* No side polls this long before it sleeps. */
#define MICROSECONDS_TO_SLEEP 300
#define LONGEST_ROW 60 /* seconds, after which the program gives up */

struct buffers buffers[2];

static const struct way *const ways[] = {
    &by_dat, &by_ring, &by_mutexes, &by_copy, &by_socket,
#ifdef HAVE_UCX
    &by_ucx,
#endif
#ifdef HAVE_LIBFABRIC
    &by_libfabric,
#endif
};
#define WAYS (sizeof ways / sizeof ways[0])

static struct adapter adapter;
static unsigned batches = 31;
static const char *wanted = "";
static FILE *json;

/* Single trips of the way that runs, by the near side. */
static double trips[WAYS][MOST], last_trip;
static unsigned trip_count[WAYS];
static int trip_way = -1; /* none of which trips are recorded */

static void record_trip(void)
{
    double now = seconds();

    if (trip_way >= 0 && trip_count[trip_way] < MOST)
        trips[trip_way][trip_count[trip_way]++] = (now - last_trip) / 2 * 1e9;
    last_trip = now;
}

void memory_trips(enum side me, const struct row *row, unsigned long times,
                  void (*put)(enum side me, const struct row *row),
                  void (*missed)(enum side me, const struct row *row))
{
    size_t last = row->size - sizeof(uint64_t);
    uint64_t *outgoing = (uint64_t *)(buffers[me].outgoing + last);
    uint64_t *incoming = (uint64_t *)(buffers[me].incoming + last);

    *incoming = 0;
    session_meet();
    last_trip = seconds();
    for (uint64_t number = 1; number <= times; number++) {
        if (me == NEAR) {
            *outgoing = number;
            put(me, row);
        }
        while (__atomic_load_n(incoming, __ATOMIC_ACQUIRE) != number)
            if (missed != NULL)
                missed(me, row);
        if (me == NEAR) {
            record_trip();
        } else {
            *outgoing = number;
            put(me, row);
        }
    }
}

void compute(enum side me)
{
    volatile unsigned long sum = 0;

    while (!session_peer_ended(me))
        for (int at = 0; at < 100; at++)
            sum = sum * 3 + 1;
}

/* Seconds of the current run in which the near side awaited the sleep of the far one. */
static double awaited;

void await_sleep(const struct row *row)
{
    double began = seconds();

    if (!row->asleep)
        return;
    usleep(MICROSECONDS_TO_SLEEP);
    awaited += seconds() - began;
}

/* Runs a task; returns the nanoseconds of one, which both sides know. */
static double run(enum side me, const struct way *way, const struct row *row, unsigned long times)
{
    double began, took;

    session_meet();
    awaited = 0;
    began = seconds();
    way->run(me, row, times);
    /* A stream ends when its last message was received. */
    while (me == NEAR && row->task == STREAM && !way->acknowledges && !session_peer_ended(me))
        ;
    took = (seconds() - began - awaited) / times * 1e9;
    session_end_run(me);
    session_meet();
    return row->task == ROUND_TRIP || row->task == MEMORY_TRIP ? took / 2 : took;
}

/* The near side decides. */
static unsigned long agree(enum side me, unsigned long mine)
{
    unsigned long its;

    session_exchange(me, &mine, &its, sizeof mine);
    return me == NEAR ? mine : its;
}

/* How many times fill a batch: by the best of several runs, so that a disturbed one does not count. */
static unsigned long fitting(enum side me, const struct way *way, const struct row *row)
{
    unsigned long times = FEWEST;
    double best = 1e18, fit;

    for (unsigned runs = 0; runs < 16; runs++) {
        double took = run(me, way, row, times);

        best = took < best ? took : best;
        times = agree(me, took * times < BATCH_SECONDS / 4 * 1e9 && times < MOST / 2 ? times * 2 : times);
    }
    fit = BATCH_SECONDS * 1e9 / best;
    fit = fit < FEWEST ? FEWEST : fit > MOST ? MOST : fit;
    return agree(me, (unsigned long)fit / FEWEST * FEWEST);
}

/* Both sides spin, so a third program that takes a processor makes a row a thousand times slower. */
static void give_up(int unused)
{
    static const char text[] = "a row takes over a minute: it hangs, or other programs are busy\n";

    (void)unused;
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
        _exit(3);
    _exit(2);
}

static void measure(enum side me, const struct row *row)
{
    static struct times measured[WAYS]; /* by the near side */
    const struct way *taken[WAYS];
    unsigned long times[WAYS];
    unsigned count = 0;

    signal(SIGALRM, give_up);
    alarm(LONGEST_ROW);
    session_pin(me, row->pinned);
    for (unsigned at = 0; at < WAYS; at++)
        if (ways[at] == &by_dat || (!is_of_library(row) && ways[at]->fits(&adapter, row)))
            taken[count++] = ways[at];
    for (unsigned at = 0; at < count; at++) {
        taken[at]->open(me, &adapter, row);
        times[at] = fitting(me, taken[at], row);
    }
    for (unsigned batch = 0; batch < batches; batch++)
        for (unsigned at = 0; at < count; at++) {
            double took;

            run(me, taken[at], row, (times[at] / 8 + FEWEST) / FEWEST * FEWEST);
            /* Over loopback, the far side is a thread with the same variable. */
            if (me == NEAR)
                trip_way = (int)at;
            took = run(me, taken[at], row, times[at]);
            if (me == NEAR) {
                trip_way = -1;
                measured[at].batches[batch] = took;
            }
        }
    for (unsigned at = 0; at < count; at++) {
        taken[at]->close(me, row);
        if (me == NEAR) {
            measured[at].way = taken[at]->name;
            measured[at].count = batches;
            measured[at].trips = trip_count[at];
            measured[at].each = trips[at];
            trip_count[at] = 0;
        }
    }
    if (me == NEAR)
        report(&adapter, row, measured, count, json);
}

static void run_side(enum side me)
{
    for (size_t at = 0; at < ROWS; at++)
        if (strstr(rows[at].name, wanted) != NULL && !(rows[at].progress != NULL && adapter.kind == LOOPBACK))
            measure(me, &rows[at]);
    session_pin(me, 0);
}

static enum kind kind_of(const char *name)
{
    if (strncmp(name, "loopback", 8) == 0)
        return LOOPBACK;
    return strncmp(name, "tcp", 3) == 0 ? TCP : SHM;
}

static void usage(void)
{
    fprintf(stderr, "usage: providers [-b BATCHES] [-j FILE] [-r PART-OF-A-ROW] ADAPTER...\n");
    exit(2);
}

int main(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "b:j:r:")) != -1)
        if (option == 'b')
            batches = atoi(optarg);
        else if (option == 'r')
            wanted = optarg;
        else if (option != 'j' || (json = fopen(optarg, "w")) == NULL)
            usage();
    if (optind == argc || batches < 1 || batches > MOST_BATCHES)
        usage();
    printf("one of each, median (best to worst) of %u batches; a ratio is that of libdat2\n", batches);
    for (; optind < argc; optind++) {
        adapter = (struct adapter){argv[optind], kind_of(argv[optind])};
        session_run(adapter.kind != LOOPBACK, run_side);
    }
#ifndef HAVE_UCX
    printf("UCX: not installed: apt install libucx-dev\n");
#endif
#ifndef HAVE_LIBFABRIC
    printf("libfabric: not installed: apt install libfabric-dev\n");
#endif
    return 0;
}
