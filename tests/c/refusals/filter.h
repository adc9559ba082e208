/*
 * The system calls that the library makes and that can fail, and a filter that lets the parent of the program
 * decide about each of them.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef FILTER_H
#define FILTER_H

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "page.h"

/* Each call fails for a lack of something (0: it needs nothing), and can be forbidden by a profile. */
static const struct {
    const char *name;
    int number, lack, is_forbidden;
} calls[] = {
#define CALL(name, lack, is_forbidden) {#name, SYS_##name, lack, is_forbidden}
    /* The kernel and the C library cannot do without memory, threads and files. */
    CALL(mmap, ENOMEM, 0),
    CALL(mprotect, ENOMEM, 0),
    CALL(clone3, EAGAIN, 1),
    CALL(openat, EMFILE, 1),
    CALL(read, ENOMEM, 1),
    CALL(fstat, ENOMEM, 1),
    CALL(newfstatat, ENOMEM, 1),
    CALL(statx, ENOMEM, 1),
    CALL(madvise, EAGAIN, 1),
    CALL(membarrier, ENOMEM, 1),
    CALL(prlimit64, 0, 1),
    CALL(prctl, 0, 1),
    CALL(getrandom, 0, 1),
    CALL(sched_getaffinity, 0, 1),
    CALL(sched_setaffinity, 0, 1),
    CALL(sched_setscheduler, 0, 1),
    CALL(sched_getattr, 0, 1),
    CALL(sched_setattr, 0, 1),
    CALL(process_vm_readv, ENOMEM, 1),
    CALL(process_vm_writev, ENOMEM, 1),
    CALL(memfd_create, ENFILE, 1),
    CALL(ftruncate, ENOMEM, 1),
    CALL(fcntl, ENOMEM, 1),
    CALL(eventfd2, EMFILE, 1),
    CALL(epoll_create1, EMFILE, 1),
    /* EPERM says that the descriptor denotes another file. */
    CALL(epoll_ctl, ENOSPC, 0),
    CALL(pipe2, EMFILE, 1),
    CALL(ppoll, ENOMEM, 1),
    CALL(socket, EMFILE, 1),
    CALL(bind, ENOMEM, 1),
    CALL(listen, ENOMEM, 1),
    CALL(connect, ENOBUFS, 1),
    CALL(accept4, EMFILE, 1),
    CALL(setsockopt, ENOMEM, 1),
    CALL(getsockopt, ENOBUFS, 1),
    /* If it fails after recvmsg, the C library ends a program that lists the interfaces. */
    CALL(getsockname, 0, 1),
    CALL(getpeername, ENOBUFS, 1),
    CALL(shutdown, ENOBUFS, 1),
    CALL(sendmsg, ENOBUFS, 1),
    CALL(sendto, ENOBUFS, 1),
    CALL(recvmsg, ENOMEM, 1),
    CALL(recvfrom, ENOMEM, 1),
#undef CALL
};
#define CALLS (sizeof calls / sizeof *calls)

static inline void die(const char *what)
{
    perror(what);
    exit(2);
}

/* Sends or receives a descriptor. */
static inline int pass(int socket, int descriptor)
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
    /* `sendmsg` waits for the parent, which waits for the descriptor. */
    if (syscall(SYS_sendmmsg, socket, &(struct mmsghdr){message, 0}, 1, 0) != 1)
        die("sendmmsg");
    return descriptor;
}

/* From here on, each of the system calls waits for the parent's decision. */
static inline void ask_parent(int socket)
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

/* A connection whose bytes the system does not send must end, even if the system does not shut it down either. */
static inline int is_sending(int number)
{
    return number == SYS_sendmsg || number == SYS_sendto || number == SYS_shutdown;
}

/* The error of a call that is refused, or 0 if the page says to let it pass; any error if the program forks. */
static inline int error_of(struct page *page, const struct seccomp_data *data)
{
    size_t at;

    for (at = 0; at < CALLS; at++) {
        int error = page->kind == CALLS_FORBIDDEN ? (calls[at].is_forbidden ? EPERM : 0) : calls[at].lack;

        if (calls[at].number != data->nr || (error == 0 && page->kind != FORKS) ||
            (page->kind == CALLS_SENDING && !is_sending(calls[at].number)))
            continue;
        /* Of the operations of epoll_ctl, only additions need something. */
        if ((data->nr == SYS_epoll_ctl && data->args[1] != EPOLL_CTL_ADD) || !is_refused(page))
            return 0;
        snprintf(page->what, sizeof page->what, "%s", calls[at].name);
        return page->kind == FORKS ? EINTR : error;
    }
    return 0;
}

/* How long a system call waits for a fork, which may have to wait for its thread. */
#define FORK_MILLISECONDS 50

/* The call during which the program forks, and until when it waits. */
static struct {
    struct seccomp_notif_resp answer;
    struct timespec until;
    int is_waiting;
} held;

/* Lets the call continue during which the program forks, once the fork is over or waits for the call. */
static inline void end_fork(struct page *page, int listener)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    if (held.is_waiting && (atomic_load(&page->fork) != FORK_REQUESTED || now.tv_sec > held.until.tv_sec ||
                            (now.tv_sec == held.until.tv_sec && now.tv_nsec > held.until.tv_nsec))) {
        ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &held.answer);
        held.is_waiting = 0;
    }
}

static inline void begin_fork(struct page *page, struct seccomp_notif_resp answer)
{
    held.answer = answer;
    held.is_waiting = 1;
    clock_gettime(CLOCK_MONOTONIC, &held.until);
    held.until.tv_nsec += FORK_MILLISECONDS * 1000000;
    held.until.tv_sec += held.until.tv_nsec / 1000000000;
    held.until.tv_nsec %= 1000000000;
    atomic_store(&page->fork, FORK_REQUESTED);
}

/* Decides about one system call. */
static inline void decide(struct page *page, int listener)
{
    struct seccomp_notif request;
    struct seccomp_notif_resp answer;
    int error;

    memset(&request, 0, sizeof request);
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &request) != 0)
        return;
    memset(&answer, 0, sizeof answer);
    answer.id = request.id;
    error = error_of(page, &request.data);
    if (error == 0 || page->kind == FORKS)
        answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        answer.error = -error;
    if (error != 0 && page->kind == FORKS) {
        begin_fork(page, answer);
        return;
    }
    if (error != 0)
        atomic_store(&page->error, error);
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
}

#endif
