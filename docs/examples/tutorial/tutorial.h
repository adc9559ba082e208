/*
 * What the two programs of the tutorial share.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef TUTORIAL_H
#define TUTORIAL_H

#define _DEFAULT_SOURCE
#include <endian.h>
#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <dat2/udat.h>
#include <dat2/dat_detail.h>

#define PORT 7190
#define SIZE 4096
#define BACKLOG 4096

/* Ends the program with the reason if a call fails. */
#define CHECK(call)                                                                                \
    do {                                                                                           \
        if ((call) != DAT_SUCCESS)                                                                 \
            errx(1, "%s", dat_error_detail());                                                     \
    } while (0)

/* Where the client may write: sent as private data, in network byte order. */
struct advert {
    uint64_t address;
    uint32_t context;
    uint32_t length;
};

/* The objects of one side. */
struct side {
    DAT_IA_HANDLE ia;
    DAT_PZ_HANDLE pz;
    DAT_EVD_HANDLE evd;
    DAT_EP_HANDLE ep;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT lmr_context;
    DAT_RMR_CONTEXT rmr_context;
    char memory[SIZE];
};

/* Opens the adapter and creates one object of each kind. */
static void open_side(struct side *side, char *name)
{
    DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL; /* an input too */
    DAT_REGION_DESCRIPTION region;

    CHECK(dat_ia_open(name, 8, &async_evd, &side->ia));
    CHECK(dat_pz_create(side->ia, &side->pz));
    CHECK(dat_evd_create(side->ia, BACKLOG, DAT_HANDLE_NULL,
                         DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_DTO_FLAG,
                         &side->evd));
    CHECK(dat_ep_create(side->ia, side->pz, side->evd, side->evd, side->evd, NULL, &side->ep));
    region.for_va = side->memory;
    CHECK(dat_lmr_create(side->ia, DAT_MEM_TYPE_VIRTUAL, region, SIZE, side->pz,
                         DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &side->lmr, &side->lmr_context,
                         &side->rmr_context, NULL, NULL));
}

/* A piece of the memory, for a post. */
static DAT_LMR_TRIPLET piece(struct side *side, size_t offset, size_t length)
{
    DAT_LMR_TRIPLET segment = {0};

    segment.lmr_context = side->lmr_context;
    segment.virtual_address = (uintptr_t)side->memory + offset;
    segment.segment_length = length;
    return segment;
}

/* Waits for the next event, which must have that number, and succeeded if it is a completion. */
static void wait_for(struct side *side, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
    DAT_COUNT more;

    CHECK(dat_evd_wait(side->evd, 10000000, 1, event, &more));
    if (event->event_number != number)
        errx(1, "event %#x instead of %#x: %s", event->event_number, number, dat_error_detail());
    if (number == DAT_DTO_COMPLETION_EVENT
        && event->event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
        errx(1, "%s", dat_error_detail());
}

/* Frees everything, in the opposite order. */
static void close_side(struct side *side)
{
    CHECK(dat_ep_free(side->ep));
    CHECK(dat_lmr_free(side->lmr));
    CHECK(dat_evd_free(side->evd));
    CHECK(dat_pz_free(side->pz));
    CHECK(dat_ia_close(side->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

#endif
