/*
 * Many connected endpoints of one adapter, which are used in random order. They share dispatchers
 * and memory, so that only the endpoints are many.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef CROWD_H
#define CROWD_H

#include "../c/examples/end.h"

#define CROWD_QUALIFIER (QUALIFIER + 1)
#define CROWD_SIZE 64

struct crowd {
    struct end hub;
    DAT_PSP_HANDLE listener;
    size_t pairs;
    DAT_EP_HANDLE (*ends)[2]; /* NULL before the first use */
    DAT_UINT64 jumps;
    char buffer[2 * CROWD_SIZE];
};

static void crowd_open(struct crowd *crowd, size_t pairs)
{
    char loopback[] = "loopback";
    struct end *hub = &crowd->hub;
    DAT_EVENT event;

    end_open(hub, loopback, crowd->buffer, sizeof crowd->buffer);
    CHECK(dat_psp_create(hub->ia, CROWD_QUALIFIER, hub->request_evd, DAT_PSP_CONSUMER_FLAG,
                         &crowd->listener));
    crowd->pairs = pairs;
    crowd->ends = malloc(pairs * sizeof *crowd->ends);
    if (crowd->ends == NULL)
        abort();
    for (size_t at = 0; at < pairs; at++) {
        for (int side = 0; side < 2; side++)
            CHECK(dat_ep_create(hub->ia, hub->pz, hub->recv_evd, hub->send_evd, hub->connect_evd,
                                NULL, &crowd->ends[at][side]));
        CHECK(dat_ep_connect(crowd->ends[at][0], hub->address, CROWD_QUALIFIER, TEN_SECONDS, 0,
                             NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        end_wait(hub->request_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
        CHECK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, crowd->ends[at][1],
                            0, NULL));
        for (int side = 0; side < 2; side++)
            end_wait(hub->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    }
    CHECK(dat_psp_free(crowd->listener));
}

/* The next pair of connected endpoints, in a reproducible random order. */
static inline DAT_EP_HANDLE *crowd_any(struct crowd *crowd)
{
    crowd->jumps = crowd->jumps * 6364136223846793005u + 1442695040888963407u;
    return crowd->ends[(crowd->jumps >> 33) % crowd->pairs];
}

static void crowd_close(struct crowd *crowd)
{
    if (crowd->ends == NULL)
        return;
    CHECK(dat_ia_close(crowd->hub.ia, DAT_CLOSE_ABRUPT_FLAG));
    free(crowd->ends);
    crowd->ends = NULL;
}

#endif
