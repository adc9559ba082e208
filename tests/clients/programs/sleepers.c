/* Rounds in which ranks sleep: the sender of a message and of its answer pause first, from 1 us to 2 ms, so that messages
 * arrive at every moment at which the receiver falls asleep. A lost wake-up is a run that never ends, or, if something
 * else wakes the rank later, a slow round. To be run with I_MPI_WAIT_MODE=1: sleepers [--rounds N]
 */
#define _GNU_SOURCE
#include "check.h"
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const int lengths[] = {0, 8, 100, 4096, 40000, 300000};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Microseconds in which this process did not run although it could: it was stopped, or the machine is busy. */
static _Atomic long missed;

static void *watch(void *unused)
{
    for (double last = now();; last = now()) {
        usleep(1000);
        atomic_fetch_add(&missed, (long)((now() - last) * 1e6) - 1000);
    }
    return unused;
}

/* 1 us to 2 ms; a short pause spins, because sleep takes longer. */
static void pause_before(uint32_t seed)
{
    double microseconds = (1 << seed % 11) * (1 + seed / 11 % 1024 / 1024.0);
    if (microseconds > 100) {
        usleep((useconds_t)microseconds);
    } else {
        for (double until = now() + microseconds / 1e6; now() < until;)
            ;
    }
}

/* One message of `from` to `to`, and its answer. */
static void exchange(unsigned char *bytes, int length, int from, int to, uint32_t seed)
{
    MPI_Status status;
    int peer = rank == from ? to : from;
    for (int turn = 0; turn < 2; turn++) {
        if ((turn == 0) == (rank == from)) {
            pause_before(word(seed, (size_t)turn));
            fill(bytes, (size_t)length, seed + turn);
            MPI_Send(bytes, length, MPI_BYTE, peer, turn, MPI_COMM_WORLD);
        } else {
            memset(bytes, 0xa5, (size_t)length);
            MPI_Recv(bytes, length, MPI_BYTE, peer, turn, MPI_COMM_WORLD, &status);
            expect(bytes, (size_t)length, seed + turn, "message");
        }
    }
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    long rounds = option(count, arguments, "--rounds", 1000), switches, all;
    unsigned char *bytes = allocate(300000);
    double slowest = 0, worst;
    struct rusage usage;
    pthread_t watcher;
    if (pthread_create(&watcher, NULL, watch, NULL) != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
    for (long round = 0; round < rounds; round++) {
        /* What all ranks know of this round. The others sleep until one in which they have a part. */
        uint32_t seed = word(0x51ee9u, (size_t)round);
        int from = (int)(seed % ranks), to = (int)((from + 1 + seed / ranks % (ranks - 1)) % ranks);
        double start = now(), took;
        long missed_before = missed;
        if (rank == from || rank == to)
            exchange(bytes, lengths[word(seed, 9) % (sizeof lengths / sizeof *lengths)], from, to, seed);
        took = now() - start - (double)(missed - missed_before) / 1e6;
        if (rank == from && took > slowest)
            slowest = took;
        if (round % 64 == 63) {
            long sum = rank;
            MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
            if (sum != (long)ranks * (ranks - 1) / 2)
                wrong("round %ld: the sum is %ld", round, sum);
        }
    }
    getrusage(RUSAGE_THREAD, &usage);
    switches = usage.ru_nvcsw;
    MPI_Reduce(&switches, &all, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&slowest, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld rounds, %ld sleeps, the slowest round took %.1f ms while its sender ran\n", rounds, all, worst * 1e3);
    free(bytes);
    return end();
}
