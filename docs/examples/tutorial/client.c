/*
 * The client of the tutorial (docs/tutorial.md): writes to the memory of the server.
 *
 *     cc -o client client.c $(pkg-config --cflags --libs dat2) && ./client 127.0.0.1 tcp-lo
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include "tutorial.h"

#include <arpa/inet.h>

int main(int argc, char **argv)
{
    static struct side side;
    char name[] = "tcp-lo";
    struct sockaddr_in server = {0};
    DAT_LMR_TRIPLET segment;
    DAT_RMR_TRIPLET remote = {0};
    DAT_DTO_COOKIE cookie = {0};
    struct advert advert;
    DAT_EVENT event;

    server.sin_family = AF_INET;
    if (argc < 2 || inet_pton(AF_INET, argv[1], &server.sin_addr) != 1)
        errx(2, "usage: client ADDRESS [ADAPTER]");
    open_side(&side, argc > 2 ? argv[2] : name);

    CHECK(dat_ep_connect(side.ep, (DAT_IA_ADDRESS_PTR)&server, PORT, 10000000, 0, NULL,
                         DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    wait_for(&side, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    if (event.event_data.connect_event_data.private_data_size < (DAT_COUNT)sizeof advert)
        errx(1, "the server sent no address");
    memcpy(&advert, event.event_data.connect_event_data.private_data, sizeof advert);

    strcpy(side.memory, "hello, server");
    segment = piece(&side, 0, strlen(side.memory) + 1);
    remote.virtual_address = be64toh(advert.address);
    remote.rmr_context = be32toh(advert.context);
    remote.segment_length = be32toh(advert.length);
    CHECK(dat_ep_post_rdma_write(side.ep, 1, &segment, cookie, &remote,
                                 DAT_COMPLETION_DEFAULT_FLAG));
    wait_for(&side, DAT_DTO_COMPLETION_EVENT, &event);

    /* The server takes no part in a write: a message tells it. */
    CHECK(dat_ep_post_send(side.ep, 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
    wait_for(&side, DAT_DTO_COMPLETION_EVENT, &event);
    puts("written");

    CHECK(dat_ep_disconnect(side.ep, DAT_CLOSE_GRACEFUL_FLAG));
    wait_for(&side, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    close_side(&side);
    return 0;
}
