/*
 * Where a thread of C can be cancelled (pthread_cancel(3)) inside the libraries, and where the
 * consumer's proxy agent runs. These are C because both can end in an unwinding of the stack, and
 * what has to be done then is done by frames that are made for it.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <errno.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cancel.h"

/*
 * The one system call that a cancellation interrupts. The type is asynchronous for its time, since
 * no C library makes a cancellation point of futex(2), and nothing is held then: whichever
 * instruction is interrupted, there is nothing to undo in this frame. Apart from the frame that has
 * the clean-up handler, so that the handler's frame is always in a call.
 */
static __attribute__((noinline)) int block(struct dats_sleep *sleep)
{
    const struct timespec *limit = sleep->has_limit ? &sleep->limit : NULL;
    int result, error;

    pthread_setcancelstate(sleep->cancel_state, NULL);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    if (sleep->word != NULL)
        result = (int)syscall(SYS_futex, sleep->word, FUTEX_WAIT_PRIVATE, sleep->seen, limit);
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

    if (sleep->word != NULL)
        return result == -ETIMEDOUT ? DATS_TIMED_OUT : DATS_WOKEN;
    if (result == 0)
        return DATS_TIMED_OUT;
    if (result == -EINTR || sleep->fds[0].revents != 0 || (sleep->fds[1].revents & POLLIN) != 0)
        return DATS_WOKEN;
    return DATS_UNAVAILABLE;
}

/* An exception of C++, or the end of the thread, left the agent. */
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
