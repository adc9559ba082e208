/*
 * The client of two processes: sends a message to hello_server and prints the answer.
 *
 *     cc -o hello_client hello_client.c $(pkg-config --cflags --libs dat2)
 *     ./hello_client 127.0.0.1  # over the adapter "tcp-lo", or the one that is named after the host
 *
 * For DAT 1.2: add -DDAT_1_2 and use dat instead of dat2.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _POSIX_C_SOURCE 200112L

#include <netdb.h>
#include <sys/socket.h>

#include "end.h"

#define SIZE 64
enum { RECEIVED = 1, SENT };

int main(int argc, char **argv)
{
    static char buffer[2 * SIZE]; /* the message, and the answer */
    char tcp[] = "tcp-lo";
    struct addrinfo *server;
    struct end end;
    DAT_EVENT event;

    if (argc < 2 || getaddrinfo(argv[1], NULL, NULL, &server) != 0) {
        fprintf(stderr, "usage: hello_client HOST [ADAPTER]\n");
        return 2;
    }
    end_open(&end, argc > 2 ? argv[2] : tcp, buffer, sizeof buffer);
    end.address = (DAT_IA_ADDRESS_PTR)server->ai_addr;
    end_connect(&end, &event);

    end_post_recv(&end, SIZE, SIZE, RECEIVED); /* before the server can answer */
    snprintf(buffer, SIZE, "hello, server");
    end_post_send(&end, 0, SIZE, SENT);
    end_wait_done(end.send_evd, SENT);
    end_wait_done(end.recv_evd, RECEIVED);
    printf("the server says: %.*s\n", SIZE, buffer + SIZE);

    end_close(&end);
    freeaddrinfo(server);
    return 0;
}
