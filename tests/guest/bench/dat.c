/*
 * Measures the cost of a DAT library over RDMA: latency, bandwidth, and calls whose instructions
 * are counted. The same program runs over any libdat2; `bench` and `instructions` compare its
 * output.
 *
 *   dat IA serve PORT
 *   dat IA ADDRESS PORT TEST SIZE COUNT [TEST SIZE COUNT]...
 *   dat IA churn COUNT
 *
 * A test is send-lat, write-lat, read-lat (microseconds: half of a round trip, as in perftest, or
 * all of a read), send-bw, write-bw, read-bw (10^6 bytes per second, 16 in flight), or cost. It
 * prints a line for each: test, size, figure; the figure is the median of COUNT transfers, or of
 * COUNT times 16. cost prints nothing: an external tool counts its instructions. With one
 * processor, a waiting side yields to the other. churn creates and frees COUNT endpoints and
 * regions: soft-RoCE numbers its objects consecutively and needs more steps per packet to find high
 * numbers, so the last contender would seem the slowest.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <arpa/inet.h>
#include <dat2/udat.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MOST (1 << 20)  /* bytes in a transfer */
#define WINDOW 16       /* transfers in flight */
#define RECEIVES 64     /* messages that may come */
#define MOST_COUNT 1000
#define ROUNDS 4        /* of calls that are counted; the first ones have more to do */
#define MINUTE 60000000

enum test { SEND_LAT, WRITE_LAT, READ_LAT, SEND_BW, WRITE_BW, READ_BW, COST, QUIT, TESTS };
static const char *const names[TESTS] = {"send-lat", "write-lat", "read-lat", "send-bw",
                                         "write-bw", "read-bw",   "cost",     "quit"};

/* Sent by the side that connects and answered by the side that accepts, in host byte order. */
struct hello {
    uint32_t test, size, count, context;
    uint64_t address;
};

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE async_evd, arrivals, connections, received, requested;
static DAT_EP_HANDLE ep;
static DAT_LMR_HANDLE lmr;
static DAT_LMR_TRIPLET out, in;
static DAT_RMR_TRIPLET remote;
static DAT_RMR_CONTEXT rmr_context;
/* To send and write from, and for the other side to read; to receive and read into, and for the
 * other side to write. */
static char memory[2 * MOST] __attribute__((aligned(4096)));
static volatile char *const arrived = memory + MOST;
static int one_processor;

#define CHECK(call) check((call), #call, __LINE__)

static void check(DAT_RETURN result, const char *call, int line)
{
    const char *type = "", *subtype = "";

    if (result == DAT_SUCCESS)
        return;
    dat_strerror(result, &type, &subtype);
    fprintf(stderr, "dat.c:%d: %s: %s %s\n", line, call, type, subtype);
    exit(1);
}

static void fail(const char *what, long value)
{
    fprintf(stderr, "%s: %#lx\n", what, value);
    exit(1);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void await(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected, DAT_EVENT *event)
{
    DAT_COUNT more;

    CHECK(dat_evd_wait(evd, MINUTE, 1, event, &more));
    if (event->event_number != expected)
        fail("another event came", event->event_number);
}

/* Takes a completion if there is one. */
static inline int take(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;
    DAT_RETURN result = dat_evd_dequeue(evd, &event);

    if (result == DAT_SUCCESS) {
        if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
            fail("a completion", event.event_data.dto_completion_event_data.status);
        return 1;
    }
    if (DAT_GET_TYPE(result) != DAT_QUEUE_EMPTY)
        fail("dat_evd_dequeue", result);
    return 0;
}

static inline void none(DAT_EVD_HANDLE evd)
{
    if (take(evd))
        fail("a completion that was taken before", 0);
}

static inline void wait_for(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;

    await(evd, DAT_DTO_COMPLETION_EVENT, &event);
}

static inline void pause_shortly(void)
{
    if (one_processor)
        sched_yield();
}

static inline void spin(DAT_EVD_HANDLE evd)
{
    while (!take(evd))
        pause_shortly();
}

static const DAT_DTO_COOKIE cookie = {.as_64 = 7};

static inline void post_recv(void)
{
    DAT_RETURN result = dat_ep_post_recv(ep, 1, &in, cookie, DAT_COMPLETION_DEFAULT_FLAG);

    if (result != DAT_SUCCESS)
        fail("dat_ep_post_recv", result);
}

static inline void post_send(void)
{
    DAT_RETURN result = dat_ep_post_send(ep, 1, &out, cookie, DAT_COMPLETION_DEFAULT_FLAG);

    if (result != DAT_SUCCESS)
        fail("dat_ep_post_send", result);
}

static inline void post_write(void)
{
    DAT_RETURN result =
        dat_ep_post_rdma_write(ep, 1, &out, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG);

    if (result != DAT_SUCCESS)
        fail("dat_ep_post_rdma_write", result);
}

static inline void post_read(void)
{
    DAT_RETURN result =
        dat_ep_post_rdma_read(ep, 1, &in, cookie, &remote, DAT_COMPLETION_DEFAULT_FLAG);

    if (result != DAT_SUCCESS)
        fail("dat_ep_post_rdma_read", result);
}

static void open_adapter(char *name)
{
    DAT_REGION_DESCRIPTION region = {.for_va = memory};
    DAT_VLEN length;
    DAT_VADDR address;

    CHECK(dat_ia_open(name, 8, &async_evd, &ia));
    CHECK(dat_pz_create(ia, &pz));
    CHECK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &arrivals));
    CHECK(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connections));
    CHECK(dat_evd_create(ia, 256, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &received));
    CHECK(dat_evd_create(ia, 256, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &requested));
    CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, pz,
                         DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &out.lmr_context,
                         &rmr_context, &length, &address));
    in.lmr_context = out.lmr_context;
    out.virtual_address = (DAT_VADDR)(uintptr_t)memory;
    in.virtual_address = out.virtual_address + MOST;
}

static void make_endpoint(void)
{
    DAT_EP_ATTR attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.service_type = DAT_SERVICE_TYPE_RC;
    attributes.max_message_size = MOST;
    attributes.max_rdma_size = MOST;
    attributes.qos = DAT_QOS_BEST_EFFORT;
    attributes.max_recv_dtos = RECEIVES + 8;
    attributes.max_request_dtos = RECEIVES + 8;
    attributes.max_recv_iov = 1;
    attributes.max_request_iov = 1;
    attributes.max_rdma_read_in = WINDOW;
    attributes.max_rdma_read_out = WINDOW;
    attributes.max_rdma_read_iov = 1;
    attributes.max_rdma_write_iov = 1;
    CHECK(dat_ep_create(ia, pz, received, requested, connections, &attributes, &ep));
}

/* What both sides do before they connect, and after. */
static void prepare(const struct hello *test)
{
    int receives = test->test == SEND_BW ? RECEIVES : test->test == SEND_LAT ? 2 : 0;

    make_endpoint();
    out.segment_length = in.segment_length = remote.segment_length = test->size;
    memset(memory, 0, sizeof memory);
    while (receives--)
        post_recv();
}

static void finish(void)
{
    DAT_EVENT event;

    CHECK(dat_ep_free(ep));
    /* Receives that nothing came for. */
    while (dat_evd_dequeue(received, &event) == DAT_SUCCESS)
        ;
    while (dat_evd_dequeue(requested, &event) == DAT_SUCCESS)
        ;
}

static void know(const struct hello *peer, enum test test)
{
    remote.rmr_context = peer->context;
    /* What is written arrives in the second half; what is read is in the first. */
    remote.virtual_address = peer->address + (test == READ_LAT || test == READ_BW ? 0 : MOST);
}

static void post(enum test test)
{
    if (test == SEND_LAT || test == SEND_BW)
        post_send();
    else if (test == WRITE_LAT || test == WRITE_BW)
        post_write();
    else
        post_read();
}

/* A message or write of the other side, the number of which is known. */
static void expect(const struct hello *test, uint32_t turn)
{
    if (test->test == SEND_LAT) {
        spin(received);
        post_recv();
        return;
    }
    while (arrived[test->size - 1] != (char)turn)
        pause_shortly();
}

static void tell(const struct hello *test, uint32_t turn)
{
    memory[test->size - 1] = (char)turn;
    post(test->test);
    spin(requested);
}

static double times[MOST_COUNT];

/* The time of one transfer, or of one round. */
static void measure(const struct hello *test)
{
    double start = now();
    uint32_t done = 0, posted = 0, total = test->count * WINDOW;

    switch (test->test) {
    case SEND_LAT:
    case WRITE_LAT:
        for (; done < test->count; done++, start = now()) {
            tell(test, done + 1);
            expect(test, done + 1);
            times[done] = (now() - start) / 2;
        }
        break;
    case READ_LAT:
        for (; done < test->count; done++, start = now()) {
            post_read();
            spin(requested);
            times[done] = now() - start;
        }
        break;
    default:
        while (done < total) {
            if (posted < total && posted - done < WINDOW) {
                post(test->test);
                posted++;
            } else if (take(requested) && ++done % WINDOW == 0) {
                times[done / WINDOW - 1] = now() - start;
                start = now();
            }
        }
    }
}

static int compare(const void *a, const void *b)
{
    double first = *(const double *)a, second = *(const double *)b;

    return (first > second) - (first < second);
}

/* The calls that are counted, each as often as fits. */
#define COUNTED __attribute__((noinline)) void
COUNTED counted_post_recv(void) { for (int i = 0; i < WINDOW; i++) post_recv(); }
COUNTED counted_post_send(void) { for (int i = 0; i < WINDOW; i++) post_send(); }
COUNTED counted_post_write(void) { for (int i = 0; i < WINDOW; i++) post_write(); }
COUNTED counted_post_read(void) { for (int i = 0; i < WINDOW; i++) post_read(); }
COUNTED counted_reap_request(void) { for (int i = 0; i < WINDOW; i++) spin(requested); }
COUNTED counted_reap_recv(void) { for (int i = 0; i < WINDOW; i++) spin(received); }
COUNTED counted_wait_request(void) { for (int i = 0; i < WINDOW; i++) wait_for(requested); }
COUNTED counted_wait_one(void) { wait_for(requested); }
COUNTED counted_reap_none(void) { for (int i = 0; i < WINDOW; i++) none(requested); }

/* The pauses let everything complete, so that what is counted finds it. */
static void pause_for_all(void) { usleep(300000); }

static void cost(int first)
{
    for (int round = 0; round < ROUNDS; round++) {
        if (!first) {
            counted_post_recv();
            for (int i = 0; i < WINDOW; i++)
                spin(received);
            counted_post_send();
            for (int i = 0; i < WINDOW; i++)
                spin(requested);
            continue;
        }
        counted_post_recv();
        pause_for_all();
        counted_post_send();
        pause_for_all();
        counted_reap_request();
        counted_reap_recv();
        counted_post_write();
        pause_for_all();
        counted_reap_request();
        counted_post_read();
        pause_for_all();
        counted_wait_request();
        for (int i = 0; i < WINDOW; i++) {
            post_write();
            usleep(20000);
            counted_wait_one();
        }
        counted_reap_none();
    }
}

static void serve(DAT_CONN_QUAL port)
{
    DAT_PSP_HANDLE psp;
    DAT_CR_PARAM request;
    DAT_CR_HANDLE cr;
    DAT_EVENT event;
    struct hello test, mine = {0};

    CHECK(dat_psp_create(ia, port, arrivals, DAT_PSP_CONSUMER_FLAG, &psp));
    puts("listening");
    fflush(stdout);
    do {
        while (dat_evd_wait(arrivals, MINUTE, 1, &event, &(DAT_COUNT){0}) != DAT_SUCCESS)
            ;
        cr = event.event_data.cr_arrival_event_data.cr_handle;
        CHECK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &request));
        memcpy(&test, request.private_data, sizeof test);
        if (test.size > MOST || test.test >= TESTS)
            fail("a test", test.test);
        prepare(&test);
        know(&test, test.test);
        mine.context = rmr_context;
        mine.address = out.virtual_address;
        CHECK(dat_cr_accept(cr, ep, sizeof mine, &mine));
        await(connections, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
        if (test.test == SEND_LAT || test.test == WRITE_LAT) {
            for (uint32_t turn = 1; turn <= test.count; turn++) {
                expect(&test, turn);
                tell(&test, turn);
            }
        } else if (test.test == SEND_BW) {
            for (uint32_t done = 0; done < test.count * WINDOW; done++) {
                spin(received);
                post_recv();
            }
        } else if (test.test == COST) {
            cost(0);
        }
        while (dat_evd_wait(connections, MINUTE, 1, &event, &(DAT_COUNT){0}) != DAT_SUCCESS)
            ;
        finish();
    } while (test.test != QUIT);
}

/* One test, and its figure. */
static double ask(DAT_SOCK_ADDR *address, DAT_CONN_QUAL port, struct hello test)
{
    DAT_EVENT event;
    struct hello theirs;
    double time;

    prepare(&test);
    test.context = rmr_context;
    test.address = out.virtual_address;
    CHECK(dat_ep_connect(ep, address, port, MINUTE, sizeof test, &test, DAT_QOS_BEST_EFFORT,
                         DAT_CONNECT_DEFAULT_FLAG));
    await(connections, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    memcpy(&theirs, event.event_data.connect_event_data.private_data, sizeof theirs);
    know(&theirs, test.test);
    if (test.test == COST)
        cost(1);
    else if (test.test != QUIT)
        measure(&test);
    CHECK(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
    await(connections, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    finish();
    qsort(times, test.count, sizeof *times, compare);
    time = times[test.count / 2];
    return test.test <= READ_LAT ? time * 1e6 : (double)WINDOW * test.size / time / 1e6;
}

static void churn(int times)
{
    DAT_REGION_DESCRIPTION region = {.for_va = memory};
    DAT_LMR_CONTEXT context;
    DAT_VLEN length;
    DAT_VADDR address;
    DAT_LMR_HANDLE other;

    while (times--) {
        make_endpoint();
        CHECK(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, 1, pz, DAT_MEM_PRIV_ALL_FLAG,
                             DAT_VA_TYPE_VA, &other, &context, &rmr_context, &length, &address));
        CHECK(dat_lmr_free(other));
        CHECK(dat_ep_free(ep));
    }
}

int main(int count, char **words)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    struct hello test = {0};

    if (count < 4)
        fail("words", count);
    one_processor = sysconf(_SC_NPROCESSORS_ONLN) == 1;
    open_adapter(words[1]);
    if (strcmp(words[2], "serve") == 0) {
        serve(strtoul(words[3], NULL, 10));
        return 0;
    }
    if (strcmp(words[2], "churn") == 0) {
        churn(atoi(words[3]));
        return 0;
    }
    if (inet_pton(AF_INET, words[2], &address.sin_addr) != 1)
        fail("no address", 0);
    for (int word = 4; word + 2 < count; word += 3) {
        for (test.test = 0; test.test < TESTS; test.test++)
            if (strcmp(words[word], names[test.test]) == 0)
                break;
        test.size = strtoul(words[word + 1], NULL, 10);
        test.count = strtoul(words[word + 2], NULL, 10);
        if (test.test == TESTS || test.size > MOST || test.size == 0 ||
            test.count == 0 || test.count > MOST_COUNT)
            fail("no test", word);
        double figure =
            ask((DAT_SOCK_ADDR *)&address, strtoul(words[3], NULL, 10), test);
        printf("%s %u %.3f\n", words[word], test.size, figure);
        fflush(stdout);
    }
    return 0;
}
