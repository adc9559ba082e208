/*
 * pthread_cancel of a thread that is interrupted in code without unwind tables, such as the stubs of a procedure linkage
 * table, which have none on arm64: the unwinder stops there, but the wait is abandoned all the same, and another thread can
 * wait.
 *
 *     cancel_anywhere [ADAPTER]    over that adapter; shm without an argument
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../examples/end.h"

/* The functions of this file have tables for debuggers only. */
__asm__(".cfi_sections .debug_frame");

#define ROUNDS 20

static int volatile sleeps;

/* Replaces ppoll(2) of the C library in this program and the libraries. */
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *limit, const sigset_t *mask)
{
    int result;

    sleeps = 1;
    result = (int)syscall(SYS_ppoll, fds, count, limit, mask, _NSIG / 8);
    sleeps = 0;
    return result;
}

static int cleaned;

static void clean(void *unused)
{
    (void)unused;
    cleaned++;
}

static DAT_RETURN wait_for(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout)
{
    DAT_EVENT event;
    DAT_COUNT more;

    return dat_evd_wait(evd, timeout, 1, &event, &more);
}

static void *wait_on(void *evd)
{
    pthread_cleanup_push(clean, NULL);
    wait_for(evd, DAT_TIMEOUT_INFINITE);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Returns whether the thread ended as a cancelled one and left nothing behind. */
static int round_of(DAT_EVD_HANDLE evd)
{
    struct timespec limit;
    pthread_t thread;
    void *result = NULL;
    DAT_RETURN again;

    sleeps = 0;
    cleaned = 0;
    if (pthread_create(&thread, NULL, wait_on, evd) != 0)
        exit(2);
    for (int tries = 0; !sleeps; tries++) {
        if (tries == 30000) {
            printf("the thread does not sleep on descriptors\n");
            exit(1);
        }
        usleep(1000);
    }
    usleep(1000);
    pthread_cancel(thread);
    clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_sec += 30;
    if (pthread_timedjoin_np(thread, &result, &limit) != 0) {
        printf("the cancelled thread does not end\n");
        exit(1);
    }
    again = wait_for(evd, 1000);
    if (result == PTHREAD_CANCELED && cleaned == 1 && DAT_GET_TYPE(again) == DAT_TIMEOUT_EXPIRED)
        return 1;
    printf("cancelled: %d, cleaned: %d, the next wait: %#x\n", result == PTHREAD_CANCELED, cleaned, (unsigned)again);
    return 0;
}

int main(int argc, char **argv)
{
    static char memory[64];
    char adapter[256] = "shm";
    int failures = 0;
    struct end end;

    if (argc > 1)
        snprintf(adapter, sizeof adapter, "%s", argv[1]);
    end_open(&end, adapter, memory, sizeof memory);
    for (int round = 0; round < ROUNDS; round++)
        failures += !round_of(end.recv_evd);
    CHECK(dat_ia_close(end.ia, DAT_CLOSE_ABRUPT_FLAG));
    printf("%d rounds, %d failures\n", ROUNDS, failures);
    return failures != 0;
}
