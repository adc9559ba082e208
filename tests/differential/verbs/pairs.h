/* The creation of queue pairs, and their transitions. SPDX-License-Identifier: MIT OR Apache-2.0 */

static void creating(void)
{
    static const char *const names[] = {"usual", "no sizes", "no requests", "no receives", "no segments of requests", "no segments of receives",
        "more requests", "more receives", "most segments", "more segments of requests", "more segments of receives",
        "inline 1 MiB", "no queue of requests", "no queue of receives", "all signaled"};
    static const int types[] = {0, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, 5, 6, IBV_QPT_RAW_PACKET, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, 77};
    struct ibv_qp_init_attr init, found;
    struct ibv_qp_attr attr;
    struct ibv_qp *qp;

    make_objects();
    for (unsigned t = 0; t < sizeof types / sizeof *types; t++)
        for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
            if ((types[t] < IBV_QPT_RC || types[t] > IBV_QPT_UD) && i > 0)
                continue;
            init = pair_init(types[t]);
            switch (i) {
            case 1: memset(&init.cap, 0, sizeof init.cap); break;
            case 2: init.cap.max_send_wr = 0; break;
            case 3: init.cap.max_recv_wr = 0; break;
            case 4: init.cap.max_send_sge = 0; break;
            case 5: init.cap.max_recv_sge = 0; break;
            case 6: init.cap.max_send_wr = limits.max_qp_wr + 1; break;
            case 7: init.cap.max_recv_wr = limits.max_qp_wr + 1; break;
            case 8: init.cap.max_send_sge = init.cap.max_recv_sge = limits.max_sge; break;
            case 9: init.cap.max_send_sge = limits.max_sge + 1; break;
            case 10: init.cap.max_recv_sge = limits.max_sge + 1; break;
            case 11: init.cap.max_inline_data = 1 << 20; break;
            case 12: init.send_cq = NULL; break;
            case 13: init.recv_cq = NULL; break;
            case 14: init.sq_sig_all = 1; break;
            }
            if (!begins("create %s, %s", type_name(types[t]), names[i]))
                continue;
            found = init;
            qp = ibv_create_qp(pd, &init);
            say("", "%s", object(qp));
            if (qp == NULL)
                continue;
            say("sizes are those that were requested or larger", "%d %d %d %d %d", init.cap.max_send_wr >= found.cap.max_send_wr,
                init.cap.max_recv_wr >= found.cap.max_recv_wr, init.cap.max_send_sge >= found.cap.max_send_sge,
                init.cap.max_recv_sge >= found.cap.max_recv_sge, init.cap.max_inline_data >= found.cap.max_inline_data);
            memset(&attr, 0, sizeof attr);
            say("query", "%s", result(ibv_query_qp(qp, &attr, IBV_QP_STATE | IBV_QP_CAP, &found)));
            say("state", "%s", state_name(attr.qp_state));
            say("fields", "%d %d %d", qp->state == IBV_QPS_RESET, qp->qp_type == (enum ibv_qp_type)types[t], found.sq_sig_all);
            say("destroy", "%s", result(ibv_destroy_qp(qp)));
        }
}

static const int states[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR};
enum { STATES = sizeof states / sizeof *states };

/* Each type, from each state to each state: with the attributes that are needed, without one of them, and with one more. */
static void transitions(void)
{
    struct ibv_qp_init_attr init;

    make_objects();
    for (int type = IBV_QPT_RC; type <= IBV_QPT_UD; type++)
        for (int from = 0; from < STATES; from++)
            for (int to = 0; to <= IBV_QPS_UNKNOWN; to++)
                for (int bit = -1; bit < 21; bit++) {
                    struct ibv_qp_attr attr;
                    struct ibv_qp *qp;
                    int mask = needed(type, to);

                    /* The state itself is always given. */
                    if (bit == 0)
                        continue;
                    if (bit >= 0)
                        mask ^= 1 << bit;
                    if (!begins("%s from %s to %s%s%s", type_name(type), state_name(states[from]), state_name(to),
                                bit < 0 ? "" : mask & 1 << bit ? " with " : " without ", bit < 0 ? "" : word((const struct word[]){
                                {1, "CUR_STATE"}, {2, "EN_SQD_ASYNC_NOTIFY"}, {3, "ACCESS_FLAGS"}, {4, "PKEY_INDEX"}, {5, "PORT"}, {6, "QKEY"},
                                {7, "AV"}, {8, "PATH_MTU"}, {9, "TIMEOUT"}, {10, "RETRY_CNT"}, {11, "RNR_RETRY"}, {12, "RQ_PSN"},
                                {13, "MAX_QP_RD_ATOMIC"}, {14, "ALT_PATH"}, {15, "MIN_RNR_TIMER"}, {16, "SQ_PSN"}, {17, "MAX_DEST_RD_ATOMIC"},
                                {18, "PATH_MIG_STATE"}, {19, "CAP"}, {20, "DEST_QPN"}, {0, NULL}}, bit)))
                        continue;
                    qp = new_pair(type);
                    move_to(qp, states[from], qp->qp_num);
                    attr = attributes(to, qp->qp_num);
                    attr.cur_qp_state = states[from];
                    attr.alt_ah_attr = attr.ah_attr, attr.alt_port_num = 1;
                    say("", "%s", result(ibv_modify_qp(qp, &attr, mask)));
                    if (bit < 0) {
                        say("state", "%s", result(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init)));
                        say("is", "%s", state_name(attr.qp_state));
                        say("field", "%s", state_name(qp->state));
                    }
                    ibv_destroy_qp(qp);
                }
}

/* Transitions of RC and UD with one value that is at or beyond its limit. */
static void values(void)
{
    enum { VALUES = 30 };

    make_objects();
    for (int type = IBV_QPT_RC; type <= IBV_QPT_UD; type += 2)
        for (int i = 0; i < VALUES; i++) {
            struct ibv_qp_attr attr, found;
            struct ibv_qp_init_attr init;
            struct ibv_qp *qp = NULL;
            const char *name = NULL;
            int to = i < 6 ? IBV_QPS_INIT : i < 20 ? IBV_QPS_RTR : IBV_QPS_RTS, extra = 0;

            attr = attributes(to, 0);
            switch (i) {
            case 0: name = "port 0", attr.port_num = 0; break;
            case 1: name = "port 2", attr.port_num = 2; break;
            case 2: name = "P_Key index 1000", attr.pkey_index = 1000; break;
            case 3: name = "access 0", attr.qp_access_flags = 0; break;
            case 4: name = "access bit 20", attr.qp_access_flags = 1 << 20; break;
            case 5: name = "Q_Key with the high bit", attr.qkey = 0x80000000; break;
            case 6: name = "MTU 0", attr.path_mtu = 0; break;
            case 7: name = "MTU 256", attr.path_mtu = IBV_MTU_256; break;
            case 8: name = "MTU 4096", attr.path_mtu = IBV_MTU_4096; break;
            case 9: name = "MTU 6", attr.path_mtu = 6; break;
            case 10: name = "queue pair 0", attr.dest_qp_num = 0; break;
            case 11: name = "queue pair with 25 bits", attr.dest_qp_num = 1 << 24; break;
            case 12: name = "PSN with 25 bits", attr.rq_psn = 1 << 24; break;
            case 13: name = "responder resources 0", attr.max_dest_rd_atomic = 0; break;
            case 14: name = "responder resources 255", attr.max_dest_rd_atomic = 255; break;
            case 15: name = "RNR timer 32", attr.min_rnr_timer = 32; break;
            case 16: name = "no GRH", attr.ah_attr.is_global = 0; break;
            case 17: name = "GID index 100", attr.ah_attr.grh.sgid_index = 100; break;
            case 18: name = "port 2 of the path", attr.ah_attr.port_num = 2; break;
            case 19: name = "GID of zeros", memset(&attr.ah_attr.grh.dgid, 0, 16); break;
            case 20: name = "timeout 0", attr.timeout = 0; break;
            case 21: name = "timeout 31", attr.timeout = 31; break;
            case 22: name = "timeout 32", attr.timeout = 32; break;
            case 23: name = "retries 7", attr.retry_cnt = 7; break;
            case 24: name = "retries 8", attr.retry_cnt = 8; break;
            case 25: name = "RNR retries 8", attr.rnr_retry = 8; break;
            case 26: name = "reads 0", attr.max_rd_atomic = 0; break;
            case 27: name = "reads 255", attr.max_rd_atomic = 255; break;
            case 28: name = "PSN of requests with 25 bits", attr.sq_psn = 1 << 24; break;
            case 29: name = "migration state 7", attr.path_mig_state = 7, extra = IBV_QP_PATH_MIG_STATE; break;
            }
            if (!begins("%s, %s", type_name(type), name))
                continue;
            qp = new_pair(type);
            move_to(qp, to == IBV_QPS_INIT ? IBV_QPS_RESET : to == IBV_QPS_RTR ? IBV_QPS_INIT : IBV_QPS_RTR, qp->qp_num);
            say("", "%s", result(ibv_modify_qp(qp, &attr, needed(type, to) | extra)));
            say("query", "%s", result(ibv_query_qp(qp, &found, 0x1ffff, &init)));
            say("state", "%s", state_name(found.qp_state));
            if (found.qp_state == (enum ibv_qp_state)to && type == IBV_QPT_RC) {
                if (to == IBV_QPS_INIT)
                    say("values", "port %d, P_Key index %d, access %#x", found.port_num, found.pkey_index, found.qp_access_flags);
                else if (to == IBV_QPS_RTR)
                    say("values", "MTU %d, queue pair %#x, PSN %#x, resources %d, timer %d", found.path_mtu, found.dest_qp_num, found.rq_psn,
                        found.max_dest_rd_atomic, found.min_rnr_timer);
                else
                    say("values", "timeout %d, retries %d, RNR retries %d, reads %d, PSN %#x", found.timeout, found.retry_cnt, found.rnr_retry,
                        found.max_rd_atomic, found.sq_psn);
            }
            ibv_destroy_qp(qp);
        }
}
