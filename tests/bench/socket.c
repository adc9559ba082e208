/*
 * The floor of sockets: TCP over 127.0.0.1, with a spinning or a blocking receive, and one call of
 * sendmsg a message. Where the sides poll memory, a thread that sleeps in recv writes it; next to threads that spin, the
 * sides receive themselves. For adapters in shared memory, only connections and messages to a side that sleeps, by Unix
 * sockets.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include "way.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union name {
    struct sockaddr any;
    struct sockaddr_in inet;
    struct sockaddr_un local;
};

static int sockets[2];       /* connected */
static int listeners[2];     /* only that of the far side is open */
static union name names[2];  /* of the listener */
static socklen_t lengths[2];

static int socket_fits(const struct adapter *adapter, const struct row *row)
{
    if (row->task == CONNECT || row->asleep)
        return adapter->kind != LOOPBACK;
    return adapter->kind == TCP && !row->computing;
}

/* As the provider does: no delay, and no pacing within the machine. */
static void prepare(int socket)
{
    int one = 1;

    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(socket, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

static int dial(enum side me)
{
    int dialled = socket(names[me].any.sa_family, SOCK_STREAM, 0);

    if (dialled < 0 || connect(dialled, &names[me].any, lengths[me]) != 0)
        fail("connect");
    prepare(dialled);
    return dialled;
}

static int answer(enum side me)
{
    int accepted = accept(listeners[me], NULL, NULL);

    if (accepted < 0)
        fail("accept");
    prepare(accepted);
    return accepted;
}

/* A listener at a free port, or at a free abstract name. */
static void listen_far(int family)
{
    union name *name = &names[FAR];

    memset(name, 0, sizeof *name);
    name->any.sa_family = family;
    name->inet.sin_addr.s_addr = family == AF_INET ? htonl(INADDR_LOOPBACK) : 0;
    lengths[FAR] = family == AF_INET ? sizeof name->inet : sizeof(sa_family_t);
    listeners[FAR] = socket(family, SOCK_STREAM, 0);
    if (listeners[FAR] < 0 || bind(listeners[FAR], &name->any, lengths[FAR]) != 0 ||
        listen(listeners[FAR], 8) != 0)
        fail("bind");
    lengths[FAR] = sizeof *name;
    getsockname(listeners[FAR], &name->any, &lengths[FAR]);
}

/* True if the sides of MEMORY_TRIP spin in recv themselves. */
static int spins(const struct row *row)
{
    return row->progress != NULL && strcmp(row->progress, "spin") == 0;
}

/* The readers of MEMORY_TRIP, unless the sides spin. */
static pthread_t readers[2];
static size_t reader_sizes[2];
static size_t received[2]; /* bytes of a message that a side receives itself */

static void *read_to_memory(void *side)
{
    enum side me = *(enum side *)side;
    size_t size = reader_sizes[me], at = 0;
    ssize_t got;

    while ((got = recv(sockets[me], buffers[me].incoming + at, size - at, 0)) > 0)
        at = (at + got) % size;
    return NULL;
}

static void start_reader(enum side me, size_t size)
{
    static enum side sides[] = {NEAR, FAR};

    reader_sizes[me] = size;
    if (pthread_create(&readers[me], NULL, read_to_memory, &sides[me]) != 0)
        fail("pthread_create");
}

static void socket_open(enum side me, const struct adapter *adapter, const struct row *row)
{
    union name its_name;
    socklen_t its_length;

    if (me == FAR)
        listen_far(adapter->kind == TCP ? AF_INET : AF_UNIX);
    session_exchange(me, &names[me], &its_name, sizeof its_name);
    session_exchange(me, &lengths[me], &its_length, sizeof its_length);
    if (me == NEAR) {
        names[me] = its_name;
        lengths[me] = its_length;
    }
    if (row->task != CONNECT)
        sockets[me] = me == NEAR ? dial(me) : answer(me);
    received[me] = 0;
    if (row->task == MEMORY_TRIP && !spins(row))
        start_reader(me, row->size);
}

static void send_all(enum side me, size_t size)
{
    const char *from = buffers[me].outgoing;

    while (size > 0) {
        struct iovec part = {(void *)from, size};
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent = sendmsg(sockets[me], &message, 0);

        if (sent < 0)
            fail("sendmsg");
        from += sent;
        size -= sent;
    }
}

static void receive_all(enum side me, size_t size, int waiting)
{
    while (size > 0) {
        size_t most = size < sizeof buffers[me].incoming ? size : sizeof buffers[me].incoming;
        ssize_t got = recv(sockets[me], buffers[me].incoming, most, waiting ? 0 : MSG_DONTWAIT);

        if (got > 0)
            size -= got;
        else if (got == 0 || errno != EAGAIN)
            fail("recv");
    }
}

static void exchange(enum side me, const struct row *row, unsigned long times)
{
    size_t there = row->task == READ ? 64 : row->size, back = row->task == WRITE ? 64 : row->size;

    for (unsigned long at = 0; at < times; at++)
        if (me == NEAR) {
            await_sleep(row);
            send_all(me, there);
            receive_all(me, back, row->waiting);
        } else {
            receive_all(me, there, row->waiting);
            send_all(me, back);
        }
}

static void send_row(enum side me, const struct row *row)
{
    send_all(me, row->size);
}

/* Of a side of MEMORY_TRIP that receives itself. */
static void receive_some(enum side me, const struct row *row)
{
    ssize_t got = recv(sockets[me], buffers[me].incoming + received[me], row->size - received[me], MSG_DONTWAIT);

    if (got > 0)
        received[me] = (received[me] + got) % row->size;
    else if (got == 0 || errno != EAGAIN)
        fail("recv");
}

static void connections(enum side me, unsigned long times)
{
    char byte;

    for (unsigned long at = 0; at < times; at++) {
        int connected = me == NEAR ? dial(me) : answer(me);

        /* The acceptor closes, so that the port of the other side stays in use for a while only there. */
        if (me == NEAR && recv(connected, &byte, 1, 0) != 0)
            fail("the socket does not end");
        close(connected);
    }
}

static void socket_run(enum side me, const struct row *row, unsigned long times)
{
    if (row->task == CONNECT)
        connections(me, times);
    else if (row->task == MEMORY_TRIP)
        memory_trips(me, row, times, send_row, spins(row) ? receive_some : NULL);
    else if (row->task != STREAM)
        exchange(me, row, times);
    else if (me == FAR)
        receive_all(me, times * row->size, 0);
    else
        for (unsigned long at = 0; at < times; at++)
            send_all(me, row->size);
}

static void socket_close(enum side me, const struct row *row)
{
    if (row->task == MEMORY_TRIP && !spins(row)) {
        shutdown(sockets[me], SHUT_RDWR);
        pthread_join(readers[me], NULL);
    }
    if (row->task != CONNECT)
        close(sockets[me]);
    if (me == FAR)
        close(listeners[me]);
}

const struct way by_socket = {"socket", 0, socket_fits, socket_open, socket_run, socket_close};
