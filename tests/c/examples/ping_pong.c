/*
 * Ping-pong: two ends of a connection send each other messages in turn, and measure the time.
 *
 *     cc -o ping_pong ping_pong.c $(pkg-config --cflags --libs dat2) -pthread
 *     ./ping_pong            # the adapter "loopback", which needs no hardware
 *     ./ping_pong ofa-v2-ib0 # an adapter of /etc/dat.conf
 *
 * For DAT 1.2: add -DDAT_1_2 and use dat instead of dat2. Both ends are threads of one program, but
 * if they were on two machines only the first lines of main would change.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <time.h>

#include "end.h"

#define ROUNDS 1000
#define SIZE 64

/* Offsets of an end's messages: the one that it sends, and two to receive into. */
#define SEND_AT 0
#define RECV_AT(round) (SIZE + (DAT_VLEN)((round) % 2) * SIZE)
#define BUFFER (3 * SIZE)

/* Cookies: a receive has the number of its round, a send that number and this bit. */
#define SENT(round) ((DAT_UINT64)(round) | (DAT_UINT64)1 << 32)

/* The text of the message of a round. */
static void say(char *message, const char *who, int round)
{
    memset(message, 0, SIZE);
    snprintf(message, SIZE, "%s %d", who, round);
}

static void expect(const char *message, const char *who, int round)
{
    char expected[SIZE];

    say(expected, who, round);
    if (memcmp(message, expected, SIZE) != 0) {
        fprintf(stderr, "\"%.*s\" arrived instead of \"%s\"\n", SIZE, message, expected);
        exit(1);
    }
}

/*
 * The end that listens. A message that finds no receive posted breaks the connection, so each
 * receive is posted before the other end can send: the first before the connection is there, the
 * next before the answer that the other end waits for.
 */
static void *server(void *argument)
{
    struct end *end = argument;

    end_post_recv(end, RECV_AT(0), SIZE, 0);
    end_accept(end, NULL, 0);
    for (int round = 0; round < ROUNDS; round++) {
        end_wait_done(end->recv_evd, (DAT_UINT64)round);
        expect(end->buffer + RECV_AT(round), "ping", round);
        if (round + 1 < ROUNDS)
            end_post_recv(end, RECV_AT(round + 1), SIZE, (DAT_UINT64)round + 1);
        say(end->buffer + SEND_AT, "pong", round);
        end_post_send(end, SEND_AT, SIZE, SENT(round));
        end_wait_done(end->send_evd, SENT(round));
    }
    return NULL;
}

/* The end that connects. */
static void client(struct end *end)
{
    struct timespec start, stop;
    DAT_EVENT event;
    double microseconds;

    end_connect(end, &event);
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (int round = 0; round < ROUNDS; round++) {
        end_post_recv(end, RECV_AT(round), SIZE, (DAT_UINT64)round);
        say(end->buffer + SEND_AT, "ping", round);
        end_post_send(end, SEND_AT, SIZE, SENT(round));
        end_wait_done(end->send_evd, SENT(round));
        end_wait_done(end->recv_evd, (DAT_UINT64)round);
        expect(end->buffer + RECV_AT(round), "pong", round);
    }
    clock_gettime(CLOCK_MONOTONIC, &stop);
    microseconds = (double)(stop.tv_sec - start.tv_sec) * 1e6 +
                   (double)(stop.tv_nsec - start.tv_nsec) / 1e3;
    printf("%d rounds of %d bytes, %.2f us each\n", ROUNDS, SIZE, microseconds / ROUNDS);
}

int main(int argc, char **argv)
{
    char loopback[] = "loopback";
    DAT_NAME_PTR adapter = argc > 1 ? argv[1] : loopback;
    char here[BUFFER] = {0}, there[BUFFER] = {0};
    struct end near, far;
    DAT_PSP_HANDLE listener;
    pthread_t thread;

    end_open(&far, adapter, there, sizeof there);
    CHECK(dat_psp_create(far.ia, QUALIFIER, far.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    pthread_create(&thread, NULL, server, &far);

    end_open(&near, adapter, here, sizeof here);
    client(&near);
    pthread_join(thread, NULL);

    CHECK(dat_psp_free(listener));
    end_close(&near);
    end_close(&far);
    return 0;
}
