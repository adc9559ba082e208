/*
 * The server of the tutorial (docs/tutorial.md): lets the client write to its memory.
 *
 *     cc -o server server.c $(pkg-config --cflags --libs dat2) && ./server tcp-lo
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#include "tutorial.h"

int main(int argc, char **argv)
{
    static struct side side;
    char name[] = "tcp-lo";
    DAT_PSP_HANDLE psp;
    DAT_LMR_TRIPLET segment;
    DAT_DTO_COOKIE cookie = {0};
    struct advert advert;
    DAT_EVENT event;

    open_side(&side, argc > 1 ? argv[1] : name);
    CHECK(dat_psp_create(side.ia, PORT, side.evd, DAT_PSP_CONSUMER_FLAG, &psp));
    puts("listening");
    fflush(stdout);

    /* Before the client can send. */
    segment = piece(&side, SIZE - 64, 64);
    CHECK(dat_ep_post_recv(side.ep, 1, &segment, cookie, DAT_COMPLETION_DEFAULT_FLAG));

    wait_for(&side, DAT_CONNECTION_REQUEST_EVENT, &event);
    advert.address = htobe64((uintptr_t)side.memory);
    advert.context = htobe32(side.rmr_context);
    advert.length = htobe32(SIZE - 64);
    CHECK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, side.ep, sizeof advert,
                        &advert));
    wait_for(&side, DAT_CONNECTION_EVENT_ESTABLISHED, &event);

    /* The message says that the write is complete: it arrives after it. */
    wait_for(&side, DAT_DTO_COMPLETION_EVENT, &event);
    printf("the client wrote: %s\n", side.memory);

    wait_for(&side, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    CHECK(dat_psp_free(psp));
    close_side(&side);
    return 0;
}
