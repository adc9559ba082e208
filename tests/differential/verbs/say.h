/* Results, errno and completions as text, in the output of cases. SPDX-License-Identifier: MIT OR Apache-2.0 */

#include "../cases.h"

#include <errno.h>
#include <poll.h>
#include <time.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

static const char *error_name(int value)
{
    static const struct word names[] = {
        {EPERM, "EPERM"}, {ENOENT, "ENOENT"}, {EINTR, "EINTR"}, {EIO, "EIO"}, {EBADF, "EBADF"}, {EAGAIN, "EAGAIN"},
        {ENOMEM, "ENOMEM"}, {EACCES, "EACCES"}, {EFAULT, "EFAULT"}, {EBUSY, "EBUSY"}, {EEXIST, "EEXIST"},
        {ENODEV, "ENODEV"}, {EINVAL, "EINVAL"}, {ENOSPC, "ENOSPC"}, {ENOSYS, "ENOSYS"}, {ENODATA, "ENODATA"},
        {EOVERFLOW, "EOVERFLOW"}, {EPROTO, "EPROTO"}, {EDESTADDRREQ, "EDESTADDRREQ"}, {EMSGSIZE, "EMSGSIZE"},
        {EOPNOTSUPP, "EOPNOTSUPP"}, {EAFNOSUPPORT, "EAFNOSUPPORT"}, {EADDRINUSE, "EADDRINUSE"},
        {EADDRNOTAVAIL, "EADDRNOTAVAIL"}, {ENETUNREACH, "ENETUNREACH"}, {ECONNABORTED, "ECONNABORTED"},
        {ECONNRESET, "ECONNRESET"}, {EISCONN, "EISCONN"}, {ENOTCONN, "ENOTCONN"}, {ETIMEDOUT, "ETIMEDOUT"},
        {ECONNREFUSED, "ECONNREFUSED"}, {EHOSTUNREACH, "EHOSTUNREACH"}, {EALREADY, "EALREADY"},
        {EPROTONOSUPPORT, "EPROTONOSUPPORT"}, {ENOPROTOOPT, "ENOPROTOOPT"}, {ENXIO, "ENXIO"}, {0, "0"}, {0, NULL}};

    return word(names, value);
}

/* The result of a call that returns 0 or an error number, or -1 and sets errno. */
static const char *result(int value)
{
    static char text[64];

    if (value == 0)
        return "ok";
    if (value == -1)
        snprintf(text, sizeof text, "-1 %s", error_name(errno));
    else
        snprintf(text, sizeof text, "%s", error_name(value < 0 ? -value : value));
    return text;
}

/* The result of a call that returns an object, or NULL and sets errno. */
static const char *object(const void *value)
{
    static char text[64];

    if (value != NULL)
        return "ok";
    snprintf(text, sizeof text, "NULL %s", error_name(errno));
    return text;
}

/* A case that is one call; errno is that of the call. */
#define TRY(call, ...)                        \
    do {                                      \
        if (begins(__VA_ARGS__)) {            \
            errno = 0;                        \
            say("", "%s", result(call));      \
        }                                     \
    } while (0)

/* A case that creates an object, which DESTROY then destroys. */
#define TRY_OBJECT(type, create, destroy, ...)     \
    do {                                           \
        if (begins(__VA_ARGS__)) {                 \
            type *made;                            \
            errno = 0;                             \
            made = (create);                       \
            say("", "%s", object(made));           \
            if (made != NULL)                      \
                (void)destroy(made);               \
        }                                          \
    } while (0)

/* For the setup of a group: ends the group if it fails. */
static void must(int is_so, const char *what)
{
    if (is_so)
        return;
    printf("%s: cannot go on = %s: %s\n", progress->group, what, error_name(errno));
    fflush(stdout);
    _exit(0);
}
#define MUST(what) must((what), #what)

static void pause_for(int milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000L};

    nanosleep(&time, NULL);
}

static const char *opcode(int value)
{
    static const struct word names[] = {
        {IBV_WC_SEND, "SEND"}, {IBV_WC_RDMA_WRITE, "RDMA_WRITE"}, {IBV_WC_RDMA_READ, "RDMA_READ"},
        {IBV_WC_COMP_SWAP, "COMP_SWAP"}, {IBV_WC_FETCH_ADD, "FETCH_ADD"}, {IBV_WC_BIND_MW, "BIND_MW"},
        {IBV_WC_LOCAL_INV, "LOCAL_INV"}, {IBV_WC_RECV, "RECV"}, {IBV_WC_RECV_RDMA_WITH_IMM, "RECV_RDMA_WITH_IMM"},
        {0, NULL}};

    return word(names, value);
}

/* A completion. Of one that failed, only these fields are defined. */
static void say_completion(const char *part, const struct ibv_wc *wc)
{
    if (wc->status != IBV_WC_SUCCESS)
        say(part, "%s", ibv_wc_status_str(wc->status));
    else if (wc->opcode & IBV_WC_RECV)
        /* Some drivers say that there is a GRH where it is not in the receive. */
        say(part, "success, %s, %u bytes, flags %#x, immediate %#x", opcode(wc->opcode), wc->byte_len, wc->wc_flags & ~(unsigned)IBV_WC_GRH,
            wc->wc_flags & IBV_WC_WITH_IMM ? ntohl(wc->imm_data) : 0);
    else if (wc->opcode == IBV_WC_RDMA_READ)
        say(part, "success, %s, %u bytes", opcode(wc->opcode), wc->byte_len);
    else
        say(part, "success, %s", opcode(wc->opcode));
}

/* Polls until there is a completion, or for some time. */
static int next_completion(struct ibv_cq *cq, struct ibv_wc *wc, int milliseconds)
{
    for (int waited = 0;; waited++) {
        int count = ibv_poll_cq(cq, 1, wc);

        if (count != 0 || waited >= milliseconds)
            return count;
        pause_for(1);
    }
}

/* Prints the next completion, or that there is none. */
static void say_next(const char *part, struct ibv_cq *cq, int milliseconds)
{
    struct ibv_wc wc;
    int count = next_completion(cq, &wc, milliseconds);

    if (count == 1)
        say_completion(part, &wc);
    else
        say(part, count == 0 ? "none" : "the poll fails");
}
