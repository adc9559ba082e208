/*
 * The calls of verbs whose instructions `verbs` counts: between two connected queue pairs of one process over shared
 * memory, by one thread. It connects them by number, and runs each operation many times for a short while: the thread of
 * the library reads the connection now and then, so the least of the runs counts.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIZE 64
#define DEPTH 32
#define RUNS 40
#define TIMES 200
#define COUNTED __attribute__((noinline, noclone))

struct end {
    struct ibv_cq *sent, *received;
    struct ibv_qp *qp;
};

static char memory[2 * SIZE];
static struct ibv_mr *region;
static struct end near_end, far_end;

static void check(int is_right, const char *call)
{
    if (!is_right) {
        perror(call);
        exit(1);
    }
}

static void create(struct end *end, struct ibv_context *context, struct ibv_pd *domain)
{
    struct ibv_qp_init_attr init = {
        .cap = {.max_send_wr = DEPTH, .max_recv_wr = DEPTH, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = SIZE},
        .qp_type = IBV_QPT_RC,
    };
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};

    check((init.send_cq = end->sent = ibv_create_cq(context, DEPTH, NULL, NULL, 0)) != NULL, "ibv_create_cq");
    check((init.recv_cq = end->received = ibv_create_cq(context, DEPTH, NULL, NULL, 0)) != NULL, "ibv_create_cq");
    check((end->qp = ibv_create_qp(domain, &init)) != NULL, "ibv_create_qp");
    check(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0,
          "ibv_modify_qp");
}

static void connect_to(struct end *end, const struct end *peer, const union ibv_gid *gid)
{
    struct ibv_qp_attr attr = {
        .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024, .dest_qp_num = peer->qp->qp_num, .max_dest_rd_atomic = 1,
        .min_rnr_timer = 12, .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = *gid, .hop_limit = 1}}};

    check(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0, "ibv_modify_qp");
    attr = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .max_rd_atomic = 1};
    check(ibv_modify_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                        IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) == 0, "ibv_modify_qp");
}

static COUNTED int poll_queue(struct ibv_cq *queue, struct ibv_wc *done)
{
    return ibv_poll_cq(queue, 1, done);
}

static COUNTED int post_receive(struct end *end, struct ibv_recv_wr *receive)
{
    struct ibv_recv_wr *bad;

    return ibv_post_recv(end->qp, receive, &bad);
}

static COUNTED int post_request(struct end *end, struct ibv_send_wr *request)
{
    struct ibv_send_wr *bad;

    return ibv_post_send(end->qp, request, &bad);
}

/* Takes a completion if there is one, and says whether there was. */
static inline __attribute__((always_inline)) int take(struct ibv_cq *queue)
{
    struct ibv_wc done;
    int count = poll_queue(queue, &done);

    if (count < 0 || (count > 0 && done.status != IBV_WC_SUCCESS)) {
        fprintf(stderr, "a completion has the status %d\n", done.status);
        exit(1);
    }
    return count;
}

COUNTED void verbs_empty_poll(unsigned long times)
{
    for (unsigned long at = 0; at < times; at++)
        if (take(near_end.sent))
            exit(1);
}

/* Posts a receive again as soon as it has completed, so that the sender never lacks one. */
COUNTED void verbs_send(unsigned long times)
{
    struct ibv_sge source = {.addr = (uintptr_t)memory, .length = SIZE};
    struct ibv_sge target = {.addr = (uintptr_t)memory + SIZE, .length = SIZE, .lkey = region->lkey};
    struct ibv_send_wr send = {.sg_list = &source, .num_sge = 1, .opcode = IBV_WR_SEND,
                               .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};
    struct ibv_recv_wr receive = {.sg_list = &target, .num_sge = 1};
    unsigned long posted = 0, sent = 0, received = 0, done = 0;

    while (done < times || received < times) {
        while (posted < times && posted - received < DEPTH) {
            check(post_receive(&far_end, &receive) == 0, "ibv_post_recv");
            posted++;
        }
        if (sent < posted && sent - done < DEPTH / 2) {
            check(post_request(&near_end, &send) == 0, "ibv_post_send");
            sent++;
        }
        received += take(far_end.received);
        done += take(near_end.sent);
    }
}

COUNTED void verbs_write(unsigned long times)
{
    struct ibv_sge source = {.addr = (uintptr_t)memory, .length = SIZE, .lkey = region->lkey};
    struct ibv_send_wr write = {.sg_list = &source, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
                                .send_flags = IBV_SEND_SIGNALED,
                                .wr.rdma = {.remote_addr = (uintptr_t)memory + SIZE, .rkey = region->rkey}};

    for (unsigned long at = 0; at < times; at++) {
        check(post_request(&near_end, &write) == 0, "ibv_post_send");
        while (!take(near_end.sent))
            ;
    }
}

int main(void)
{
    void (*const operations[])(unsigned long) = {verbs_empty_poll, verbs_send, verbs_write};
    struct ibv_device **devices = ibv_get_device_list(NULL);
    struct ibv_context *context;
    struct ibv_pd *domain;
    union ibv_gid gid;

    check(devices != NULL && devices[0] != NULL, "ibv_get_device_list");
    check((context = ibv_open_device(devices[0])) != NULL, "ibv_open_device");
    check((domain = ibv_alloc_pd(context)) != NULL, "ibv_alloc_pd");
    check((region = ibv_reg_mr(domain, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)) != NULL,
          "ibv_reg_mr");
    check(ibv_query_gid(context, 1, 0, &gid) == 0, "ibv_query_gid");
    create(&near_end, context, domain);
    create(&far_end, context, domain);
    connect_to(&near_end, &far_end, &gid);
    connect_to(&far_end, &near_end, &gid);
    verbs_send(1); /* until they are connected */
    for (size_t at = 0; at < sizeof operations / sizeof *operations; at++)
        for (int run = 0; run < RUNS; run++)
            operations[at](TIMES);
    return 0;
}
