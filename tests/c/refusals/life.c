/*
 * The life of a program: it opens an adapter, creates one object of each kind, connects two endpoints,
 * transfers, disconnects and closes: life ADAPTER [QUALIFIER]. Each call that the system's refusals make fail must say
 * DAT_INSUFFICIENT_RESOURCES, and works when it is repeated; a call that frees something never fails. A
 * connection that fails or breaks is established again.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef DAT_1_2
#include <dat/dat_detail.h>
#else
#include <dat2/dat_detail.h>
#endif

#include "../examples/end.h"
#include "forked.h"
#include "left.h"
#include "page.h"

#define SECOND 1000000
#define MOST_TRIES 100
/* In the first life, the library creates what the process keeps; a later one may still create what a thread keeps. A
 * leak is what each of the others leaves, so two lives are enough if the second one leaves just what the first one did. */
#define LIVES 3
#define MOST_LIVES 6
/* More than the library keeps, which is a chunk of 2,048. */
#define HANDLES 2500
/* Between two counts of what is left, in milliseconds. */
#define LONGEST_PAUSE 64
#define LENGTH (256 << 10)
#define SMALL 100
/* Enough for a queue that grows into mappings of its own. */
#define EVENTS 2500
#define SEGMENTS 16

static struct page *page;
static DAT_IA_HANDLE ia;
/* Lives that run at the same time have different ones. */
static DAT_CONN_QUAL own_qualifier = 4700;
static DAT_PZ_HANDLE pz;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static DAT_PSP_HANDLE psp;
static DAT_IA_ADDRESS_PTR address;
static DAT_CONN_QUAL qualifier;
static DAT_EVD_HANDLE connections, completions;
static DAT_EP_HANDLE client, server;
/* The two halves belong to the client and to the server. */
static char memory[2 * LENGTH];

static void fail(const char *what, DAT_RETURN code, const char *call)
{
    dprintf(2, "%s: %s: %#x: %s\n", call, what, (unsigned)code, dat_error_detail());
    _exit(1);
}

static int has_text_of(int error)
{
    return strstr(dat_error_detail(), strerror(error)) != NULL;
}

/* Checks the error of a call that the system has refused: its kind, and that its text names the cause. */
static void check_refusal(DAT_RETURN code, const char *call)
{
    int error = atomic_load(&page->error), is_one = atomic_load(&page->count) == 1;
    /* What the C library says if it has no memory for a thread. */
    int is_thread = strncmp(page->what, "mmap", 4) == 0 || strncmp(page->what, "mprotect", 8) == 0;

    if (page->kind != CALLS_FORBIDDEN && DAT_GET_TYPE(code) != DAT_INSUFFICIENT_RESOURCES)
        fail("another error", code, call);
    if (dat_error_detail()[0] == '\0')
        fail("no reason", code, call);
    if (error != 0 && is_one && !has_text_of(error) && !(is_thread && has_text_of(EAGAIN)))
        fail("another cause", code, call);
}

/* Repeats a call as long as the system refuses something. */
#define TRY(call)                                                     \
    do {                                                              \
        DAT_RETURN code_;                                             \
        int tries_ = 0;                                               \
        while ((code_ = (call)) != DAT_SUCCESS) {                     \
            check_refusal(code_, #call);                              \
            if (tries_++ == MOST_TRIES)                               \
                fail("it fails again and again", code_, #call);       \
        }                                                             \
    } while (0)

/* For a call that gives something back. */
#define MUST(call)                                                    \
    do {                                                              \
        DAT_RETURN code_ = (call);                                    \
        if (code_ != DAT_SUCCESS)                                     \
            fail("it fails", code_, #call);                           \
    } while (0)

static void create_endpoints(void)
{
    TRY(dat_ep_create(ia, pz, completions, completions, connections, NULL, &client));
    TRY(dat_ep_create(ia, pz, completions, completions, connections, NULL, &server));
}

static void reject(DAT_CR_HANDLE request)
{
#ifdef DAT_1_2
    MUST(dat_cr_reject(request));
#else
    MUST(dat_cr_reject(request, 0, NULL));
#endif
}

/* After a connection has failed: begins again, with new endpoints and without events of the old ones. */
static void start_again(void)
{
    DAT_EVENT event;

    MUST(dat_ep_free(client));
    MUST(dat_ep_free(server));
    while (dat_evd_dequeue(connections, &event) == DAT_SUCCESS)
        if (event.event_number == DAT_CONNECTION_REQUEST_EVENT)
            reject(event.event_data.cr_arrival_event_data.cr_handle);
    while (dat_evd_dequeue(completions, &event) == DAT_SUCCESS)
        ;
    create_endpoints();
}

/* Returns whether the connection was established. */
static int is_connected(void)
{
    DAT_EVENT event;
    DAT_COUNT more;
    int established = 0, accepted = 0;

    TRY(dat_ep_connect(client, address, qualifier, 5 * SECOND, 0, NULL, DAT_QOS_BEST_EFFORT,
                       DAT_CONNECT_DEFAULT_FLAG));
    while (established < 2) {
        MUST(dat_evd_wait(connections, 15 * SECOND, 1, &event, &more));
        if (event.event_number == DAT_CONNECTION_REQUEST_EVENT) {
            /* A request of an endpoint that was freed may be late. */
            if (accepted++ != 0)
                reject(event.event_data.cr_arrival_event_data.cr_handle);
            else
                TRY(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, server, 0, NULL));
        } else if (event.event_number == DAT_CONNECTION_EVENT_ESTABLISHED) {
            established++;
        } else {
            return 0;
        }
    }
    return 1;
}

static DAT_LMR_TRIPLET part(size_t offset, size_t length)
{
    DAT_LMR_TRIPLET triplet;

    memset(&triplet, 0, sizeof triplet);
    triplet.lmr_context = lmr_context;
    triplet.virtual_address = (DAT_VADDR)(uintptr_t)(memory + offset);
    triplet.segment_length = length;
    return triplet;
}

/* Waits for some completions; returns whether all were successful. */
static int have_succeeded(int count)
{
    DAT_EVENT event;
    DAT_COUNT more;

    while (count-- > 0) {
        MUST(dat_evd_wait(completions, 15 * SECOND, 1, &event, &more));
        if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
            return 0;
    }
    return 1;
}

/* Sends, writes and reads this many bytes; returns whether they arrived. */
static int is_transferred(size_t length)
{
    DAT_LMR_TRIPLET from = part(0, length), to = part(LENGTH, length);
    DAT_RMR_TRIPLET there;

    memset(&there, 0, sizeof there);
    there.rmr_context = rmr_context;
#ifdef DAT_1_2
    there.target_address = (DAT_VADDR)(uintptr_t)(memory + LENGTH);
#else
    there.virtual_address = (DAT_VADDR)(uintptr_t)(memory + LENGTH);
#endif
    there.segment_length = length;

    memset(memory, 1, length);
    TRY(dat_ep_post_recv(server, 1, &to, cookie_of(1), DAT_COMPLETION_DEFAULT_FLAG));
    TRY(dat_ep_post_send(client, 1, &from, cookie_of(2), DAT_COMPLETION_DEFAULT_FLAG));
    if (!have_succeeded(2))
        return 0;
    if (memory[LENGTH] != 1 || memory[LENGTH + length - 1] != 1)
        fail("the message is wrong", DAT_SUCCESS, "a send");

    memset(memory, 2, length);
    TRY(dat_ep_post_rdma_write(client, 1, &from, cookie_of(3), &there, DAT_COMPLETION_DEFAULT_FLAG));
    if (!have_succeeded(1))
        return 0;
    memset(memory, 0, length);
    TRY(dat_ep_post_rdma_read(client, 1, &from, cookie_of(4), &there, DAT_COMPLETION_DEFAULT_FLAG));
    if (!have_succeeded(1))
        return 0;
    if (memory[0] != 2 || memory[length - 1] != 2)
        fail("the bytes are wrong", DAT_SUCCESS, "an RDMA read");
    return 1;
}

/* Returns whether both ends got the event. */
static int is_disconnected(void)
{
    DAT_EVENT event;
    DAT_COUNT more;
    int count;

    MUST(dat_ep_disconnect(client, DAT_CLOSE_GRACEFUL_FLAG));
    for (count = 0; count < 2; count++) {
        MUST(dat_evd_wait(connections, 15 * SECOND, 1, &event, &more));
        if (event.event_number != DAT_CONNECTION_EVENT_DISCONNECTED)
            return 0;
    }
    return 1;
}

/* Objects that need no connection. */
static void create_and_free(void)
{
    DAT_OS_WAIT_PROXY_AGENT no_agent = {NULL, NULL};
    DAT_SRQ_ATTR attributes = {8, 2, 0};
    DAT_CNO_HANDLE cno;
    DAT_EVD_HANDLE evd;
    DAT_EP_HANDLE ep;
    DAT_SRQ_HANDLE srq;
    DAT_RMR_HANDLE rmr;
    DAT_RSP_HANDLE rsp;
    DAT_EVENT event;
    DAT_COUNT more;
    DAT_EVD_HANDLE triggered;

    TRY(dat_cno_create(ia, no_agent, &cno));
    TRY(dat_evd_create(ia, 8, cno,
                       DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG |
                           DAT_EVD_DTO_FLAG,
                       &evd));
    TRY(dat_evd_resize(evd, 100));
    memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    TRY(dat_evd_post_se(evd, &event));
    MUST(dat_cno_wait(cno, SECOND, &triggered));
    MUST(dat_evd_wait(evd, SECOND, 1, &event, &more));
    TRY(dat_srq_create(ia, pz, &attributes, &srq));
    TRY(dat_srq_resize(srq, 100));
    TRY(dat_ep_create_with_srq(ia, pz, evd, evd, evd, srq, NULL, &ep));
    TRY(dat_rmr_create(pz, &rmr));
    MUST(dat_ep_free(ep));
    TRY(dat_ep_create(ia, pz, evd, evd, evd, NULL, &ep));
    TRY(dat_rsp_create(ia, own_qualifier, ep, evd, &rsp));
    MUST(dat_rsp_free(rsp));
    MUST(dat_rmr_free(rmr));
    MUST(dat_ep_free(ep));
    MUST(dat_srq_free(srq));
    MUST(dat_evd_free(evd));
    MUST(dat_cno_free(cno));
}

/* Queues that are larger than the reserve of the library. */
static void create_large(void)
{
    DAT_LMR_TRIPLET parts[SEGMENTS];
    DAT_SRQ_ATTR shared = {4096, SEGMENTS, 0};
    DAT_EP_PARAM param;
    DAT_EP_HANDLE ep;
    DAT_SRQ_HANDLE srq;
    DAT_EVD_HANDLE evd;
    DAT_EVENT event;
    int number;

    for (number = 0; number < SEGMENTS; number++)
        parts[number] = part((size_t)number * SMALL, SMALL);
    TRY(dat_evd_create(ia, 20000, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG | DAT_EVD_SOFTWARE_FLAG, &evd));
    TRY(dat_evd_resize(evd, 30000));
    memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    for (number = 0; number < EVENTS; number++)
        /* An event for which there is no memory finds no space in the queue. */
        while (DAT_GET_TYPE(dat_evd_post_se(evd, &event)) == DAT_QUEUE_FULL)
            ;
    for (number = 0; number < EVENTS; number++)
        MUST(dat_evd_dequeue(evd, &event));
    MUST(dat_evd_free(evd));

    TRY(dat_ep_query(client, DAT_EP_FIELD_ALL, &param));
    param.ep_attr.max_recv_dtos = 2048;
    param.ep_attr.max_recv_iov = SEGMENTS;
    TRY(dat_ep_create(ia, pz, completions, completions, connections, &param.ep_attr, &ep));
    atomic_store(&page->loop_begin, atomic_load(&page->seen));
    for (number = 0; number < 600; number++)
        TRY(dat_ep_post_recv(ep, SEGMENTS, parts, cookie_of(9), DAT_COMPLETION_DEFAULT_FLAG));
    atomic_store(&page->loop_end, atomic_load(&page->seen));
    MUST(dat_ep_free(ep));

    TRY(dat_srq_create(ia, pz, &shared, &srq));
    TRY(dat_srq_post_recv(srq, SEGMENTS, parts, cookie_of(9)));
    TRY(dat_srq_resize(srq, 8192));
    MUST(dat_srq_free(srq));
}

static void open_adapter(char *name)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_ATTR attributes;
    DAT_REGION_DESCRIPTION region;

    TRY(dat_ia_open(name, 8, &async, &ia));
    TRY(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    address = attributes.ia_address_ptr;
    TRY(dat_pz_create(ia, &pz));
    TRY(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG,
                       &connections));
    TRY(dat_evd_create(ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &completions));
    region.for_va = memory;
    TRY(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, pz, PRIVILEGES, &lmr,
                       &lmr_context, &rmr_context, NULL, NULL));
    TRY(dat_psp_create_any(ia, &qualifier, connections, DAT_PSP_CONSUMER_FLAG, &psp));
}

/* A graceful close fails if an object is left. */
static void close_adapter(void)
{
    MUST(dat_ep_free(client));
    MUST(dat_ep_free(server));
    MUST(dat_psp_free(psp));
    MUST(dat_lmr_free(lmr));
    MUST(dat_evd_free(completions));
    MUST(dat_evd_free(connections));
    MUST(dat_pz_free(pz));
    MUST(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
}

/* The library keeps what a program may read of an object until its handle is given to another one, oldest first, and
 * the text of the last error: gives each handle to an object that has nothing to read. */
static void use_handles_again(void)
{
    static char loopback[] = "loopback";
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_PZ_HANDLE zone;
    int number;

    MUST(dat_ia_open(loopback, 8, &async, &ia));
    for (number = 0; number < HANDLES; number++) {
        MUST(dat_pz_create(ia, &zone));
        MUST(dat_pz_free(zone));
    }
    MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    /* The text of the last error is that of this call. */
    if (dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS)
        fail("it succeeds", DAT_SUCCESS, "a second close");
}

/* Counts what a life has left; returns whether it is more than after the one before. Threads that are ending need a
 * moment for that, and then free what they have. */
static int has_left_more(int life)
{
    struct timespec moment = {0, 0};
    struct holdings now, before = page->left;
    int pause = 1, slept = 0, threads = atomic_load(&page->threads), is_more;

    /* In milliseconds. Each pause is longer than the one before, because counting takes processor time. */
    do {
        moment.tv_nsec = pause * 1000000L;
        nanosleep(&moment, NULL);
        slept += pause;
        pause = pause < LONGEST_PAUSE ? 2 * pause : LONGEST_PAUSE;
        now = holdings(page);
        is_more = life >= LIVES && has_more(&now, &before);
        /* Without a known number of threads, all have half a second. */
    } while (slept < (threads != 0 && now.threads > threads ? 5000 : 500) &&
             (threads == 0 || now.threads > threads || is_more));
    page->left_before = before;
    page->left = now;
    return is_more;
}

static void live(char *name)
{
    int tries;

    open_adapter(name);
    create_and_free();
    create_endpoints();
    create_large();
    for (tries = 0; !is_connected() || !is_transferred(SMALL) || !is_transferred(LENGTH) ||
                    !is_disconnected(); tries++) {
        if (tries == MOST_TRIES)
            fail("none lasts", DAT_SUCCESS, "a connection");
        start_again();
    }
    close_adapter();
}

int main(int argc, char **argv)
{
    static char loopback[] = "loopback";
    static struct page alone;
    char *name = argc > 1 ? argv[1] : loopback;
    int life = 0, is_more, is_same;

    if (argc > 2)
        own_qualifier = (DAT_CONN_QUAL)atoi(argv[2]);
    page = find_page();
    if (page == NULL)
        page = &alone;
    if (page->kind == FORKS)
        fork_when_requested(page, name);
    do {
        atomic_store(&page->seen, 0);
        atomic_store(&page->active, 1);
        live(name);
        atomic_store(&page->active, 0);
        end_forks();
        use_handles_again();
        is_more = has_left_more(++life);
        is_same = life > 1 && has_same(&page->left, &page->left_before);
    } while (page->kind != FORKS && !is_same && (life < LIVES || (is_more && life < MOST_LIVES)));
    return 0;
}
