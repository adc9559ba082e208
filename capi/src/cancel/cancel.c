/*
 * The code in which a C thread can be cancelled (pthread_cancel(3)) inside the libraries, and the
 * code that runs the consumer's proxy agent. It is written in C because both can unwind the stack,
 * and C frames can have the clean-up handlers that are needed then.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
/*
 * So that <pthread.h> has the C library keep the clean-up handlers. It calls them even if the unwinder stops before it
 * reaches their frames, at an interrupted instruction without an unwind table; a procedure linkage table has none on arm64.
 */
#undef __EXCEPTIONS
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cancel.h"

/* linux/futex.h defines it, but some toolchains, such as Debian's musl-gcc, have no headers of the kernel. */
#define FUTEX_WAIT_PRIVATE 128
/* It has this number on every processor, and is younger than some C libraries. */
#define SYS_FUTEX_WAITV 449

/*
 * The one system call that a cancellation interrupts. The cancel type is asynchronous during the
 * call, because futex(2) is not a cancellation point in any C library. The frame holds no resource:
 * whichever instruction is interrupted, there is nothing to undo. It is separate from the frame with
 * the clean-up handler, so that the latter is always inside a call.
 */
static __attribute__((noinline)) int block(struct dats_sleep *sleep)
{
    const struct timespec *limit = sleep->has_limit ? &sleep->limit : NULL;
    int result, error;

    pthread_setcancelstate(sleep->cancel_state, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    if (sleep->kind == DATS_WORD)
        result = (int)syscall(SYS_futex, sleep->word, FUTEX_WAIT_PRIVATE, sleep->seen, limit);
    else if (sleep->kind == DATS_WORDS)
        result = (int)syscall(SYS_FUTEX_WAITV, sleep->words, 2, 0, sleep->has_limit ? &sleep->until : NULL,
                              CLOCK_MONOTONIC);
    else
        result = ppoll(sleep->fds, 2, limit, NULL);
    error = errno;
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    return result < 0 ? -error : result;
}

int dats_sleep(struct dats_sleep *sleep, void (*give_up)(void *), void *wait)
{
    int result;

    pthread_cleanup_push(give_up, wait);
    result = block(sleep);
    pthread_cleanup_pop(0);

    if (sleep->kind != DATS_DESCRIPTORS && result == -ETIMEDOUT)
        return DATS_TIMED_OUT;
    if (sleep->kind == DATS_WORD)
        return DATS_WOKEN;
    if (sleep->kind == DATS_WORDS)
        return result >= 0 || result == -EAGAIN || result == -EINTR ? DATS_WOKEN : DATS_UNAVAILABLE;
    if (result == 0)
        return DATS_TIMED_OUT;
    if (result == -EINTR || ((sleep->fds[0].revents | sleep->fds[1].revents) & POLLIN) != 0)
        return DATS_WOKEN;
    return DATS_UNAVAILABLE;
}

/* Ends the process if the agent was left by a C++ exception or by the end of its thread. */
static void left(const int *returned)
{
    static const char words[] =
        "libdat: a proxy agent was left by an exception or by the end of its thread; it has to "
        "return\n";

    if (*returned)
        return;
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0)
        abort();
    abort();
}

void dats_run_agent(void (*agent)(void *, void *), void *data, void *evd)
{
    __attribute__((cleanup(left))) int returned = 0;
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    agent(data, evd);
    returned = 1;
    pthread_setcancelstate(state, NULL);
}
