/*
 * pthread_cancel of threads that wait: dat_evd_wait and dat_cno_wait are cancellation points, for
 * both cancel types, and another thread can wait on the same object afterwards. No other call is
 * one.
 *
 *     cancel [ADAPTER]    over that adapter; loopback without an argument
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "../examples/end.h"

/* Number of cancellations of each wait, at random times. */
#define AT_RANDOM 200

static char adapter[256] = "loopback";
static char here[64], there[64];
static struct end near_end, far_end;
static DAT_PSP_HANDLE listener;
static DAT_EVD_HANDLE merged, attached;
static DAT_CNO_HANDLE cno;
static int failures;

#define EXPECT(condition, ...)                     \
    do {                                           \
        if (!(condition)) {                        \
            printf("line %d: ", __LINE__);         \
            printf(__VA_ARGS__);                   \
            putchar('\n');                         \
            failures++;                            \
        }                                          \
    } while (0)

struct waiter {
    const char *what;
    DAT_EVD_HANDLE evd; /* or the notification object's */
    DAT_CNO_HANDLE cno;
    int type;  /* the cancel type */
    int state; /* the cancel state */
    DAT_TIMEOUT timeout;
    pthread_t thread;
    pid_t volatile tid;
    int volatile cleaned; /* its own clean-up handler ran */
    int volatile returned;
    int volatile type_after;
    DAT_RETURN volatile result;
};

static void clean(void *argument)
{
    struct waiter *waiter = argument;

    waiter->cleaned++;
}

static DAT_RETURN wait_once(struct waiter *waiter)
{
    DAT_EVD_HANDLE hint;
    DAT_EVENT event;
    DAT_COUNT more;

    if (waiter->cno != DAT_HANDLE_NULL)
        return dat_cno_wait(waiter->cno, waiter->timeout, &hint);
    return dat_evd_wait(waiter->evd, waiter->timeout, 1, &event, &more);
}

static void *wait_on(void *argument)
{
    struct waiter *waiter = argument;
    int type;

    pthread_cleanup_push(clean, waiter);
    pthread_setcancelstate(waiter->state, NULL);
    pthread_setcanceltype(waiter->type, NULL);
    waiter->tid = gettid();
    waiter->result = wait_once(waiter);
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &type);
    waiter->type_after = type;
    waiter->returned = 1;
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    pthread_cleanup_pop(0);
    return NULL;
}

static void begin(struct waiter *waiter)
{
    waiter->tid = 0;
    waiter->cleaned = waiter->returned = 0;
    if (pthread_create(&waiter->thread, NULL, wait_on, waiter) != 0)
        exit(2);
    while (waiter->tid == 0)
        usleep(100);
}

/* Waits until the thread sleeps in the kernel. */
static void await_sleep(const struct waiter *waiter)
{
    char path[64], state = 0;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)waiter->tid);
    for (int calm = 0; calm < 3;) {
        FILE *stat = fopen(path, "r");

        if (stat == NULL || fscanf(stat, "%*d (%*[^)]) %c", &state) != 1)
            state = 0;
        if (stat != NULL)
            fclose(stat);
        calm = state == 'S' ? calm + 1 : 0;
        usleep(2000);
    }
}

/* Joins the thread, or ends the test if it hangs. */
static void *join(struct waiter *waiter)
{
    struct timespec limit;
    void *result = NULL;

    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 30;
    if (pthread_timedjoin_np(waiter->thread, &result, &limit) != 0) {
        printf("%s, type %d: the cancelled thread does not end\n", waiter->what, waiter->type);
        fflush(stdout);
        _exit(1);
    }
    return result;
}

static void post_software(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;

    memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    CHECK(dat_evd_post_se(evd, &event));
}

/* Another thread can wait on it; the time-out shows that no thread is waiting any more. */
static void wait_again(struct waiter *waiter)
{
    struct waiter again = *waiter;
    DAT_RETURN result;

    again.timeout = 1000;
    result = wait_once(&again);
    if (waiter->cno != DAT_HANDLE_NULL)
        EXPECT(DAT_GET_TYPE(result) == DAT_QUEUE_EMPTY, "%s: %#x", waiter->what, (unsigned)result);
    else
        EXPECT(DAT_GET_TYPE(result) == DAT_TIMEOUT_EXPIRED, "%s: %#x", waiter->what,
               (unsigned)result);
}

/* Cancels a thread that sleeps. */
static void cancel_asleep(struct waiter *waiter)
{
    void *result;

    begin(waiter);
    await_sleep(waiter);
    pthread_cancel(waiter->thread);
    result = join(waiter);
    EXPECT(result == PTHREAD_CANCELED, "%s, type %d: it was not cancelled", waiter->what,
           waiter->type);
    EXPECT(waiter->cleaned == 1 && !waiter->returned, "%s: cleaned %d, returned %d", waiter->what,
           waiter->cleaned, waiter->returned);
    wait_again(waiter);
}

/* A pending cancellation acts before the sleep. */
static void *wait_cancelled(void *argument)
{
    pthread_cancel(pthread_self());
    return wait_on(argument);
}

static void cancel_before(struct waiter *waiter)
{
    waiter->cleaned = waiter->returned = 0;
    if (pthread_create(&waiter->thread, NULL, wait_cancelled, waiter) != 0)
        exit(2);
    EXPECT(join(waiter) == PTHREAD_CANCELED, "%s: it was not cancelled", waiter->what);
    EXPECT(!waiter->returned, "%s: it returned", waiter->what);
    wait_again(waiter);
}

/* A thread that disables cancellation is not cancelled; its wait ends by the time-out. */
static void cancel_forbidden(struct waiter *waiter)
{
    waiter->state = PTHREAD_CANCEL_DISABLE;
    waiter->timeout = 300000;
    begin(waiter);
    await_sleep(waiter);
    pthread_cancel(waiter->thread);
    EXPECT(join(waiter) == PTHREAD_CANCELED, "%s: not even afterwards", waiter->what);
    EXPECT(waiter->returned, "%s: it was cancelled in the wait", waiter->what);
    EXPECT(waiter->type_after == waiter->type, "%s: the type became %d", waiter->what,
           waiter->type_after);
    waiter->state = PTHREAD_CANCEL_ENABLE;
    waiter->timeout = DAT_TIMEOUT_INFINITE;
    wait_again(waiter);
}

/* Cancels at a random time of the wait: while it spins, falls asleep, sleeps, or wakes up. */
static void cancel_at_random(struct waiter *waiter, DAT_EVD_HANDLE waker)
{
    for (unsigned at = 0; at < AT_RANDOM; at++) {
        struct timespec pause = {0, (long)(at * 7919 % 97) * 1000};
        struct waiter drain = *waiter;
        DAT_RETURN result;

        begin(waiter);
        nanosleep(&pause, NULL);
        if (at % 3 == 0 && waker != DAT_HANDLE_NULL)
            post_software(waker);
        pthread_cancel(waiter->thread);
        join(waiter);
        EXPECT(!waiter->returned || waiter->result == DAT_SUCCESS, "%s: %#x", waiter->what,
               (unsigned)waiter->result);
        drain.timeout = 0;
        do
            result = wait_once(&drain);
        while (result == DAT_SUCCESS);
        EXPECT(DAT_GET_TYPE(result) == DAT_TIMEOUT_EXPIRED ||
                   DAT_GET_TYPE(result) == DAT_QUEUE_EMPTY,
               "%s: %#x", waiter->what, (unsigned)result);
    }
    if (waiter->cno != DAT_HANDLE_NULL && waker != DAT_HANDLE_NULL) {
        DAT_EVENT event;

        while (dat_evd_dequeue(waker, &event) == DAT_SUCCESS)
            continue;
    }
}

static void table(void)
{
    struct waiter waits[] = {
        {.what = "completions", .evd = near_end.recv_evd},
        {.what = "connections", .evd = near_end.connect_evd},
        {.what = "requests", .evd = far_end.request_evd},
        {.what = "merged", .evd = merged},
        {.what = "a notification object", .cno = cno},
    };
    static const int types[] = {PTHREAD_CANCEL_DEFERRED, PTHREAD_CANCEL_ASYNCHRONOUS};

    for (size_t at = 0; at < sizeof waits / sizeof *waits; at++)
        for (int type = 0; type < 2; type++) {
            struct waiter *waiter = &waits[at];
            DAT_EVD_HANDLE waker = waiter->cno != DAT_HANDLE_NULL ? attached : DAT_HANDLE_NULL;

            waiter->type = types[type];
            waiter->state = PTHREAD_CANCEL_ENABLE;
            waiter->timeout = DAT_TIMEOUT_INFINITE;
            cancel_asleep(waiter);
            waiter->timeout = 600 * 1000000u;
            cancel_asleep(waiter);
            waiter->timeout = DAT_TIMEOUT_INFINITE;
            if (type == 0)
                cancel_before(waiter);
            cancel_forbidden(waiter);
            cancel_at_random(waiter, waiter->evd == merged ? merged : waker);
        }
}

/* Objects on which cancelled threads waited still receive what arrives. */
static void transfer(void)
{
    end_post_recv(&near_end, 0, 8, 3);
    end_post_send(&far_end, 0, 8, 4);
    end_wait_done(near_end.recv_evd, 3);
    end_wait_done(far_end.send_evd, 4);
}

/* Of two waiters on a notification object, the one that is not cancelled gets the trigger. */
static void one_of_two(void)
{
    for (int round = 0; round < 50; round++) {
        struct waiter first = {.what = "the first", .cno = cno, .timeout = DAT_TIMEOUT_INFINITE};
        struct waiter second = {.what = "the second", .cno = cno, .timeout = 20 * 1000000u};
        DAT_EVENT event;

        begin(&first);
        begin(&second);
        if (round % 2 == 0)
            await_sleep(&first);
        post_software(attached);
        pthread_cancel(first.thread);
        if (join(&first) != PTHREAD_CANCELED || first.returned)
            post_software(attached);
        join(&second);
        EXPECT(second.result == DAT_SUCCESS || first.result == DAT_SUCCESS,
               "round %d: the trigger is lost: %#x", round, (unsigned)second.result);
        while (dat_evd_dequeue(attached, &event) == DAT_SUCCESS)
            continue;
        second.timeout = 0;
        while (wait_once(&second) == DAT_SUCCESS)
            continue;
    }
}

/* A pending cancellation acts in no other call, whatever the call does inside. */
static void *all_else(void *argument)
{
    int *done = argument;
    struct end other;
    static char memory[64];
    DAT_EVENT event;
    DAT_COUNT more;

    pthread_cancel(pthread_self());
    end_open(&other, adapter, memory, sizeof memory);
    CHECK(dat_ep_free(other.ep));
    CHECK(dat_lmr_free(other.lmr));
    CHECK(dat_ia_close(other.ia, DAT_CLOSE_ABRUPT_FLAG));
    for (int round = 0; round < 100; round++) {
        end_post_recv(&far_end, 0, 8, 1);
        end_post_send(&near_end, 0, 8, 2);
        while (dat_evd_dequeue(near_end.send_evd, &event) != DAT_SUCCESS)
            continue;
        while (dat_evd_dequeue(far_end.recv_evd, &event) != DAT_SUCCESS)
            continue;
    }
    post_software(merged);
    /* An event that is queued is taken at once, without a cancellation. */
    CHECK(dat_evd_wait(merged, DAT_TIMEOUT_INFINITE, 1, &event, &more));
    *done = 1;
    dat_evd_wait(merged, DAT_TIMEOUT_INFINITE, 1, &event, &more);
    *done = 2;
    return NULL;
}

static void no_other_call(void)
{
    struct waiter waiter = {.what = "all other calls"};
    int done = 0;

    if (pthread_create(&waiter.thread, NULL, all_else, &done) != 0)
        exit(2);
    EXPECT(join(&waiter) == PTHREAD_CANCELED, "it was not cancelled");
    EXPECT(done == 1, "it came to step %d", done);
}

static void *accept_one(void *unused)
{
    end_accept(&far_end, NULL, 0);
    return unused;
}

static void open_all(void)
{
    DAT_OS_WAIT_PROXY_AGENT none;
    DAT_EVENT event;
    pthread_t thread;

    memset(&none, 0, sizeof none);
    end_open(&near_end, adapter, here, sizeof here);
    end_open(&far_end, adapter, there, sizeof there);
    CHECK(dat_psp_create(far_end.ia, QUALIFIER, far_end.request_evd, DAT_PSP_CONSUMER_FLAG,
                         &listener));
    pthread_create(&thread, NULL, accept_one, NULL);
    end_connect(&near_end, &event);
    pthread_join(thread, NULL);
    CHECK(dat_evd_create(near_end.ia, 256, DAT_HANDLE_NULL,
                         DAT_EVD_SOFTWARE_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG |
                             DAT_EVD_CR_FLAG,
                         &merged));
    CHECK(dat_cno_create(near_end.ia, none, &cno));
    CHECK(dat_evd_create(near_end.ia, 256, cno, DAT_EVD_SOFTWARE_FLAG, &attached));
}

/* No cancelled thread keeps anything in use: all objects can be freed in order. */
static void close_all(void)
{
    CHECK(dat_evd_free(attached));
    CHECK(dat_cno_free(cno));
    CHECK(dat_evd_free(merged));
    CHECK(dat_psp_free(listener));
    end_close(&near_end);
    end_close(&far_end);
}

int main(int argc, char **argv)
{
    if (argc > 1)
        snprintf(adapter, sizeof adapter, "%s", argv[1]);
    open_all();
    table();
    transfer();
    one_of_two();
    no_other_call();
    close_all();
    printf("%d failures\n", failures);
    return failures != 0;
}
