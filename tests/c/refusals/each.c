/*
 * Runs a program once for each request for resources that it makes, and refuses that request, or all requests
 * from there on for a while:
 *
 *     each memory LIBRARY COUNT STEP PROGRAM [ARGUMENT]...   allocations, by the preloaded library
 *     each calls - COUNT STEP PROGRAM [ARGUMENT]...          system calls, by a filter
 *
 * COUNT requests are refused, and every STEP-th request is the first of them. Each run must succeed, and must
 * end with no more descriptors and threads than the run in which nothing is refused.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "page.h"

#define SECONDS 20
#define MOST_FAILURES 10

/* The system calls that give a process something, and how they fail. */
static const struct {
    int number, error;
} calls[] = {
    {SYS_mmap, ENOMEM},        {SYS_clone3, EAGAIN},      {SYS_eventfd2, EMFILE},
    {SYS_epoll_create1, EMFILE}, {SYS_epoll_ctl, ENOSPC}, {SYS_socket, EMFILE},
    {SYS_memfd_create, ENFILE}, {SYS_accept4, EMFILE},
};
#define CALLS (sizeof calls / sizeof *calls)

static struct page *page;

static void die(const char *what)
{
    perror(what);
    exit(2);
}

/* Sends or receives a descriptor. */
static int pass(int socket, int descriptor)
{
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control;
    char byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {0};

    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = &control;
    message.msg_controllen = sizeof control;
    if (descriptor < 0) {
        if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1)
            die("recvmsg");
        memcpy(&descriptor, CMSG_DATA(&control.header), sizeof descriptor);
        return descriptor;
    }
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &descriptor, sizeof descriptor);
    if (sendmsg(socket, &message, 0) != 1)
        die("sendmsg");
    return descriptor;
}

/* From here on, each of the system calls waits for the parent's decision. */
static void ask_parent(int socket)
{
    struct sock_filter rules[2 + CALLS + 1];
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};
    size_t at;
    int listener;

    rules[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                            offsetof(struct seccomp_data, nr));
    for (at = 0; at < CALLS; at++)
        rules[1 + at] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                     (unsigned)calls[at].number,
                                                     (unsigned char)(CALLS - at), 0);
    rules[1 + CALLS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    rules[2 + CALLS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        die("no_new_privs");
    listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
                            &filter);
    if (listener < 0)
        die("seccomp");
    pass(socket, listener);
    close(listener);
}

/* Decides about one system call. */
static void decide(int listener)
{
    struct seccomp_notif request;
    struct seccomp_notif_resp answer;
    size_t at;

    memset(&request, 0, sizeof request);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
        return;
    memset(&answer, 0, sizeof answer);
    answer.id = request.id;
    answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    /* Of the operations of epoll_ctl, only additions need something. */
    if ((request.data.nr != SYS_epoll_ctl || request.data.args[1] == EPOLL_CTL_ADD) &&
        is_refused(page))
        for (at = 0; at < CALLS; at++)
            if (calls[at].number == request.data.nr) {
                answer.flags = 0;
                answer.error = -calls[at].error;
                if (getenv("REFUSALS_SHOW"))
                    fprintf(stderr, "refused: system call %d\n", request.data.nr);
            }
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

/* Runs the program; returns its status, or -1 if it hangs. */
static int run(const char *library, char **arguments)
{
    int ends[2], listener = -1, status;
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
        if (library != NULL)
            setenv("LD_PRELOAD", library, 1);
        else
            ask_parent(ends[1]);
        execv(arguments[0], arguments);
        die(arguments[0]);
    }
    close(ends[1]);
    if (library == NULL)
        listener = pass(ends[0], -1);
    until = time(NULL) + SECONDS;
    /* The other end of the pair is closed by exec, and `ready[1]` is not used without a filter. */
    while (waitpid(child, &status, WNOHANG) == 0) {
        ready[0] = (struct pollfd){listener, POLLIN, 0};
        if (listener < 0)
            usleep(1000);
        else if (poll(ready, 1, 2) > 0 && ready[0].revents & POLLIN)
            decide(listener);
        if (time(NULL) > until) {
            kill(child, SIGABRT);
            waitpid(child, &status, 0);
            status = -1;
            break;
        }
    }
    close(ends[0]);
    if (listener >= 0)
        close(listener);
    return status;
}

int main(int argc, char **argv)
{
    int count, step, first, status, failures = 0, fd = memfd_create("refusals", 0);
    int descriptors, threads, requests;
    const char *library;
    char number[16];

    if (argc < 6) {
        fprintf(stderr, "usage: each memory|calls LIBRARY COUNT STEP PROGRAM [ARGUMENT]...\n");
        return 2;
    }
    library = strcmp(argv[1], "memory") == 0 ? argv[2] : NULL;
    count = atoi(argv[3]);
    step = atoi(argv[4]);
    snprintf(number, sizeof number, "%d", fd);
    setenv("REFUSALS_FD", number, 1);
    if (ftruncate(fd, sizeof(struct page)) != 0 || (page = find_page()) == NULL)
        die("page");

    /* The first run that is not the program's own refuses nothing, and shows what is left at its end. */
    if (run(library, argv + 5) != 0) {
        printf("NOT OK: the program fails without refusals\n");
        return 1;
    }
    requests = atomic_load(&page->seen);
    descriptors = atomic_load(&page->descriptors);
    threads = atomic_load(&page->threads);
    if (requests == 0) {
        printf("NOT OK: no request is counted\n");
        return 1;
    }
    for (first = getenv("REFUSALS_FIRST") ? atoi(getenv("REFUSALS_FIRST")) : 0;
         failures < MOST_FAILURES; first += step) {
        atomic_store(&page->active, 0);
        atomic_store(&page->seen, 0);
        atomic_store(&page->refused, 0);
        atomic_store(&page->first, first);
        atomic_store(&page->count, count);
        atomic_store(&page->threads, threads);
        atomic_store(&page->descriptors, descriptors);
        status = run(library, argv + 5);
        if (status != 0) {
            failures++;
            printf("NOT OK: %d of %s from request %d on: %s %d\n", count, argv[1], first,
                   status == -1       ? "the program hangs"
                   : WIFSIGNALED(status) ? "ended by signal"
                                         : "exit status",
                   status == -1 ? SECONDS : WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        } else if (atomic_load(&page->threads) > threads ||
                   atomic_load(&page->descriptors) > descriptors) {
            failures++;
            printf("NOT OK: %d of %s from request %d on: %d descriptors and %d threads are left, not %d "
                   "and %d\n",
                   count, argv[1], first, atomic_load(&page->descriptors),
                   atomic_load(&page->threads), descriptors, threads);
        }
        fflush(stdout);
        if (atomic_load(&page->refused) == 0 && status == 0)
            break;
    }
    printf("%d requests, %d failures\n", requests, failures);
    return failures != 0;
}
