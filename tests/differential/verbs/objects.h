/* The objects that cases use. SPDX-License-Identifier: MIT OR Apache-2.0 */

static struct sockaddr_in address;
static struct ibv_context *context;
static struct ibv_device_attr limits;
static union ibv_gid gid;
static int gid_index;
static struct ibv_pd *pd, *other_pd;
static struct ibv_cq *cq, *receive_cq;
static struct ibv_mr *mr;
static char memory[65536] __attribute__((aligned(4096)));

enum { ALL_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC };

/* A wait for what must come, and for what must not. */
enum { SOON = 3000, NEVER = 150 };

/* Opens the device that has the address. */
static void open_device(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);

    MUST(list != NULL);
    for (int i = 0; list[i] != NULL && context == NULL; i++) {
        struct ibv_context *one = ibv_open_device(list[i]);

        MUST(one != NULL);
        for (int index = 0; index < 16; index++) {
            if (ibv_query_gid(one, 1, index, &gid) != 0 || memcmp(gid.raw + 12, &address.sin_addr, 4) != 0 ||
                gid.raw[10] != 0xff || gid.raw[11] != 0xff)
                continue;
            context = one;
            gid_index = index;
            break;
        }
        if (context == NULL)
            ibv_close_device(one);
    }
    ibv_free_device_list(list);
    MUST(context != NULL);
    MUST(ibv_query_device(context, &limits) == 0);
}

static void make_objects(void)
{
    open_device();
    MUST((pd = ibv_alloc_pd(context)) != NULL);
    MUST((other_pd = ibv_alloc_pd(context)) != NULL);
    MUST((cq = ibv_create_cq(context, 64, NULL, NULL, 0)) != NULL);
    MUST((receive_cq = ibv_create_cq(context, 64, NULL, NULL, 0)) != NULL);
    MUST((mr = ibv_reg_mr(pd, memory, sizeof memory, ALL_ACCESS | IBV_ACCESS_MW_BIND)) != NULL);
}

static const char *type_name(int type)
{
    static const struct word names[] = {{IBV_QPT_RC, "RC"}, {IBV_QPT_UC, "UC"}, {IBV_QPT_UD, "UD"}, {0, NULL}};

    return word(names, type);
}

static const char *state_name(int state)
{
    static const struct word names[] = {
        {IBV_QPS_RESET, "RESET"}, {IBV_QPS_INIT, "INIT"}, {IBV_QPS_RTR, "RTR"}, {IBV_QPS_RTS, "RTS"},
        {IBV_QPS_SQD, "SQD"}, {IBV_QPS_SQE, "SQE"}, {IBV_QPS_ERR, "ERR"}, {0, NULL}};

    return word(names, state);
}

static struct ibv_qp_init_attr pair_init(int type)
{
    struct ibv_qp_init_attr init = {
        .send_cq = cq, .recv_cq = receive_cq, .qp_type = type,
        .cap = {.max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 32}};

    return init;
}

static struct ibv_qp *new_pair(int type)
{
    struct ibv_qp_init_attr init = pair_init(type);
    struct ibv_qp *made = ibv_create_qp(pd, &init);

    MUST(made != NULL);
    return made;
}

/* The attributes that a type needs for a state, with values that are right. */
static int needed(int type, int to)
{
    int mask = IBV_QP_STATE;

    switch (to) {
    case IBV_QPS_INIT:
        mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
        break;
    case IBV_QPS_RTR:
        if (type != IBV_QPT_UD)
            mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
        if (type == IBV_QPT_RC)
            mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
        break;
    case IBV_QPS_RTS:
        mask |= IBV_QP_SQ_PSN;
        if (type == IBV_QPT_RC)
            mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
        break;
    }
    return mask;
}

static struct ibv_qp_attr attributes(int to, unsigned peer)
{
    struct ibv_qp_attr attr = {
        .qp_state = to, .cur_qp_state = to, .path_mtu = IBV_MTU_1024, .qkey = 0x1234, .rq_psn = 7, .sq_psn = 7,
        .dest_qp_num = peer, .qp_access_flags = ALL_ACCESS, .port_num = 1, .max_rd_atomic = 1, .max_dest_rd_atomic = 1,
        .min_rnr_timer = 1, .timeout = 12, .retry_cnt = 2, .rnr_retry = 0,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .sgid_index = gid_index, .hop_limit = 1}}};

    return attr;
}

/* Moves a pair one state on, with the attributes that this needs. */
static int move(struct ibv_qp *qp, int to, unsigned peer)
{
    struct ibv_qp_attr attr = attributes(to, peer);

    return ibv_modify_qp(qp, &attr, needed(qp->qp_type, to));
}

/* Moves a new pair to a state; SQE cannot be reached by a call. */
static void move_to(struct ibv_qp *qp, int state, unsigned peer)
{
    static const int path[] = {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD};

    if (state == IBV_QPS_ERR) {
        MUST(move(qp, IBV_QPS_INIT, peer) == 0 && move(qp, IBV_QPS_ERR, peer) == 0);
        return;
    }
    for (unsigned i = 0; i < sizeof path / sizeof *path && state != IBV_QPS_RESET; i++) {
        must((errno = move(qp, path[i], peer)) == 0, state_name(path[i]));
        if (path[i] == state)
            return;
    }
}

/* Two pairs of this process that are connected. */
struct two {
    struct ibv_qp *one, *two;
};

static struct two connected(int type)
{
    struct two made = {new_pair(type), new_pair(type)};

    move_to(made.two, IBV_QPS_RTR, made.one->qp_num);
    move_to(made.one, IBV_QPS_RTS, made.two->qp_num);
    MUST(move(made.two, IBV_QPS_RTS, made.one->qp_num) == 0);
    return made;
}

static void end_both(struct two both)
{
    struct ibv_wc wc;

    ibv_destroy_qp(both.one);
    ibv_destroy_qp(both.two);
    while (ibv_poll_cq(cq, 1, &wc) == 1 || ibv_poll_cq(receive_cq, 1, &wc) == 1)
        ;
}

static struct ibv_sge segment(unsigned offset, unsigned length)
{
    struct ibv_sge one = {(uintptr_t)memory + offset, length, mr->lkey};

    return one;
}
