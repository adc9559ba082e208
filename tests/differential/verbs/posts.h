/* Requests in each state of a queue pair, and requests that cannot be. SPDX-License-Identifier: MIT OR Apache-2.0 */

static const char *request_name(int value)
{
    static const struct word names[] = {
        {IBV_WR_RDMA_WRITE, "WRITE"}, {IBV_WR_RDMA_WRITE_WITH_IMM, "WRITE_WITH_IMM"}, {IBV_WR_SEND, "SEND"},
        {IBV_WR_SEND_WITH_IMM, "SEND_WITH_IMM"}, {IBV_WR_RDMA_READ, "READ"}, {IBV_WR_ATOMIC_CMP_AND_SWP, "COMPARE_SWAP"},
        {IBV_WR_ATOMIC_FETCH_AND_ADD, "FETCH_ADD"}, {IBV_WR_LOCAL_INV, "LOCAL_INV"}, {IBV_WR_BIND_MW, "BIND_MW"},
        {IBV_WR_SEND_WITH_INV, "SEND_WITH_INV"}, {IBV_WR_TSO, "TSO"}, {IBV_WR_DRIVER1, "DRIVER1"}, {0, NULL}};

    return word(names, value);
}

static struct ibv_ah *handle;

/* A request of a kind with eight bytes, to the memory of this process. */
static struct ibv_send_wr request(struct ibv_sge *list, int kind, const struct ibv_qp *qp)
{
    struct ibv_send_wr wr = {.wr_id = 5, .sg_list = list, .num_sge = 1, .opcode = kind, .send_flags = IBV_SEND_SIGNALED};

    *list = segment(0, 8);
    if (kind == IBV_WR_LOCAL_INV || kind == IBV_WR_SEND_WITH_INV)
        wr.invalidate_rkey = mr->rkey;
    else
        wr.imm_data = htonl(0x01020304);
    if (qp->qp_type == IBV_QPT_UD) {
        wr.wr.ud.ah = handle, wr.wr.ud.remote_qpn = qp->qp_num, wr.wr.ud.remote_qkey = 0x1234;
    } else if (kind == IBV_WR_ATOMIC_CMP_AND_SWP || kind == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr.wr.atomic.remote_addr = (uintptr_t)memory + 4096, wr.wr.atomic.rkey = mr->rkey;
    } else {
        wr.wr.rdma.remote_addr = (uintptr_t)memory + 4096, wr.wr.rdma.rkey = mr->rkey;
    }
    return wr;
}

static void posting(void)
{
    struct ibv_send_wr wr, *bad;
    struct ibv_recv_wr receive = {.wr_id = 9}, *bad_receive;
    struct ibv_ah_attr to;
    struct ibv_sge list;

    make_objects();
    to = attributes(0, 0).ah_attr;
    MUST((handle = ibv_create_ah(pd, &to)) != NULL);
    for (int type = IBV_QPT_RC; type <= IBV_QPT_UD; type++)
        for (int i = 0; i < STATES; i++) {
            for (int kind = 0; kind <= IBV_WR_DRIVER1; kind++) {
                struct ibv_qp *qp;

                /* Its arguments are checked by another group. */
                if (kind == IBV_WR_BIND_MW || (states[i] >= IBV_QPS_RTS && states[i] != IBV_QPS_ERR))
                    continue;
                if (!begins("%s in %s, %s", type_name(type), state_name(states[i]), request_name(kind)))
                    continue;
                qp = new_pair(type);
                move_to(qp, states[i], qp->qp_num);
                wr = request(&list, kind, qp);
                say("", "%s", result(ibv_post_send(qp, &wr, &bad)));
                say_next("completion", cq, 20);
                ibv_destroy_qp(qp);
            }
            if (begins("%s in %s, receive", type_name(type), state_name(states[i]))) {
                struct ibv_qp *qp = new_pair(type);

                move_to(qp, states[i], qp->qp_num);
                say("", "%s", result(ibv_post_recv(qp, &receive, &bad_receive)));
                say_next("completion", receive_cq, states[i] == IBV_QPS_ERR ? NEVER : 0);
                say("error state", "%s", result(move(qp, IBV_QPS_ERR, 0)));
                say_next("then", receive_cq, NEVER);
                ibv_destroy_qp(qp);
            }
        }
}

/* Requests with one argument that is wrong, on a connected queue pair; and the state of the queue pair after that. */
static void wrong_requests(void)
{
    static const char *const names[] = {"nothing wrong", "3 segments of 2", "no segments", "no bytes", "unknown flags", "inline too long", "inline",
        "inline read", "opcode 77", "two, the second wrong", "-1 segments", "wrong lkey", "lkey of another domain", "past the region", "fence", "unsignaled"};
    struct ibv_mr *other;
    struct ibv_ah_attr to;

    make_objects();
    to = attributes(0, 0).ah_attr;
    MUST((handle = ibv_create_ah(pd, &to)) != NULL);
    MUST((other = ibv_reg_mr(other_pd, memory, sizeof memory, ALL_ACCESS)) != NULL);
    for (int type = IBV_QPT_RC; type <= IBV_QPT_UD; type++)
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
            struct ibv_recv_wr receive = {.wr_id = 9, .num_sge = 1}, *bad_receive;
            struct ibv_sge list[3], into = segment(8192, 4096);
            struct ibv_send_wr wr, second, *bad = NULL;
            struct ibv_qp_init_attr init;
            struct ibv_qp_attr attr;
            struct two both;

            if (!begins("%s, %s", type_name(type), names[i]))
                continue;
            both = connected(type);
            receive.sg_list = &into;
            MUST(ibv_post_recv(both.two, &receive, &bad_receive) == 0);
            wr = second = request(list, IBV_WR_SEND, both.two);
            list[1] = list[2] = list[0];
            switch (i) {
            case 1: wr.num_sge = 3; break;
            case 2: wr.num_sge = 0; break;
            case 3: list[0].length = 0; break;
            case 4: wr.send_flags |= 1 << 20; break;
            case 5: wr.send_flags |= IBV_SEND_INLINE, list[0].length = 4096; break;
            case 6: wr.send_flags |= IBV_SEND_INLINE, list[0].lkey = 77; break;
            case 7: wr = request(list, IBV_WR_RDMA_READ, both.one), wr.send_flags |= IBV_SEND_INLINE; break;
            case 8: wr.opcode = 77; break;
            case 9: wr.next = &second, second.num_sge = 3; break;
            case 10: wr.num_sge = -1; break;
            case 11: list[0].lkey ^= 0x5500; break;
            case 12: list[0].lkey = other->lkey; break;
            case 13: list[0].addr += sizeof memory - 4; break;
            case 14: wr.send_flags |= IBV_SEND_FENCE; break;
            case 15: wr.send_flags = 0; break;
            }
            say("post", "%s", result(ibv_post_send(both.one, &wr, &bad)));
            say("bad", "%s", bad == &wr ? "the first" : bad == &second ? "the second" : "none");
            say_next("completion", cq, NEVER);
            say_next("receive", receive_cq, NEVER);
            say("query", "%s", result(ibv_query_qp(both.one, &attr, IBV_QP_STATE, &init)));
            say("state", "%s", state_name(attr.qp_state));
            end_both(both);
        }
}
