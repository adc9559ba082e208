/*
 * Calls in threads with the smallest stack that the system allows (PTHREAD_STACK_MIN, 16 KiB): each call that listens,
 * connects, transfers, waits and closes leaves a quarter of it unused. Opening an adapter, which lists the interfaces
 * of the machine, needs more.
 *
 *     small_stacks [ADAPTER]    over that adapter; loopback without an argument
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include "../examples/end.h"
#include "painted_stack.h"
#include "second_address.h"

#ifdef DAT_1_2
#include <dat/dat_detail.h>
#define REMOTE_ADDRESS target_address
#else
#include <dat2/dat_detail.h>
#define REMOTE_ADDRESS virtual_address
#endif

/* What a call may use, with the frames and the thread-local storage of its thread. */
#define LIMIT (12 * 1024)
#define LIMIT_OF_OPENING (18 * 1024)
#define LENGTH (1 << 20)

static char adapter[256] = "loopback";
static struct end near_end, far_end;
static DAT_PSP_HANDLE listener;
static DAT_CONN_QUAL qualifier;
static DAT_EVENT event;
static int failures;

static void nothing(void)
{
}

static void open_near(void)
{
    static char buffer[LENGTH];

    end_open(&near_end, adapter, buffer, sizeof buffer);
}

static void open_far(void)
{
    static char buffer[LENGTH];

    end_open(&far_end, adapter, buffer, sizeof buffer);
}

static void listen_far(void)
{
    CHECK(dat_psp_create_any(far_end.ia, &qualifier, far_end.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
}

static void request(void)
{
    CHECK(dat_ep_connect(near_end.ep, far_end.address, qualifier, TEN_SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
                         DAT_CONNECT_DEFAULT_FLAG));
}

static void accept_request(void)
{
    end_wait(far_end.request_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
    CHECK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, far_end.ep, 0, NULL));
}

static void reject_request(void)
{
    end_wait(far_end.request_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
#ifdef DAT_1_2
    CHECK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
#else
    CHECK(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
#endif
    end_wait(near_end.connect_evd, DAT_CONNECTION_EVENT_PEER_REJECTED, &event);
    CHECK(dat_ep_reset(near_end.ep));
}

static void establish(void)
{
    end_wait(near_end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    end_wait(far_end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
}

static void post_recv(void)
{
    end_post_recv(&far_end, 0, LENGTH, 1);
}

static void post_short_send(void)
{
    end_post_send(&near_end, 0, 64, 2);
}

static void post_long_send(void)
{
    end_post_send(&near_end, 0, LENGTH, 2);
}

static DAT_RMR_TRIPLET far_part(DAT_VLEN length)
{
    DAT_RMR_TRIPLET part;

    memset(&part, 0, sizeof part);
    part.rmr_context = far_end.rmr_context;
    part.REMOTE_ADDRESS = (DAT_VADDR)(uintptr_t)far_end.buffer;
    part.segment_length = length;
    return part;
}

static void post_write(void)
{
    DAT_LMR_TRIPLET part = end_part(&near_end, 0, LENGTH);
    DAT_RMR_TRIPLET target = far_part(LENGTH);

    CHECK(dat_ep_post_rdma_write(near_end.ep, 1, &part, cookie_of(2), &target, DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_read(void)
{
    DAT_LMR_TRIPLET part = end_part(&near_end, 0, LENGTH);
    DAT_RMR_TRIPLET source = far_part(LENGTH);

    CHECK(dat_ep_post_rdma_read(near_end.ep, 1, &part, cookie_of(2), &source, DAT_COMPLETION_DEFAULT_FLAG));
}

/* Completions of a receive come first, if there is one. */
static void poll_send(void)
{
    while (DAT_GET_TYPE(dat_evd_dequeue(near_end.send_evd, &event)) == DAT_QUEUE_EMPTY)
        (void)dat_evd_dequeue(far_end.recv_evd, &event);
}

static void wait_recv(void)
{
    end_wait_done(far_end.recv_evd, 1);
}

static void wait_send(void)
{
    end_wait_done(near_end.send_evd, 2);
}

static void refuse(void)
{
    DAT_RETURN result = dat_ep_post_send(near_end.ep, 1, NULL, cookie_of(0), DAT_COMPLETION_DEFAULT_FLAG);

    if (result == DAT_SUCCESS || dat_error_detail() == NULL)
        failures++;
}

static void disconnect(void)
{
    CHECK(dat_ep_disconnect(near_end.ep, DAT_CLOSE_GRACEFUL_FLAG));
    end_wait(near_end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    end_wait(far_end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
}

static void free_ends(void)
{
    CHECK(dat_psp_free(listener));
    CHECK(dat_ep_free(near_end.ep));
    CHECK(dat_lmr_free(near_end.lmr));
}

static void close_far(void)
{
    CHECK(dat_ia_close(far_end.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void close_near(void)
{
    CHECK(dat_ia_close(near_end.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void *run(void *argument)
{
    (*(void (**)(void))argument)();
    return NULL;
}

/* Makes calls in a thread with a painted stack. */
static void on_small_stack(const char *name, void (*calls)(void), size_t limit)
{
    size_t used = stack_used(run, &calls);

    if (used > limit) {
        failures++;
        printf("NOT OK: ");
    }
    printf("%s: %zu bytes of the stack\n", name, used);
}
#define ON_SMALL_STACK(calls) on_small_stack(#calls, calls, LIMIT)

int main(int argc, char **argv)
{
    if (argc > 1)
        snprintf(adapter, sizeof adapter, "%s", argv[1]);
    if (strstr(adapter, SECOND_ADDRESS) != NULL && !have_second_address()) {
        printf("NOT RUN: a second address needs CAP_NET_ADMIN and CAP_SYS_ADMIN\n");
        return 0;
    }
    ON_SMALL_STACK(nothing);
    on_small_stack("open_near", open_near, LIMIT_OF_OPENING);
    on_small_stack("open_far", open_far, LIMIT_OF_OPENING);
    ON_SMALL_STACK(listen_far);
    ON_SMALL_STACK(request);
    ON_SMALL_STACK(reject_request);
    ON_SMALL_STACK(request);
    ON_SMALL_STACK(accept_request);
    ON_SMALL_STACK(establish);
    ON_SMALL_STACK(post_recv);
    ON_SMALL_STACK(post_short_send);
    ON_SMALL_STACK(wait_recv);
    ON_SMALL_STACK(wait_send);
    ON_SMALL_STACK(post_recv);
    ON_SMALL_STACK(post_long_send);
    ON_SMALL_STACK(poll_send);
    ON_SMALL_STACK(post_write);
    ON_SMALL_STACK(wait_send);
    ON_SMALL_STACK(post_read);
    ON_SMALL_STACK(wait_send);
    ON_SMALL_STACK(refuse);
    ON_SMALL_STACK(disconnect);
    ON_SMALL_STACK(free_ends);
    ON_SMALL_STACK(close_far);
    ON_SMALL_STACK(close_near);
    printf("%d failures\n", failures);
    return failures != 0;
}
