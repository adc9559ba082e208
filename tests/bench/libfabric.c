/*
 * The rows through libfabric, if it was there when this was built: reliable datagrams of its provider
 * for shared memory or for TCP, each side with a domain of its own for one thread.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "way.h"

#ifdef HAVE_LIBFABRIC

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADDRESS 512

/* A completion queue, and the number of completions that it has had. */
struct queue {
    struct fid_cq *fid;
    unsigned long done;
};

struct side_state {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *addresses;
    struct fid_ep *ep;
    struct fid_mr *outgoing, *incoming;
    struct queue sends, receives;
    unsigned long posted_sends, posted_receives;
    fi_addr_t peer;
    uint64_t remote, key; /* the peer's incoming buffer */
};
static struct side_state states[2];

struct card {
    size_t address_length;
    uint64_t incoming, key;
    char address[ADDRESS];
};

#define CHECK(call) check((call), #call)

static void check(ssize_t result, const char *call)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s: %s\n", call, fi_strerror((int)-result));
    exit(1);
}

static int fabric_fits(const struct adapter *adapter, const struct row *row)
{
    /* A target that makes no call makes no progress, and the provider for shared memory has no
     * queues to wait on. */
    return adapter->kind != LOOPBACK && row->task != CONNECT && row->task != MEMORY_TRIP &&
           !row->suppressed && !row->computing && !row->waiting;
}

static void queue_open(struct side_state *my, struct queue *queue, uint64_t direction)
{
    struct fi_cq_attr attributes = {
        .size = 4 * SLOTS, .format = FI_CQ_FORMAT_CONTEXT, .wait_obj = FI_WAIT_NONE};

    *queue = (struct queue){0};
    CHECK(fi_cq_open(my->domain, &attributes, &queue->fid, NULL));
    CHECK(fi_ep_bind(my->ep, &queue->fid->fid, direction));
}

static struct fi_info *find(const struct adapter *adapter)
{
    struct fi_info *wanted = fi_allocinfo(), *found;
    int is_tcp = adapter->kind == TCP;

    if (wanted == NULL)
        fail("fi_allocinfo");
    wanted->caps = FI_MSG | FI_RMA;
    wanted->ep_attr->type = FI_EP_RDM;
    wanted->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    wanted->domain_attr->threading = FI_THREAD_DOMAIN;
    wanted->fabric_attr->prov_name = strdup(is_tcp ? "tcp;ofi_rxm" : "shm");
    CHECK(fi_getinfo(FI_VERSION(1, 15), is_tcp ? "127.0.0.1" : NULL, NULL, is_tcp ? FI_SOURCE : 0,
                     wanted, &found));
    fi_freeinfo(wanted);
    return found;
}

static void region_open(struct side_state *my, char *buffer, uint64_t key, struct fid_mr **region)
{
    uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

    CHECK(fi_mr_reg(my->domain, buffer, sizeof buffers[0].incoming, access, 0, key, 0, region, NULL));
}

/* Both sides exchange their addresses and keys. */
static void meet(enum side me)
{
    struct side_state *my = &states[me];
    int is_virtual = (my->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0;
    struct card mine = {.address_length = ADDRESS}, its;

    CHECK(fi_getname(&my->ep->fid, mine.address, &mine.address_length));
    mine.incoming = is_virtual ? (uintptr_t)buffers[me].incoming : 0;
    mine.key = fi_mr_key(my->incoming);
    session_exchange(me, &mine, &its, sizeof mine);
    if (fi_av_insert(my->addresses, its.address, 1, &my->peer, 0, NULL) != 1)
        fail("fi_av_insert");
    my->remote = its.incoming;
    my->key = its.key;
    session_meet();
}

static void fabric_open(enum side me, const struct adapter *adapter, const struct row *row)
{
    struct side_state *my = &states[me];
    struct fi_av_attr addresses = {.type = FI_AV_UNSPEC};

    (void)row;
    memset(my, 0, sizeof *my);
    my->info = find(adapter);
    CHECK(fi_fabric(my->info->fabric_attr, &my->fabric, NULL));
    CHECK(fi_domain(my->fabric, my->info, &my->domain, NULL));
    CHECK(fi_endpoint(my->domain, my->info, &my->ep, NULL));
    queue_open(my, &my->sends, FI_TRANSMIT);
    queue_open(my, &my->receives, FI_RECV);
    CHECK(fi_av_open(my->domain, &addresses, &my->addresses, NULL));
    CHECK(fi_ep_bind(my->ep, &my->addresses->fid, 0));
    CHECK(fi_enable(my->ep));
    region_open(my, buffers[me].outgoing, 1, &my->outgoing);
    region_open(my, buffers[me].incoming, 2, &my->incoming);
    meet(me);
}

static void poll_queue(struct queue *queue)
{
    struct fi_cq_entry entries[8];
    ssize_t count = fi_cq_read(queue->fid, entries, 8);

    if (count > 0)
        queue->done += count;
    else if (count != -FI_EAGAIN)
        check(count, "fi_cq_read");
}

static void poll_queues(struct side_state *my)
{
    poll_queue(&my->sends);
    poll_queue(&my->receives);
}

/* Repeats a post until the provider takes it. */
#define POST(my, call)                       \
    do {                                     \
        ssize_t posted;                      \
        while ((posted = (call)) == -FI_EAGAIN) \
            poll_queues(my);                 \
        check(posted, #call);                \
    } while (0)

static void post_send(enum side me, const struct row *row, unsigned long at)
{
    struct side_state *my = &states[me];
    char *from = slot_of(buffers[me].outgoing, row, at);

    POST(my, fi_send(my->ep, from, row->size, fi_mr_desc(my->outgoing), my->peer, NULL));
    my->posted_sends++;
}

static void post_receive(enum side me, const struct row *row, unsigned long at)
{
    struct side_state *my = &states[me];
    char *to = slot_of(buffers[me].incoming, row, at);

    POST(my, fi_recv(my->ep, to, row->size, fi_mr_desc(my->incoming), FI_ADDR_UNSPEC, NULL));
    my->posted_receives++;
}

static void round_trips(enum side me, const struct row *row, unsigned long times)
{
    struct side_state *my = &states[me];

    for (unsigned long at = 0; at < times; at++) {
        post_receive(me, row, 0);
        if (me == NEAR)
            post_send(me, row, 0);
        while (my->receives.done < my->posted_receives)
            poll_queue(&my->receives);
        if (me == FAR)
            post_send(me, row, 0);
        while (my->sends.done < my->posted_sends)
            poll_queue(&my->sends);
    }
}

static void stream(enum side me, const struct row *row, unsigned long times)
{
    struct side_state *my = &states[me];

    for (unsigned long at = 0; me == NEAR && at < times; at++) {
        while (my->posted_sends - my->sends.done >= row->window)
            poll_queues(my);
        post_send(me, row, at);
    }
    for (unsigned long at = 0; me == FAR && at < times; at++) {
        while (my->posted_receives - my->receives.done >= row->receives)
            poll_queues(my);
        post_receive(me, row, at);
    }
    while (my->sends.done < my->posted_sends || my->receives.done < my->posted_receives)
        poll_queues(my);
}

/* A write completes when the target can see it. */
static void move(enum side me, const struct row *row, unsigned long times)
{
    struct side_state *my = &states[me];
    struct iovec here = {buffers[me].outgoing, row->size};
    struct fi_rma_iov there = {my->remote, row->size, my->key};
    void *desc = fi_mr_desc(my->outgoing);
    struct fi_msg_rma message = {
        .msg_iov = &here, .desc = &desc, .iov_count = 1, .addr = my->peer, .rma_iov = &there,
        .rma_iov_count = 1};

    for (unsigned long at = 0; at < times; at++) {
        if (row->task == READ)
            POST(my, fi_readmsg(my->ep, &message, FI_COMPLETION));
        else
            POST(my, fi_writemsg(my->ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE));
        my->posted_sends++;
        while (my->sends.done < my->posted_sends)
            poll_queue(&my->sends);
    }
}

static void fabric_run(enum side me, const struct row *row, unsigned long times)
{
    if (row->task == ROUND_TRIP)
        round_trips(me, row, times);
    else if (row->task == STREAM)
        stream(me, row, times);
    else if (me == NEAR)
        move(me, row, times);
    else
        while (!session_peer_ended(me))
            poll_queues(&states[me]);
}

static void fabric_close(enum side me, const struct row *row)
{
    struct side_state *my = &states[me];
    struct fid *const all[] = {&my->ep->fid,       &my->outgoing->fid,      &my->incoming->fid,
                               &my->addresses->fid, &my->sends.fid->fid,     &my->receives.fid->fid,
                               &my->domain->fid,    &my->fabric->fid};

    (void)row;
    session_meet();
    for (size_t at = 0; at < sizeof all / sizeof all[0]; at++)
        fi_close(all[at]);
    fi_freeinfo(my->info);
}

const struct way by_libfabric = {"libfabric", 0, fabric_fits, fabric_open, fabric_run, fabric_close};

#endif
