/*
 * A stream of 64-byte messages between two threads, through libdat2 and through a skeleton with
 * mutexes, in turns. The sender keeps at most a window of sends in flight and polls for each
 * completion; the receiver polls for a message and posts its receive again. Each row is a regime of
 * flow control. Prints millions of messages per second: the median of the batches with the worst and
 * the best, and the ratio of the medians.
 *
 *   stream ADAPTER [BATCHES [MESSAGES]]
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "../c/examples/end.h"
#include "stream_skeleton.h"

#define SIZE 64
#define LONGEST 64 /* the largest window and number of receives of any row */
#define MOST_BATCHES 1001

struct row {
    const char *regime;
    unsigned window, receives;
};

static const struct row rows[] = {
    {"receiver ahead", 8, 60}, {"balanced", 8, 16},        {"balanced, wide", 48, 60},
    {"sender ahead", 60, 16},  {"receives scarce", 60, 4},
};
#define ROWS (sizeof rows / sizeof rows[0])

/* One way to move messages. A poll answers whether it found a completion. */
struct contender {
    const char *name;
    void (*open)(char *adapter);
    void (*close)(void);
    void (*post_send)(unsigned slot);
    void (*post_receive)(unsigned slot);
    int (*poll_sent)(unsigned *slot);
    int (*poll_received)(unsigned *slot);
};

static char outgoing[LONGEST * SIZE] __attribute__((aligned(64)));
static char incoming[LONGEST * SIZE] __attribute__((aligned(64)));

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* Through libdat2. */

static struct end sender, receiver;
static DAT_PSP_HANDLE listener;
static DAT_LMR_TRIPLET sends[LONGEST], receives[LONGEST];

static void *accept_one(void *unused)
{
    end_accept(&receiver, NULL, 0);
    return unused;
}

static void dat_open(char *adapter)
{
    DAT_EVENT event;
    pthread_t thread;

    end_open(&sender, adapter, outgoing, sizeof outgoing);
    end_open(&receiver, adapter, incoming, sizeof incoming);
    CHECK(dat_evd_resize(sender.send_evd, LONGEST));
    CHECK(dat_evd_resize(receiver.recv_evd, LONGEST));
    CHECK(dat_psp_create(receiver.ia, QUALIFIER, receiver.request_evd, DAT_PSP_CONSUMER_FLAG,
                         &listener));
    pthread_create(&thread, NULL, accept_one, NULL);
    end_connect(&sender, &event);
    pthread_join(thread, NULL);
    CHECK(dat_psp_free(listener));
    for (unsigned slot = 0; slot < LONGEST; slot++) {
        sends[slot] = end_part(&sender, slot * SIZE, SIZE);
        receives[slot] = end_part(&receiver, slot * SIZE, SIZE);
    }
}

static void dat_close(void)
{
    DAT_EVENT event;

    CHECK(dat_ep_disconnect(sender.ep, DAT_CLOSE_ABRUPT_FLAG));
    end_wait(sender.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    end_wait(receiver.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    CHECK(dat_ia_close(sender.ia, DAT_CLOSE_ABRUPT_FLAG));
    CHECK(dat_ia_close(receiver.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void dat_post_send(unsigned slot)
{
    CHECK(dat_ep_post_send(sender.ep, 1, &sends[slot], cookie_of(slot), DAT_COMPLETION_DEFAULT_FLAG));
}

static void dat_post_receive(unsigned slot)
{
    CHECK(dat_ep_post_recv(receiver.ep, 1, &receives[slot], cookie_of(slot),
                           DAT_COMPLETION_DEFAULT_FLAG));
}

static int dat_poll(DAT_EVD_HANDLE evd, unsigned *slot)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *done;
    DAT_EVENT event;
    DAT_RETURN result = dat_evd_dequeue(evd, &event);

    if (DAT_GET_TYPE(result) == DAT_QUEUE_EMPTY)
        return 0;
    CHECK(result);
    done = &event.event_data.dto_completion_event_data;
    if (event.event_number != DAT_DTO_COMPLETION_EVENT || done->status != DAT_DTO_SUCCESS)
        fail("a message failed");
    *slot = (unsigned)done->user_cookie.as_64;
    return 1;
}

static int dat_poll_sent(unsigned *slot)
{
    return dat_poll(sender.send_evd, slot);
}

static int dat_poll_received(unsigned *slot)
{
    return dat_poll(receiver.recv_evd, slot);
}

/* Through the skeleton. */

static struct skeleton skeleton;

static void mutex_open(char *unused)
{
    (void)unused;
    skeleton_open(&skeleton);
}

static void mutex_close(void)
{
}

static void mutex_post_send(unsigned slot)
{
    if (!skeleton_send(&skeleton, (struct work){outgoing + slot * SIZE, slot}, SIZE))
        fail("the skeleton is full");
}

static void mutex_post_receive(unsigned slot)
{
    if (!skeleton_receive(&skeleton, (struct work){incoming + slot * SIZE, slot}, SIZE))
        fail("the skeleton is full");
}

static int mutex_poll_sent(unsigned *slot)
{
    struct work work;

    if (!completions_poll(&skeleton.sent, &work))
        return 0;
    *slot = (unsigned)work.cookie;
    return 1;
}

static int mutex_poll_received(unsigned *slot)
{
    struct work work;

    if (!completions_poll(&skeleton.received, &work))
        return 0;
    *slot = (unsigned)work.cookie;
    return 1;
}

static const struct contender contenders[] = {
    {"libdat2", dat_open, dat_close, dat_post_send, dat_post_receive, dat_poll_sent, dat_poll_received},
    {"mutexes", mutex_open, mutex_close, mutex_post_send, mutex_post_receive, mutex_poll_sent,
     mutex_poll_received},
};
#define CONTENDERS (sizeof contenders / sizeof contenders[0])

/* A batch. */

struct batch {
    const struct contender *contender;
    const struct row *row;
    unsigned long messages;
    int pinned;
    pthread_barrier_t start;
    double seconds; /* from the sender's start to its last completion */
};

static void pin(const struct batch *batch, int processor)
{
    cpu_set_t set, now;

    if (!batch->pinned)
        return;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof now, &now) != 0)
        fail("sched_getaffinity fails");
    for (int at = 0; at < CPU_SETSIZE; at++)
        if (CPU_ISSET(at, &now) && processor-- == 0)
            CPU_SET(at, &set);
    if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0)
        fail("two processors are needed to pin the threads");
}

static double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *receive_all(void *argument)
{
    struct batch *batch = argument;
    const struct contender *by = batch->contender;
    unsigned slot;

    pin(batch, 1);
    pthread_barrier_wait(&batch->start);
    for (unsigned long done = 0; done < batch->messages; done++) {
        while (!by->poll_received(&slot))
            ;
        by->post_receive(slot);
    }
    return NULL;
}

static void *send_all(void *argument)
{
    struct batch *batch = argument;
    const struct contender *by = batch->contender;
    unsigned long sent = 0, done = 0;
    unsigned slot;
    double began;

    pin(batch, 0);
    pthread_barrier_wait(&batch->start);
    began = seconds();
    while (done < batch->messages) {
        if (sent < batch->messages && sent - done < batch->row->window) {
            by->post_send(sent % batch->row->window);
            sent++;
        }
        if (by->poll_sent(&slot))
            done++;
    }
    batch->seconds = seconds() - began;
    return NULL;
}

/* Runs one batch; returns millions of messages per second. */
static double run(struct batch *batch)
{
    pthread_t threads[2];

    pthread_barrier_init(&batch->start, NULL, 2);
    pthread_create(&threads[0], NULL, receive_all, batch);
    pthread_create(&threads[1], NULL, send_all, batch);
    pthread_join(threads[1], NULL);
    pthread_join(threads[0], NULL);
    pthread_barrier_destroy(&batch->start);
    return (double)batch->messages / batch->seconds / 1e6;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

int main(int argc, char **argv)
{
    static double rates[CONTENDERS][MOST_BATCHES];
    int batches = argc > 2 ? atoi(argv[2]) : 31;
    long messages = argc > 3 ? atol(argv[3]) : 20000;

    if (argc < 2 || batches < 1 || batches > MOST_BATCHES || messages < 1)
        fail("usage: stream ADAPTER [BATCHES [MESSAGES]]");
    printf("millions of 64-byte messages per second, median (worst to best) of %d batches\n", batches);
    printf("%-16s %6s %8s %8s  %-24s %-24s %s\n", "regime", "window", "receives", "threads",
           contenders[0].name, contenders[1].name, "ratio");
    for (size_t at = 0; at < 2 * ROWS; at++) {
        struct batch batch = {.row = &rows[at / 2], .pinned = at % 2, .messages = messages};

        for (size_t of = 0; of < CONTENDERS; of++) {
            contenders[of].open(argv[1]);
            for (unsigned slot = 0; slot < batch.row->receives; slot++)
                contenders[of].post_receive(slot);
        }
        for (int turn = 0; turn < batches; turn++)
            for (size_t of = 0; of < CONTENDERS; of++) {
                batch.contender = &contenders[of];
                rates[of][turn] = run(&batch);
            }
        printf("%-16s %6u %8u %8s ", batch.row->regime, batch.row->window, batch.row->receives,
               batch.pinned ? "pinned" : "free");
        for (size_t of = 0; of < CONTENDERS; of++) {
            char text[64];

            contenders[of].close();
            qsort(rates[of], batches, sizeof rates[of][0], compare);
            snprintf(text, sizeof text, "%.2f (%.2f to %.2f)", rates[of][batches / 2], rates[of][0],
                     rates[of][batches - 1]);
            printf(" %-24s", text);
        }
        printf(" %.2f\n", rates[0][batches / 2] / rates[1][batches / 2]);
        fflush(stdout);
    }
    return 0;
}
