/* Requests between two queue pairs of this process: results at both sides. SPDX-License-Identifier: MIT OR Apache-2.0 */

/* What is wrong with a request, or with the side that executes it. */
enum flaw {
    NONE, REMOTE_KEY, REMOTE_DOMAIN, REMOTE_RANGE, REMOTE_READ_ONLY, REMOTE_WRITE_ONLY, PAIR_WITHOUT_ACCESS, UNALIGNED, SHORT_RECEIVE,
    RECEIVE_KEY, RECEIVE_LOCAL_ONLY, NO_RECEIVE, NO_BYTES, PEER_DESTROYED, PEER_ERROR, FLAWS
};
static const char *const flaws[FLAWS] = {
    "nothing wrong", "wrong key", "key of another domain", "past the region", "region to read", "region to write", "queue pair without access",
    "not aligned", "receive too short", "wrong key of the receive", "receive to a region without local write", "no receive", "no bytes",
    "peer destroyed", "peer in the error state"};

static void say_state(const char *name, struct ibv_qp *qp)
{
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;

    say(name, "%s", ibv_query_qp(qp, &attr, IBV_QP_STATE, &init) == 0 ? state_name(attr.qp_state) : "no answer");
}

/* A transfer and one after it, over a connection. */
static void transfer(int type, int kind, enum flaw flaw, struct ibv_mr *other, struct ibv_mr *readable, struct ibv_mr *writable)
{
    struct ibv_sge list[2], into[2] = {segment(8192, 4096), segment(16384, 4096)};
    struct ibv_recv_wr receive = {.wr_id = 9, .num_sge = 1}, *bad_receive;
    struct ibv_send_wr first, second, *bad;
    struct two both = connected(type);
    uint32_t key = flaw == REMOTE_KEY ? mr->rkey ^ 0x5500 : flaw == REMOTE_DOMAIN ? other->rkey : flaw == REMOTE_READ_ONLY ? readable->rkey :
        flaw == REMOTE_WRITE_ONLY ? writable->rkey : mr->rkey;

    first = request(&list[0], kind, both.two);
    second = request(&list[1], IBV_WR_SEND, both.two);
    if (type == IBV_QPT_UD && flaw == REMOTE_KEY)
        first.wr.ud.remote_qkey ^= 1;
    else if (kind == IBV_WR_ATOMIC_CMP_AND_SWP || kind == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        first.wr.atomic.rkey = key;
        first.wr.atomic.remote_addr += flaw == REMOTE_RANGE ? sizeof memory - 4096 : flaw == UNALIGNED ? 4 : 0;
    } else if (type != IBV_QPT_UD) {
        first.wr.rdma.rkey = key;
        first.wr.rdma.remote_addr += flaw == REMOTE_RANGE ? sizeof memory - 4096 - 4 : flaw == UNALIGNED ? 4 : 0;
    }
    if (flaw == SHORT_RECEIVE)
        into[0].length = 4;
    else if (flaw == RECEIVE_KEY)
        into[0].lkey ^= 0x5500;
    else if (flaw == RECEIVE_LOCAL_ONLY)
        into[0].lkey = readable->lkey;
    else if (flaw == NO_BYTES)
        list[0].length = 0;
    if (flaw == PAIR_WITHOUT_ACCESS) {
        struct ibv_qp_attr attr = {.qp_access_flags = 0};

        say("without access", "%s", result(ibv_modify_qp(both.two, &attr, IBV_QP_ACCESS_FLAGS)));
    }
    for (int i = 0; i < 2 && flaw != NO_RECEIVE; i++) {
        receive.sg_list = &into[i];
        receive.wr_id = i;
        MUST(ibv_post_recv(both.two, &receive, &bad_receive) == 0);
    }
    if (flaw == PEER_DESTROYED) {
        ibv_destroy_qp(both.two);
        both.two = NULL;
    } else if (flaw == PEER_ERROR) {
        MUST(move(both.two, IBV_QPS_ERR, 0) == 0);
    }
    say("post", "%s", result(ibv_post_send(both.one, &first, &bad)));
    say_next("completion", cq, flaw == NO_RECEIVE || flaw >= PEER_DESTROYED ? SOON : 500);
    say("post again", "%s", result(ibv_post_send(both.one, &second, &bad)));
    say_next("completion again", cq, flaw == NO_RECEIVE || flaw >= PEER_DESTROYED ? SOON : 500);
    /* Both messages have arrived before the first completion can move the queue pair. */
    usleep(30000);
    for (int i = 0; i < 2; i++)
        say_next(i ? "second receive" : "receive", receive_cq, 30);
    say_state("state", both.one);
    if (both.two != NULL)
        say_state("state of the peer", both.two);
    else
        both.two = new_pair(type);
    end_both(both);
}

static void transfers(void)
{
    struct ibv_mr *other, *readable, *writable;
    struct ibv_ah_attr to;

    make_objects();
    to = attributes(0, 0).ah_attr;
    MUST((handle = ibv_create_ah(pd, &to)) != NULL);
    MUST((other = ibv_reg_mr(other_pd, memory, sizeof memory, ALL_ACCESS)) != NULL);
    MUST((readable = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_REMOTE_READ)) != NULL);
    MUST((writable = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE)) != NULL);
    for (int type = IBV_QPT_RC; type <= IBV_QPT_UD; type++)
        for (int kind = 0; kind <= IBV_WR_SEND_WITH_INV; kind++)
            for (int flaw = 0; flaw < FLAWS; flaw++) {
                int sends = kind == IBV_WR_SEND || kind == IBV_WR_SEND_WITH_IMM || kind == IBV_WR_SEND_WITH_INV;
                int takes = sends || kind == IBV_WR_RDMA_WRITE_WITH_IMM;

                if (kind == IBV_WR_BIND_MW || (type == IBV_QPT_UD && !sends))
                    continue;
                if (kind == IBV_WR_LOCAL_INV && flaw != NONE)
                    continue;
                if (sends && flaw >= REMOTE_KEY && flaw <= UNALIGNED && !(type == IBV_QPT_UD && flaw == REMOTE_KEY))
                    continue;
                if (!takes && flaw >= SHORT_RECEIVE && flaw <= NO_RECEIVE)
                    continue;
                /* The library fails the post. */
                if (type == IBV_QPT_UC && (kind == IBV_WR_RDMA_READ || kind == IBV_WR_ATOMIC_CMP_AND_SWP || kind == IBV_WR_ATOMIC_FETCH_AND_ADD) && flaw != NONE)
                    continue;
                if (begins("%s %s, %s", type_name(type), request_name(kind), flaws[flaw]))
                    transfer(type, kind, flaw, other, readable, writable);
            }
}

/* Requests are flushed in order, and each completes once. */
static void flushes(void)
{
    static const int counts[] = {1, 5, 16};

    make_objects();
    for (int type = IBV_QPT_RC; type <= IBV_QPT_UC; type++)
        for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
            if (begins("%s, %d requests and receives", type_name(type), counts[i])) {
                struct two both = connected(type);
                struct ibv_sge list;
                struct ibv_wc wc;
                int in_order = 1, requests = 0, receives = 0, failed = 0;

                for (int j = 0; j < counts[i]; j++) {
                    struct ibv_send_wr wr = request(&list, IBV_WR_RDMA_WRITE, both.two), *bad;
                    struct ibv_recv_wr receive = {.wr_id = j}, *bad_receive;

                    if (j == 0)
                        wr.sg_list->lkey ^= 0x5500;
                    wr.wr_id = j;
                    MUST(ibv_post_recv(both.one, &receive, &bad_receive) == 0);
                    MUST(ibv_post_send(both.one, &wr, &bad) == 0);
                }
                while (requests + receives < 2 * counts[i] && failed < 2000) {
                    if (ibv_poll_cq(cq, 1, &wc) == 1) {
                        in_order &= wc.wr_id == (unsigned)requests && wc.status == (requests ? IBV_WC_WR_FLUSH_ERR : IBV_WC_LOC_PROT_ERR);
                        requests++;
                    } else if (ibv_poll_cq(receive_cq, 1, &wc) == 1) {
                        in_order &= wc.wr_id == (unsigned)receives && wc.status == IBV_WC_WR_FLUSH_ERR;
                        receives++;
                    } else {
                        pause_for(1), failed++;
                    }
                }
                say("requests", "%d", requests);
                say("receives", "%d", receives);
                say("in order", "%d", in_order);
                say_state("state", both.one);
                end_both(both);
            }
}
