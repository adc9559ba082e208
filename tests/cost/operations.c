/*
 * The operations whose instructions are counted, in C: between two connected endpoints of the loopback
 * adapter, by one thread. Compiled into a shared object for DAT 2.0, or for DAT 1.2 if DAT_1_2 is
 * defined. Return values are checked as in a real program.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <pthread.h>

#include "../c/examples/end.h"

#define SIZE 64
#define SOURCE_AT 0
#define TARGET_AT SIZE
/* The profile counts the calls that the function of an operation makes itself. */
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define BURST 32 /* maximum number of messages in flight */

#ifdef DAT_1_2
#define REMOTE_ADDRESS target_address
#else
#define REMOTE_ADDRESS virtual_address
#endif

static char here[2 * SIZE], there[2 * SIZE];
static struct end near_end, far_end;
static DAT_PSP_HANDLE listener;

static void unexpected(const char *call, DAT_RETURN result)
{
    fprintf(stderr, "%s answers %#x\n", call, (unsigned)result);
    exit(1);
}

static void *accept_one(void *end)
{
    end_accept(end, NULL, 0);
    return NULL;
}

void cost_open(void)
{
    char loopback[] = "loopback";
    DAT_EVENT event;
    pthread_t thread;

    end_open(&near_end, loopback, here, sizeof here);
    end_open(&far_end, loopback, there, sizeof there);
    CHECK(dat_psp_create(far_end.ia, QUALIFIER, far_end.request_evd, DAT_PSP_CONSUMER_FLAG,
                         &listener));
    pthread_create(&thread, NULL, accept_one, &far_end);
    end_connect(&near_end, &event);
    pthread_join(thread, NULL);
}

/* Two connected endpoints between processes, both used by one thread of this process. Other programs
 * of the machine have service points there, too, so the test takes any free qualifier. */
struct pair {
    char adapter[8];
    struct end near, far;
    DAT_PSP_HANDLE listener;
    char buffers[2][2 * SIZE];
};

static struct pair shm = { .adapter = "shm" }, tcp = { .adapter = "tcp-lo" };

static void pair_open_once(struct pair *pair)
{
    struct end *near = &pair->near, *far = &pair->far;
    DAT_CONN_QUAL qualifier;
    DAT_EVENT event;
    pthread_t thread;

    if (near->ia != DAT_HANDLE_NULL)
        return;
    end_open(near, pair->adapter, pair->buffers[0], sizeof pair->buffers[0]);
    end_open(far, pair->adapter, pair->buffers[1], sizeof pair->buffers[1]);
    CHECK(dat_evd_resize(near->send_evd, BURST));
    CHECK(dat_evd_resize(far->recv_evd, BURST));
    CHECK(dat_psp_create_any(far->ia, &qualifier, far->request_evd, DAT_PSP_CONSUMER_FLAG,
                             &pair->listener));
    pthread_create(&thread, NULL, accept_one, far);
    CHECK(dat_ep_connect(near->ep, near->address, qualifier, TEN_SECONDS, 0, NULL,
                         DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    end_wait(near->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    pthread_join(thread, NULL);
}

static void pair_close(struct pair *pair)
{
    if (pair->near.ia == DAT_HANDLE_NULL)
        return;
    CHECK(dat_psp_free(pair->listener));
    end_close(&pair->near);
    end_close(&pair->far);
}

void cost_close(void)
{
    pair_close(&shm);
    pair_close(&tcp);
    CHECK(dat_psp_free(listener));
    end_close(&near_end);
    end_close(&far_end);
}

/* Takes a completion if there is one, and says whether there was. */
static ALWAYS_INLINE int take(DAT_EVD_HANDLE evd, DAT_UINT64 cookie)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *done;
    DAT_EVENT event;
    DAT_RETURN result = dat_evd_dequeue(evd, &event);

    if (DAT_GET_TYPE(result) == DAT_QUEUE_EMPTY)
        return 0;
    done = &event.event_data.dto_completion_event_data;
    if (result != DAT_SUCCESS || event.event_number != DAT_DTO_COMPLETION_EVENT ||
        done->status != DAT_DTO_SUCCESS || done->user_cookie.as_64 != cookie)
        unexpected("dat_evd_dequeue", result);
    return 1;
}

/* Takes a completion, which must be there. */
static ALWAYS_INLINE void reap(DAT_EVD_HANDLE evd, DAT_UINT64 cookie)
{
    if (!take(evd, cookie))
        unexpected("dat_evd_dequeue", DAT_QUEUE_EMPTY);
}

static DAT_RMR_TRIPLET remote_part(const struct end *end, DAT_VLEN offset)
{
    DAT_RMR_TRIPLET triplet;

    memset(&triplet, 0, sizeof triplet);
    triplet.rmr_context = end->rmr_context;
    triplet.REMOTE_ADDRESS = (DAT_VADDR)(uintptr_t)(end->buffer + offset);
    triplet.segment_length = SIZE;
    return triplet;
}

static ALWAYS_INLINE void find_nothing(DAT_EVD_HANDLE evd, unsigned long times)
{
    DAT_EVENT event;

    for (unsigned long at = 0; at < times; at++) {
        DAT_RETURN result = dat_evd_dequeue(evd, &event);

        if (DAT_GET_TYPE(result) != DAT_QUEUE_EMPTY)
            unexpected("dat_evd_dequeue", result);
    }
}

void empty_dequeue(unsigned long times)
{
    find_nothing(near_end.send_evd, times);
}

/* Waits for an event, which must be there. */
static ALWAYS_INLINE void expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected, DAT_EVENT *event)
{
    DAT_COUNT more;

    CHECK(dat_evd_wait(evd, TEN_SECONDS, 1, event, &more));
    if (event->event_number != expected)
        unexpected("dat_evd_wait", DAT_SUCCESS);
}

/* Endpoints besides those that are connected. */
void connect_cycle(unsigned long times)
{
    struct end *near = &near_end, *far = &far_end;
    DAT_EP_HANDLE client, server;
    DAT_EVENT event;

    CHECK(dat_ep_create(near->ia, near->pz, near->recv_evd, near->send_evd, near->connect_evd, NULL, &client));
    CHECK(dat_ep_create(far->ia, far->pz, far->recv_evd, far->send_evd, far->connect_evd, NULL, &server));
    for (unsigned long at = 0; at < times; at++) {
        CHECK(dat_ep_connect(client, near->address, QUALIFIER, TEN_SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
                             DAT_CONNECT_DEFAULT_FLAG));
        expect(far->request_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
        CHECK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, server, 0, NULL));
        expect(far->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
        expect(near->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
        CHECK(dat_ep_disconnect(client, DAT_CLOSE_ABRUPT_FLAG));
        expect(near->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
        expect(far->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
        CHECK(dat_ep_reset(client));
        CHECK(dat_ep_reset(server));
    }
    CHECK(dat_ep_free(client));
    CHECK(dat_ep_free(server));
}

void shm_empty_dequeue_before(void)
{
    pair_open_once(&shm);
}

void shm_empty_dequeue(unsigned long times)
{
    find_nothing(shm.near.send_evd, times);
}

void tcp_empty_dequeue_before(void)
{
    pair_open_once(&tcp);
}

void tcp_empty_dequeue(unsigned long times)
{
    find_nothing(tcp.near.send_evd, times);
}

void shm_stream_before(void)
{
    pair_open_once(&shm);
}

/* Posts a receive again as soon as it has completed, so that the sender never lacks one. */
void shm_stream(unsigned long times)
{
    DAT_LMR_TRIPLET source = end_part(&shm.near, SOURCE_AT, SIZE);
    DAT_LMR_TRIPLET target = end_part(&shm.far, TARGET_AT, SIZE);
    unsigned long posted = 0, sent = 0, received = 0, done = 0;

    while (done < times) {
        while (posted < times && posted - received < BURST)
            CHECK(dat_ep_post_recv(shm.far.ep, 1, &target, cookie_of(posted++),
                                   DAT_COMPLETION_DEFAULT_FLAG));
        if (sent < posted && sent - done < BURST / 2)
            CHECK(dat_ep_post_send(shm.near.ep, 1, &source, cookie_of(sent++),
                                   DAT_COMPLETION_DEFAULT_FLAG));
        received += take(shm.far.recv_evd, received);
        done += take(shm.near.send_evd, done);
    }
}

void send_cycle(unsigned long times)
{
    DAT_LMR_TRIPLET source = end_part(&near_end, SOURCE_AT, SIZE);
    DAT_LMR_TRIPLET target = end_part(&far_end, TARGET_AT, SIZE);

    for (unsigned long at = 0; at < times; at++) {
        CHECK(dat_ep_post_recv(far_end.ep, 1, &target, cookie_of(at), DAT_COMPLETION_DEFAULT_FLAG));
        CHECK(dat_ep_post_send(near_end.ep, 1, &source, cookie_of(at), DAT_COMPLETION_DEFAULT_FLAG));
        reap(far_end.recv_evd, at);
        reap(near_end.send_evd, at);
    }
}

void rdma_write(unsigned long times)
{
    DAT_LMR_TRIPLET source = end_part(&near_end, SOURCE_AT, SIZE);
    DAT_RMR_TRIPLET target = remote_part(&far_end, TARGET_AT);

    for (unsigned long at = 0; at < times; at++) {
        CHECK(dat_ep_post_rdma_write(near_end.ep, 1, &source, cookie_of(at), &target,
                                     DAT_COMPLETION_DEFAULT_FLAG));
        reap(near_end.send_evd, at);
    }
}

void rdma_read(unsigned long times)
{
    DAT_LMR_TRIPLET target = end_part(&near_end, TARGET_AT, SIZE);
    DAT_RMR_TRIPLET source = remote_part(&far_end, SOURCE_AT);

    for (unsigned long at = 0; at < times; at++) {
        CHECK(dat_ep_post_rdma_read(near_end.ep, 1, &target, cookie_of(at), &source,
                                    DAT_COMPLETION_DEFAULT_FLAG));
        reap(near_end.send_evd, at);
    }
}

void wait_at_once(unsigned long times)
{
    DAT_LMR_TRIPLET source = end_part(&near_end, SOURCE_AT, SIZE);
    DAT_RMR_TRIPLET target = remote_part(&far_end, TARGET_AT);

    for (unsigned long at = 0; at < times; at++) {
        const DAT_DTO_COMPLETION_EVENT_DATA *done;
        DAT_EVENT event;
        DAT_COUNT more;

        CHECK(dat_ep_post_rdma_write(near_end.ep, 1, &source, cookie_of(at), &target,
                                     DAT_COMPLETION_DEFAULT_FLAG));
        CHECK(dat_evd_wait(near_end.send_evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
        done = &event.event_data.dto_completion_event_data;
        if (event.event_number != DAT_DTO_COMPLETION_EVENT || done->status != DAT_DTO_SUCCESS ||
            done->user_cookie.as_64 != at || more != 0)
            unexpected("dat_evd_wait", DAT_SUCCESS);
    }
}

void handle_type(unsigned long times)
{
    for (unsigned long at = 0; at < times; at++) {
        DAT_HANDLE_TYPE type;

        CHECK(dat_get_handle_type(near_end.ep, &type));
        if (type != DAT_HANDLE_TYPE_EP)
            unexpected("dat_get_handle_type", DAT_SUCCESS);
    }
}

void ep_status(unsigned long times)
{
    for (unsigned long at = 0; at < times; at++) {
        DAT_EP_STATE state;
        DAT_BOOLEAN receives_idle, requests_idle;

        CHECK(dat_ep_get_status(near_end.ep, &state, &receives_idle, &requests_idle));
        if (state != DAT_EP_STATE_CONNECTED || !receives_idle || !requests_idle)
            unexpected("dat_ep_get_status", DAT_SUCCESS);
    }
}
