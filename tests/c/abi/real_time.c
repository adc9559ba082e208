/*
 * A program with the policy SCHED_FIFO that is bound to one processor and polls gets every event that a thread of the
 * library causes: a connection, the data of its peer, and a time-out.
 *
 *     real_time [ADAPTER]    over that adapter; loopback without an argument
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../examples/end.h"
#include "second_address.h"

/* Seconds after which the program is ended; it could keep its processor without limit. */
#define PATIENCE 60

static char adapter[256] = "loopback";
static char here[64], there[64];
static struct end near_end, far_end;

/* Spins until the next event, which must be of the given kind. */
static void spin(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected, DAT_EVENT *event)
{
    DAT_RETURN result;

    do
        result = dat_evd_dequeue(evd, event);
    while (DAT_GET_TYPE(result) == DAT_QUEUE_EMPTY);
    CHECK(result);
    if (event->event_number != expected) {
        printf("event %#x instead of %#x\n", (unsigned)event->event_number, (unsigned)expected);
        exit(1);
    }
}

static void request(DAT_CONN_QUAL qualifier, DAT_TIMEOUT timeout, DAT_EVENT *event)
{
    CHECK(dat_ep_connect(near_end.ep, far_end.address, qualifier, timeout, 0, NULL, DAT_QOS_BEST_EFFORT,
                         DAT_CONNECT_DEFAULT_FLAG));
    spin(far_end.request_evd, DAT_CONNECTION_REQUEST_EVENT, event);
}

static void use(void)
{
    DAT_CONN_QUAL qualifier;
    DAT_PSP_HANDLE listener;
    DAT_EVENT event;

    end_open(&near_end, adapter, here, sizeof here);
    end_open(&far_end, adapter, there, sizeof there);
    CHECK(dat_psp_create_any(far_end.ia, &qualifier, far_end.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    /* It is not answered; closing the adapter ends it. */
    request(qualifier, 1000, &event);
    spin(near_end.connect_evd, DAT_CONNECTION_EVENT_TIMED_OUT, &event);
    CHECK(dat_ep_reset(near_end.ep));
    request(qualifier, DAT_TIMEOUT_INFINITE, &event);
    CHECK(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, far_end.ep, 0, NULL));
    spin(near_end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    spin(far_end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    end_post_recv(&far_end, 0, sizeof there, 1);
    end_post_send(&near_end, 0, sizeof here, 2);
    spin(far_end.recv_evd, DAT_DTO_COMPLETION_EVENT, &event);
    spin(near_end.send_evd, DAT_DTO_COMPLETION_EVENT, &event);
    CHECK(dat_ia_close(near_end.ia, DAT_CLOSE_ABRUPT_FLAG));
    CHECK(dat_ia_close(far_end.ia, DAT_CLOSE_ABRUPT_FLAG));
}

/* Binds this process to one processor. */
static int bind_to_one(void)
{
    cpu_set_t all, one;

    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int processor = 0; CPU_COUNT(&one) == 0; processor++)
        if (CPU_ISSET(processor, &all))
            CPU_SET(processor, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
}

int main(int argc, char **argv)
{
    struct sched_param urgent = {.sched_priority = 20}, ordinary = {.sched_priority = 10};
    struct timespec patience = {PATIENCE, 0};
    sigset_t child;
    pid_t pid;
    int status;

    if (argc > 1)
        snprintf(adapter, sizeof adapter, "%s", argv[1]);
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child, NULL);
    /* The one that watches is more urgent than the one that polls. The function of musl for policies always fails. */
    if (syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &urgent) != 0) {
        printf("NOT RUN: a real-time policy needs CAP_SYS_NICE\n");
        return 0;
    }
    if (strstr(adapter, SECOND_ADDRESS) != NULL && !have_second_address()) {
        printf("NOT RUN: a second address needs CAP_NET_ADMIN and CAP_SYS_ADMIN\n");
        return 0;
    }
    pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (!bind_to_one() || syscall(SYS_sched_setscheduler, 0, SCHED_FIFO, &ordinary) != 0) {
            printf("can't begin: errno %d\n", errno);
            exit(1);
        }
        use();
        exit(0);
    }
    if (sigtimedwait(&child, NULL, &patience) < 0) {
        printf("the program has polled for %d s\n", PATIENCE);
        kill(pid, SIGKILL);
    }
    waitpid(pid, &status, 0);
    printf("status %#x\n", (unsigned)status);
    return status != 0;
}
