/* Messages of 0 B to 4 MiB between every pair of ranks, forth and back, with every byte verified.
 *
 *   pingpong [--rounds N] [--most BYTES]   blocking, nonblocking, persistent and synchronous sends
 *   pingpong --latency [--milliseconds N]  times half a round trip of ranks 0 and 1, without verification
 */
#include "check.h"
#include <time.h>

enum mode { BLOCKING, NONBLOCKING, PERSISTENT, SYNCHRONOUS, MODES };
static const char *const names[MODES] = {"blocking", "nonblocking", "persistent", "synchronous"};

static void give(enum mode mode, unsigned char *bytes, int length, int peer)
{
    MPI_Request request;
    switch (mode) {
    case BLOCKING:
        MPI_Send(bytes, length, MPI_BYTE, peer, mode, MPI_COMM_WORLD);
        break;
    case SYNCHRONOUS:
        MPI_Ssend(bytes, length, MPI_BYTE, peer, mode, MPI_COMM_WORLD);
        break;
    case NONBLOCKING:
        MPI_Isend(bytes, length, MPI_BYTE, peer, mode, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        break;
    default:
        MPI_Send_init(bytes, length, MPI_BYTE, peer, mode, MPI_COMM_WORLD, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
}

static void take(enum mode mode, unsigned char *bytes, int length, int peer, uint32_t seed)
{
    MPI_Request request;
    MPI_Status status;
    int done = 0, received = -1;
    memset(bytes, 0xa5, (size_t)length + 1);
    if (mode == NONBLOCKING) {
        MPI_Irecv(bytes, length, MPI_BYTE, peer, mode, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, &status);
    } else {
        MPI_Recv(bytes, length, MPI_BYTE, peer, mode, MPI_COMM_WORLD, &status);
    }
    MPI_Get_count(&status, MPI_BYTE, &received);
    if (received != length)
        wrong("%s: %d bytes arrived instead of %d", names[mode], received, length);
    expect(bytes, (size_t)length, seed, names[mode]);
    if (bytes[length] != 0xa5)
        wrong("%s: the byte after a message of %d bytes was overwritten", names[mode], length);
}

/* Both directions at once, several messages in flight. */
static void cross(unsigned char *bytes, int length, int peer, uint32_t seed)
{
    enum { AHEAD = 4 };
    MPI_Request requests[2 * AHEAD];
    unsigned char *in = allocate((size_t)length * AHEAD);
    fill(bytes, (size_t)length, seed + (uint32_t)rank);
    for (int i = 0; i < AHEAD; i++)
        MPI_Irecv(in + (size_t)i * length, length, MPI_BYTE, peer, 100 + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < AHEAD; i++)
        MPI_Isend(bytes, length, MPI_BYTE, peer, 100 + i, MPI_COMM_WORLD, &requests[AHEAD + i]);
    MPI_Waitall(2 * AHEAD, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < AHEAD; i++)
        expect(in + (size_t)i * length, (size_t)length, seed + (uint32_t)peer, "both ways");
    free(in);
}

/* Lengths around the limits between the protocols of MPI libraries. */
static const int lengths[] = {0,    1,     3,     8,     64,     1000,   4095,    8192,        16385,  65536,
                              65537, 131072, 262143, 262145, 524288, 1 << 20, (1 << 20) + 13, 4 << 20};

static void verify(int rounds, int most)
{
    unsigned char *bytes = allocate((size_t)most + 1);
    int powers = 1;
    while (powers < ranks)
        powers *= 2;
    /* Every pair of ranks, as many pairs at the same time as there are. */
    for (int distance = 1; distance < powers; distance++) {
        int peer = rank ^ distance;
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths && peer < ranks; l++) {
            int length = lengths[l];
            if (length > most)
                break;
            for (int i = 0; i < rounds * MODES; i++) {
                uint32_t seed = ((uint32_t)length + (uint32_t)i) * 64u;
                if (rank > peer)
                    take(i % MODES, bytes, length, peer, seed + (uint32_t)peer);
                fill(bytes, (size_t)length, seed + (uint32_t)rank);
                give(i % MODES, bytes, length, peer);
                if (rank < peer)
                    take(i % MODES, bytes, length, peer, seed + (uint32_t)peer);
            }
            cross(bytes, length, peer, (uint32_t)length * 31u);
        }
    }
    free(bytes);
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static int ascending(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Half a round trip in microseconds, each round trip timed by itself. Rank 0 says in each message whether another
 * one follows. */
static void latency(double milliseconds)
{
    static const int sizes[] = {8, 8192, 65536, 1048576};
    enum { MOST = 200000, WARM = 20 };
    double *times = allocate(MOST * sizeof *times);
    unsigned char *bytes = allocate(1048576);
    memset(bytes, 0, 1048576);
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        int length = sizes[s], count = 0, warm = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            double start = now(), spent = 0;
            do {
                double before = now(), after;
                spent = before - start;
                /* The first round trips connect and fault pages in. */
                bytes[0] = (warm < WARM || spent < milliseconds * 1e3) && count < MOST - 1;
                MPI_Send(bytes, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
                MPI_Recv(bytes, length, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                after = now();
                if (++warm > WARM)
                    times[count++] = (after - before) / 2;
            } while (bytes[0]);
            qsort(times, (size_t)count, sizeof *times, ascending);
            printf("%d B: median %.2f us, best %.2f, p99 %.2f, worst %.2f, %d round trips\n", length,
                   times[count / 2], times[0], times[(size_t)count * 99 / 100], times[count - 1], count);
            fflush(stdout);
        } else if (rank == 1) {
            do {
                MPI_Recv(bytes, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(bytes, length, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
            } while (bytes[0]);
        }
    }
    free(bytes);
    free(times);
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    if (flag(count, arguments, "--latency"))
        latency((double)option(count, arguments, "--milliseconds", 1000));
    else
        verify((int)option(count, arguments, "--rounds", 2), (int)option(count, arguments, "--most", 4 << 20));
    return end();
}
