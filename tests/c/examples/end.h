/*
 * One end of a connection: opened, connected and closed in the order that DAT requires. All
 * examples use it. They are for DAT 2.0, and for DAT 1.2 if DAT_1_2 is defined.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef END_H
#define END_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The difference between the versions here: only 2.0 has an argument for the kind of addresses. */
#ifdef DAT_1_2
#include <dat/udat.h>
#define PRIVILEGES DAT_MEM_PRIV_ALL_FLAG
#else
#include <dat2/udat.h>
#define PRIVILEGES DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA
#endif

/* The connection qualifier: it identifies a service, as a port does in TCP. */
#define QUALIFIER 4791
#define TEN_SECONDS 10000000
/* How many requests for connections can wait for the server: further ones are refused. */
#define BACKLOG 4096

/* Ends the program unless a DAT call succeeded. */
#define CHECK(call) check((call), #call, __LINE__)

static void check(DAT_RETURN result, const char *call, int line)
{
    const char *type = "", *subtype = "";

    if (result == DAT_SUCCESS)
        return;
    dat_strerror(result, &type, &subtype);
    fprintf(stderr, "line %d: %s: %s %s\n", line, call, type, subtype);
    exit(1);
}

struct end {
    DAT_IA_HANDLE ia;
    DAT_IA_ADDRESS_PTR address; /* of the adapter */
    DAT_PZ_HANDLE pz;
    DAT_EVD_HANDLE async_evd;   /* what goes wrong with the adapter */
    DAT_EVD_HANDLE request_evd; /* requests for connections */
    DAT_EVD_HANDLE connect_evd; /* connections that begin and end */
    DAT_EVD_HANDLE recv_evd;    /* receives that are done */
    DAT_EVD_HANDLE send_evd;    /* sends, reads and writes that are done */
    DAT_EP_HANDLE ep;
    DAT_LMR_HANDLE lmr;
    DAT_LMR_CONTEXT lmr_context; /* names the buffer in our own operations */
    DAT_RMR_CONTEXT rmr_context; /* names the buffer in the peer's */
    char *buffer;
};

/* Opens the adapter, creates an endpoint, and registers the buffer. */
static inline void end_open(struct end *end, DAT_NAME_PTR adapter, char *buffer, DAT_VLEN length)
{
    DAT_REGION_DESCRIPTION region;
    DAT_IA_ATTR attributes;

    memset(end, 0, sizeof *end);
    end->async_evd = DAT_HANDLE_NULL; /* have one made */
    CHECK(dat_ia_open(adapter, 8, &end->async_evd, &end->ia));
    CHECK(dat_ia_query(end->ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    end->address = attributes.ia_address_ptr;
    CHECK(dat_pz_create(end->ia, &end->pz));

    CHECK(dat_evd_create(end->ia, BACKLOG, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &end->request_evd));
    CHECK(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &end->connect_evd));
    CHECK(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->recv_evd));
    CHECK(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->send_evd));
    CHECK(dat_ep_create(end->ia, end->pz, end->recv_evd, end->send_evd, end->connect_evd, NULL,
                        &end->ep));

    end->buffer = buffer;
    region.for_va = buffer;
    CHECK(dat_lmr_create(end->ia, DAT_MEM_TYPE_VIRTUAL, region, length, end->pz, PRIVILEGES,
                         &end->lmr, &end->lmr_context, &end->rmr_context, NULL, NULL));
}

/* Waits for the next event, which must be of the given kind. */
static inline void end_wait_for(DAT_EVD_HANDLE evd, DAT_TIMEOUT time, DAT_EVENT_NUMBER expected,
                                DAT_EVENT *event)
{
    DAT_COUNT more;

    CHECK(dat_evd_wait(evd, time, 1, event, &more));
    if (event->event_number != expected) {
        fprintf(stderr, "event %#x instead of %#x\n", (unsigned)event->event_number,
                (unsigned)expected);
        exit(1);
    }
}

static inline void end_wait(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected, DAT_EVENT *event)
{
    end_wait_for(evd, TEN_SECONDS, expected, event);
}

/* Waits for the completion of an operation, which its cookie identifies. */
static inline void end_wait_done(DAT_EVD_HANDLE evd, DAT_UINT64 cookie)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *done;
    DAT_EVENT event;

    end_wait(evd, DAT_DTO_COMPLETION_EVENT, &event);
    done = &event.event_data.dto_completion_event_data;
    if (done->status != DAT_DTO_SUCCESS || done->user_cookie.as_64 != cookie) {
        fprintf(stderr, "operation %llu: status %d\n",
                (unsigned long long)done->user_cookie.as_64, (int)done->status);
        exit(1);
    }
}

/* A part of the buffer in the form that operations take. */
static inline DAT_LMR_TRIPLET end_part(const struct end *end, DAT_VLEN offset, DAT_VLEN length)
{
    DAT_LMR_TRIPLET triplet;

    memset(&triplet, 0, sizeof triplet);
    triplet.lmr_context = end->lmr_context;
    triplet.virtual_address = (DAT_VADDR)(uintptr_t)(end->buffer + offset);
    triplet.segment_length = length;
    return triplet;
}

static inline DAT_DTO_COOKIE cookie_of(DAT_UINT64 number)
{
    DAT_DTO_COOKIE cookie;

    cookie.as_64 = number;
    return cookie;
}

/* Posts a receive. The peer's sends fill receives in the order in which they were posted. */
static inline void end_post_recv(struct end *end, DAT_VLEN offset, DAT_VLEN length, DAT_UINT64 cookie)
{
    DAT_LMR_TRIPLET part = end_part(end, offset, length);

    CHECK(dat_ep_post_recv(end->ep, 1, &part, cookie_of(cookie), DAT_COMPLETION_DEFAULT_FLAG));
}

/* Posts a send. The buffer must not change until the send has completed. */
static inline void end_post_send(struct end *end, DAT_VLEN offset, DAT_VLEN length, DAT_UINT64 cookie)
{
    DAT_LMR_TRIPLET part = end_part(end, offset, length);

    CHECK(dat_ep_post_send(end->ep, 1, &part, cookie_of(cookie), DAT_COMPLETION_DEFAULT_FLAG));
}

/* Connects to the other end; the event contains the data that the other end sent. */
static inline void end_connect(struct end *end, DAT_EVENT *event)
{
    CHECK(dat_ep_connect(end->ep, end->address, QUALIFIER, TEN_SECONDS, 0, NULL,
                         DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    end_wait(end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, event);
}

/* Tries to connect to an address. Returns 0 if that failed; the endpoint can then try another one. */
static inline int end_try_connect(struct end *end, DAT_IA_ADDRESS_PTR address)
{
    DAT_EVENT event;
    DAT_COUNT more;

    CHECK(dat_ep_connect(end->ep, address, QUALIFIER, TEN_SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
                         DAT_CONNECT_DEFAULT_FLAG));
    CHECK(dat_evd_wait(end->connect_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
    if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED)
        return 1;
    CHECK(dat_ep_reset(end->ep));
    return 0;
}

/* Accepts the next request, however long that takes to come, and sends data to the other end. */
static inline void end_accept(struct end *end, void *words, DAT_COUNT length)
{
    DAT_EVENT event;

    end_wait_for(end->request_evd, DAT_TIMEOUT_INFINITE, DAT_CONNECTION_REQUEST_EVENT, &event);
    CHECK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, end->ep, length, words));
    end_wait(end->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

/* Ends the connection and frees all objects: each object after those that use it. */
static inline void end_close(struct end *end)
{
    DAT_EVENT event;

    CHECK(dat_ep_disconnect(end->ep, DAT_CLOSE_GRACEFUL_FLAG));
    end_wait(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    CHECK(dat_ep_free(end->ep));
    CHECK(dat_lmr_free(end->lmr));
    CHECK(dat_evd_free(end->send_evd));
    CHECK(dat_evd_free(end->recv_evd));
    CHECK(dat_evd_free(end->connect_evd));
    CHECK(dat_evd_free(end->request_evd));
    CHECK(dat_pz_free(end->pz));
    CHECK(dat_ia_close(end->ia, DAT_CLOSE_GRACEFUL_FLAG));
}

#endif
