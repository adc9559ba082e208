/*
 * Runs a program once for each request for resources that it makes, and refuses that request, or all requests
 * from there on for a while:
 *
 *     each memory LIBRARY COUNT STEP PROGRAM [ARGUMENT]...     allocations
 *     each calls LIBRARY COUNT STEP PROGRAM [ARGUMENT]...      system calls that need something
 *     each sends LIBRARY COUNT STEP PROGRAM [ARGUMENT]...      those that send, or shut a connection down
 *     each profile LIBRARY COUNT STEP PROGRAM [ARGUMENT]...    system calls, as a security profile forbids them
 *     each forks LIBRARY COUNT STEP PROGRAM [ARGUMENT]...      nothing, and forks the program during a system call
 *
 * LIBRARY is the preloaded allocator. COUNT requests are refused, and every STEP-th request is the first of them, or
 * fewer of those that the program makes in a loop.
 * Each run must succeed. The program lives several times, with the same refusals, until one of its lives leaves no more
 * descriptors, threads, mappings and allocations than the one before.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "filter.h"

#define SECONDS 20
#define MOST_FAILURES 10

static struct page *page;

/* Runs the program; returns its status, or -1 if it hangs. */
static int run(const char *library, char **arguments)
{
    int ends[2], listener = -1, process, status;
    struct pollfd ready[2];
    time_t until;
    sigset_t none;
    pid_t child;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        die("socketpair");
    child = fork();
    if (child < 0)
        die("fork");
    if (child == 0) {
        sigemptyset(&none);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setenv("LD_PRELOAD", library, 1);
        if (page->kind != MEMORY)
            ask_parent(ends[1]);
        execv(arguments[0], arguments);
        die(arguments[0]);
    }
    close(ends[1]);
    process = (int)syscall(SYS_pidfd_open, child, 0);
    if (process < 0)
        die("pidfd_open");
    if (page->kind != MEMORY)
        listener = pass(ends[0], -1);
    /* The listener of a program that has ended reports an error only. */
    ready[0] = (struct pollfd){process, POLLIN, 0};
    ready[1] = (struct pollfd){listener, POLLIN, 0};
    until = time(NULL) + SECONDS;
    do {
        if (listener >= 0)
            end_fork(page, listener);
        /* A fork that waits for its thread is over after some time. */
        if (poll(ready, listener >= 0 ? 2 : 1, held.is_waiting ? 2 : 1000) < 0 && errno != EINTR)
            die("poll");
        if (listener >= 0 && ready[1].revents & POLLIN)
            decide(page, listener);
    } while (!(ready[0].revents & POLLIN) && time(NULL) <= until);
    if (!(ready[0].revents & POLLIN))
        kill(child, SIGABRT);
    waitpid(child, &status, 0);
    if (!(ready[0].revents & POLLIN))
        status = -1;
    close(process);
    close(ends[0]);
    if (listener >= 0)
        close(listener);
    return status;
}

static int is_more(const char *what, int now, int before)
{
    if (now > before)
        printf("%d %s are left instead of %d; ", now, what, before);
    return now > before;
}

/* The first request of the next run. The begin and the end of a loop are tried as any other place. */
static int next(int first, int step)
{
    int begin = atomic_load(&page->loop_begin), end = atomic_load(&page->loop_end);

    return first + (first >= begin + STRIDE && first + STRIDE * step <= end - STRIDE ? STRIDE * step : step);
}

/* Prints what went wrong in a run; returns whether something did. */
static int has_failed(int status)
{
    const struct holdings *left = &page->left, *before = &page->left_before;
    int is_bad;

    if (status == -1)
        return printf("the program hangs; ");
    if (WIFSIGNALED(status))
        return printf("the program ends by signal %d; ", WTERMSIG(status));
    if (status != 0)
        return printf("the exit status is %d; ", WEXITSTATUS(status));
    if (page->kind == FORKS)
        return page->fork == FORK_BAD ? printf("a child is not right; ") : 0;
    is_bad = is_more("descriptors", left->descriptors, before->descriptors);
    is_bad |= is_more("threads", left->threads, before->threads);
    is_bad |= is_more("mappings", left->mappings, before->mappings);
    is_bad |= is_more("allocations", left->allocations, before->allocations);
    return is_bad;
}

int main(int argc, char **argv)
{
    int count, step, first, failures = 0, fd = memfd_create("refusals", 0), is_last = 0, requests = 0;
    const char *library = argc > 2 ? argv[2] : NULL;
    char number[16];

    if (argc < 6) {
        fprintf(stderr, "usage: each memory|calls|sends|profile|forks LIBRARY COUNT STEP PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    count = atoi(argv[3]);
    step = atoi(argv[4]);
    snprintf(number, sizeof number, "%d", fd);
    setenv("REFUSALS_FD", number, 1);
    if (ftruncate(fd, sizeof(struct page)) != 0 || (page = find_page()) == NULL)
        die("page");
    page->kind = strcmp(argv[1], "memory") == 0 ? MEMORY
                 : strcmp(argv[1], "calls") == 0 ? CALLS_LACKING
                 : strcmp(argv[1], "sends") == 0 ? CALLS_SENDING
                 : strcmp(argv[1], "forks") == 0 ? FORKS
                                                 : CALLS_FORBIDDEN;

    /* The first run refuses nothing. */
    if (has_failed(run(library, argv + 5))) {
        printf("NOT OK: without refusals\n");
        return 1;
    }
    page->threads = page->left.threads;
    requests = page->seen;
    if (requests == 0 || page->left.allocations == 0 || page->left.threads == 0) {
        printf("NOT OK: no request is counted\n");
        return 1;
    }
    for (first = getenv("REFUSALS_FIRST") ? atoi(getenv("REFUSALS_FIRST")) : 0;
         !is_last && failures < MOST_FAILURES; first = next(first, step)) {
        page->active = page->seen = page->refused = page->error = page->allocations = 0;
        page->what[0] = '\0';
        page->fork = NO_FORK;
        held.is_waiting = 0;
        page->first = first;
        page->count = count;
        if (has_failed(run(library, argv + 5))) {
            failures++;
            printf("NOT OK: %d of %s refused from request %d on %s\n", count, argv[1], first, page->what);
            fflush(stdout);
        }
        is_last = page->refused == 0;
    }
    printf("%d requests, %d failures\n", requests, failures);
    return failures != 0;
}
