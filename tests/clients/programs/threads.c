/* Several threads of each rank exchange messages at the same time, each with the same thread of the other ranks, and
 * every byte is verified: threads [--rounds N] [--threads N] [--buffered [--at-once]]
 */
#include "check.h"
#include <pthread.h>

enum { MOST = 40000 };

static int rounds, buffered, at_once;

/* Over its fabric dapl, Intel MPI 2018 ends with an error in its list of buffers, or a signal, if threads call
 * MPI_Ibsend at the same time; --at-once shows it. A mutex around the calls prevents it.
 */
static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;

static void send_buffered(unsigned char *out, int length, int to, int tag, MPI_Request *request)
{
    if (!at_once)
        pthread_mutex_lock(&sending);
    MPI_Ibsend(out, length, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
    if (!at_once)
        pthread_mutex_unlock(&sending);
}

static void *exchange(void *argument)
{
    int tag = (int)(intptr_t)argument;
    unsigned char *out = allocate(MOST), *in = allocate(MOST);
    for (int round = 0; round < rounds; round++) {
        int distance = 1 + round % (ranks - 1), length = (round * 7919 + tag * 13) % MOST;
        int to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks, received;
        uint32_t seed = (uint32_t)(round * 64 + tag) * 64u;
        MPI_Request request;
        MPI_Status status;
        fill(out, (size_t)length, seed + (uint32_t)rank);
        if (buffered && round % 3 == 0)
            send_buffered(out, length, to, tag, &request);
        else if (round % 3 != 2)
            MPI_Isend(out, length, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        else
            MPI_Issend(out, length, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        MPI_Recv(in, MOST, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Get_count(&status, MPI_BYTE, &received);
        if (received != length)
            wrong("thread %d: %d bytes arrived instead of %d", tag, received, length);
        else
            expect(in, (size_t)length, seed + (uint32_t)from, "message of a thread");
    }
    free(out);
    free(in);
    return NULL;
}

int main(int count, char **arguments)
{
    enum { THREADS = 16 };
    pthread_t threads[THREADS];
    int provided, used = (int)option(count, arguments, "--threads", 4);
    MPI_Init_thread(&count, &arguments, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (provided != MPI_THREAD_MULTIPLE)
        wrong("the library provides only level %d of threads", provided);
    rounds = (int)option(count, arguments, "--rounds", 300);
    buffered = flag(count, arguments, "--buffered");
    at_once = flag(count, arguments, "--at-once");
    int size = THREADS * 2 * (MOST + MPI_BSEND_OVERHEAD);
    void *buffer = allocate((size_t)size);
    MPI_Buffer_attach(buffer, size);
    for (int i = 0; i < used && i < THREADS; i++)
        if (pthread_create(&threads[i], NULL, exchange, (void *)(intptr_t)i))
            MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < used && i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
    return end();
}
