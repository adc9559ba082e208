/*
 * The server of two processes: waits for a client, prints its message and answers.
 *
 *     cc -o hello_server hello_server.c $(pkg-config --cflags --libs dat2)
 *     ./hello_server            # the adapter "tcp-lo", or the one that is named
 *
 * For DAT 1.2: add -DDAT_1_2 and use dat instead of dat2.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "end.h"

#define SIZE 64
enum { RECEIVED = 1, SENT };

int main(int argc, char **argv)
{
    static char buffer[2 * SIZE]; /* what arrives, and the answer */
    char tcp[] = "tcp-lo";
    DAT_PSP_HANDLE listener;
    struct end end;

    end_open(&end, argc > 1 ? argv[1] : tcp, buffer, sizeof buffer);
    CHECK(dat_psp_create(end.ia, QUALIFIER, end.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    printf("waiting for a client\n");
    fflush(stdout);

    end_post_recv(&end, 0, SIZE, RECEIVED); /* before the client can send */
    end_accept(&end, NULL, 0);
    end_wait_done(end.recv_evd, RECEIVED);
    printf("the client says: %.*s\n", SIZE, buffer);

    snprintf(buffer + SIZE, SIZE, "hello, client");
    end_post_send(&end, SIZE, SIZE, SENT);
    end_wait_done(end.send_evd, SENT);

    CHECK(dat_psp_free(listener));
    end_close(&end);
    return 0;
}
