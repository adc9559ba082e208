/*
 * RDMA: one end writes into the memory of the other one and reads it back, while the program there
 * does nothing.
 *
 *     cc -o rdma rdma.c $(pkg-config --cflags --libs dat2) -pthread
 *     ./rdma            # the adapter "loopback", which needs no hardware
 *     ./rdma ofa-v2-ib0 # an adapter of /etc/dat.conf
 *
 * For DAT 1.2: add -DDAT_1_2 and use dat instead of dat2.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <pthread.h>

#include "end.h"

#define SIZE 65536
/* After the data: a message that it was written. */
#define NOTE SIZE
#define NOTE_SIZE 8
#define BUFFER (SIZE + NOTE_SIZE)

#ifdef DAT_1_2
#define REMOTE_ADDRESS target_address
#else
#define REMOTE_ADDRESS virtual_address
#endif

enum { RECEIVED = 1, WRITTEN, READ, SENT };

/*
 * What the other end must know about the memory that it may access. This program has both ends;
 * ends on machines of different byte order would send the numbers in network byte order.
 */
struct offer {
    DAT_VADDR address;
    DAT_UINT64 length;
    DAT_RMR_CONTEXT context;
};

static char byte_at(int index)
{
    return (char)(index * 7 + index / 256);
}

/* The end whose memory is used: it offers the memory when it accepts, and then waits for a note. */
static void *server(void *argument)
{
    struct end *end = argument;
    struct offer offer;

    memset(&offer, 0, sizeof offer);
    offer.address = (DAT_VADDR)(uintptr_t)end->buffer;
    offer.length = SIZE;
    offer.context = end->rmr_context;
    end_post_recv(end, NOTE, NOTE_SIZE, RECEIVED);
    end_accept(end, &offer, sizeof offer);

    /* This end gets no event for a write. A message that was sent after the write arrives after it. */
    end_wait_done(end->recv_evd, RECEIVED);
    for (int i = 0; i < SIZE; i++) {
        if (end->buffer[i] != byte_at(i)) {
            fprintf(stderr, "byte %d was not written\n", i);
            exit(1);
        }
    }
    return NULL;
}

static void client(struct end *end)
{
    DAT_CONNECTION_EVENT_DATA *connection;
    DAT_RMR_TRIPLET remote;
    DAT_LMR_TRIPLET local;
    struct offer offer;
    DAT_EVENT event;

    end_connect(end, &event);
    connection = &event.event_data.connect_event_data;
    if ((size_t)connection->private_data_size < sizeof offer) {
        fprintf(stderr, "the other end offers no memory\n");
        exit(1);
    }
    memcpy(&offer, connection->private_data, sizeof offer);
    memset(&remote, 0, sizeof remote);
    remote.rmr_context = offer.context;
    remote.REMOTE_ADDRESS = offer.address;
    remote.segment_length = offer.length;

    for (int i = 0; i < SIZE; i++)
        end->buffer[i] = byte_at(i);
    local = end_part(end, 0, SIZE);
    CHECK(dat_ep_post_rdma_write(end->ep, 1, &local, cookie_of(WRITTEN), &remote,
                                 DAT_COMPLETION_DEFAULT_FLAG));
    end_wait_done(end->send_evd, WRITTEN);

    memset(end->buffer, 0, SIZE);
    CHECK(dat_ep_post_rdma_read(end->ep, 1, &local, cookie_of(READ), &remote,
                                DAT_COMPLETION_DEFAULT_FLAG));
    end_wait_done(end->send_evd, READ);
    for (int i = 0; i < SIZE; i++) {
        if (end->buffer[i] != byte_at(i)) {
            fprintf(stderr, "byte %d came back as %d\n", i, end->buffer[i]);
            exit(1);
        }
    }

    end_post_send(end, NOTE, NOTE_SIZE, SENT);
    end_wait_done(end->send_evd, SENT);
    printf("%d bytes written, read back and compared\n", SIZE);
}

int main(int argc, char **argv)
{
    char loopback[] = "loopback";
    DAT_NAME_PTR adapter = argc > 1 ? argv[1] : loopback;
    char *here = calloc(1, BUFFER), *there = calloc(1, BUFFER);
    struct end near, far;
    DAT_PSP_HANDLE listener;
    pthread_t thread;

    if (here == NULL || there == NULL)
        return 1;
    end_open(&far, adapter, there, BUFFER);
    CHECK(dat_psp_create(far.ia, QUALIFIER, far.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    pthread_create(&thread, NULL, server, &far);

    end_open(&near, adapter, here, BUFFER);
    client(&near);
    pthread_join(thread, NULL);

    CHECK(dat_psp_free(listener));
    end_close(&near);
    end_close(&far);
    free(here);
    free(there);
    return 0;
}
