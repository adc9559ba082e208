/*
 * The client of two processes: sends a message to hello_server and prints the answer.
 *
 *     cc -o hello_client hello_client.c $(pkg-config --cflags --libs dat2)
 *     ./hello_client localhost  # over the adapter "tcp-lo", or the one that is named after the host
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
    struct addrinfo kind, *addresses, *server;
    struct end end;

    memset(&kind, 0, sizeof kind);
    kind.ai_socktype = SOCK_STREAM; /* each address once */
    if (argc < 2 || getaddrinfo(argv[1], NULL, &kind, &addresses) != 0) {
        fprintf(stderr, "usage: hello_client HOST [ADAPTER]\n");
        return 2;
    }
    end_open(&end, argc > 2 ? argv[2] : tcp, buffer, sizeof buffer);
    server = addresses; /* a name can have several: "localhost" is ::1 and 127.0.0.1 */
    while (server != NULL && !end_try_connect(&end, (DAT_IA_ADDRESS_PTR)server->ai_addr))
        server = server->ai_next;
    if (server == NULL) {
        fprintf(stderr, "no server at %s\n", argv[1]);
        return 1;
    }

    end_post_recv(&end, SIZE, SIZE, RECEIVED); /* before the server can answer */
    snprintf(buffer, SIZE, "hello, server");
    end_post_send(&end, 0, SIZE, SENT);
    end_wait_done(end.send_evd, SENT);
    end_wait_done(end.recv_evd, RECEIVED);
    printf("the server says: %.*s\n", SIZE, buffer + SIZE);

    end_close(&end);
    freeaddrinfo(addresses);
    return 0;
}
