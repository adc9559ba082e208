/* Completion queues and channels, shared receive queues, address handles. SPDX-License-Identifier: MIT OR Apache-2.0 */

static void completion_queues(void)
{
    int vectors[] = {-1, 0, 0, 0};
    struct ibv_comp_channel *channel;
    struct ibv_cq *one, *found;
    struct ibv_qp *qp;
    struct ibv_qp_init_attr init;
    struct ibv_wc wc[4];
    void *user;
    int sizes[] = {-1, 0, 1, 64, 0};

    make_objects();
    sizes[4] = limits.max_cqe + 1;
    vectors[2] = context->num_comp_vectors - 1, vectors[3] = context->num_comp_vectors;
    for (unsigned i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const char *size = i == 4 ? "one more than the maximum" : sizes[i] < 0 ? "-1" : sizes[i] == 64 ? "64" : sizes[i] ? "1" : "0";

        if (begins("create of length %s", size)) {
            one = ibv_create_cq(context, sizes[i], NULL, NULL, 0);
            say("", "%s", object(one));
            if (one != NULL) {
                say("long enough", "%d", one->cqe >= sizes[i]);
                say("destroy", "%s", result(ibv_destroy_cq(one)));
            }
        }
        if (begins("resize to %s", size)) {
            one = ibv_create_cq(context, 16, NULL, NULL, 0);
            say("", "%s", result(ibv_resize_cq(one, sizes[i])));
            ibv_destroy_cq(one);
        }
    }
    for (unsigned i = 0; i < sizeof vectors / sizeof *vectors; i++)
        TRY_OBJECT(struct ibv_cq, ibv_create_cq(context, 16, NULL, NULL, vectors[i]), ibv_destroy_cq, "create with vector %s", i == 0 ? "-1" : i == 1 ? "0" : i == 2 ? "the last" : "one more");
    channel = ibv_create_comp_channel(context);
    one = ibv_create_cq(context, 16, (void *)7, channel, 0);
    if (begins("poll")) {
        say("none", "%d", ibv_poll_cq(one, 4, wc));
        say("for 0", "%d", ibv_poll_cq(one, 0, wc));
    }
    TRY(ibv_req_notify_cq(one, 0), "request a notification");
    TRY(ibv_req_notify_cq(one, 1), "request a solicited notification");
    init = pair_init(IBV_QPT_RC);
    init.recv_cq = one;
    qp = ibv_create_qp(pd, &init);
    TRY(ibv_destroy_cq(one), "destroy in use");
    TRY(ibv_destroy_comp_channel(channel), "destroy a channel in use");
    if (begins("event")) {
        struct pollfd waits = {channel->fd, POLLIN, 0};
        struct ibv_recv_wr wr = {.wr_id = 1}, *bad;

        say("readable", "%d", poll(&waits, 1, 0));
        say("request", "%s", result(ibv_req_notify_cq(one, 0)));
        move_to(qp, IBV_QPS_INIT, 0);
        say("post", "%s", result(ibv_post_recv(qp, &wr, &bad)));
        say("error state", "%s", result(move(qp, IBV_QPS_ERR, 0)));
        say("readable then", "%d", poll(&waits, 1, SOON));
        say("get", "%s", result(ibv_get_cq_event(channel, &found, &user)));
        say("its queue", "%d %d", found == one, user == (void *)7);
        say("polled", "%d", ibv_poll_cq(one, 4, wc));
        say("readable again", "%d", poll(&waits, 1, 0));
        ibv_ack_cq_events(one, 1);
    }
    if (begins("without"))
        say("a queue pair", "%s", result(ibv_destroy_qp(qp)));
    TRY(ibv_destroy_cq(one), "destroy");
    TRY(ibv_destroy_comp_channel(channel), "destroy a channel");
    for (unsigned flags = 0; flags < 14; flags++)
        if (begins("extended with flag %u", flags)) {
            struct ibv_cq_init_attr_ex attr = {.cqe = 16, .wc_flags = 1ull << flags};
            struct ibv_cq_ex *extended = ibv_create_cq_ex(context, &attr);
            struct ibv_poll_cq_attr nothing = {0};

            say("", "%s", object(extended));
            if (extended == NULL)
                continue;
            say("poll", "%s", result(ibv_start_poll(extended, &nothing)));
            say("destroy", "%s", result(ibv_destroy_cq(ibv_cq_ex_to_cq(extended))));
        }
}

static void receive_queues(void)
{
    unsigned sizes[] = {0, 1, 100, 0}, segments[] = {0, 1, 0, 0};
    static const char *const names[] = {"0", "1", "100", "one more than the maximum"};
    static const char *const few[] = {"0", "1", "the maximum", "one more than the maximum"};
    struct ibv_srq_init_attr init = {.attr = {.max_wr = 16, .max_sge = 2}};
    struct ibv_srq_attr attr;
    struct ibv_qp_init_attr of_pair;
    struct ibv_recv_wr wr, *bad;
    struct ibv_sge list[3];
    struct ibv_srq *one;
    struct ibv_qp *qp;

    make_objects();
    sizes[3] = limits.max_srq_wr + 1;
    segments[2] = limits.max_srq_sge, segments[3] = limits.max_srq_sge + 1;
    for (unsigned i = 0; i < 4; i++)
        for (unsigned j = 0; j < 4; j++) {
            struct ibv_srq_init_attr wanted = {.attr = {.max_wr = sizes[i], .max_sge = segments[j]}};

            TRY_OBJECT(struct ibv_srq, ibv_create_srq(pd, &wanted), ibv_destroy_srq, "create of length %s, segments %s", names[i], few[j]);
        }
    MUST((one = ibv_create_srq(pd, &init)) != NULL);
    if (begins("query")) {
        say("", "%s", result(ibv_query_srq(one, &attr)));
        say("sizes", "%d %d", attr.max_wr >= 16, attr.max_sge >= 2);
        say("limit", "%u", attr.srq_limit);
    }
    for (unsigned limit = 0; limit < 3; limit++)
        if (begins("limit %s", limit == 2 ? "above the length" : limit ? "1" : "0")) {
            memset(&attr, 0, sizeof attr);
            attr.srq_limit = limit == 2 ? 1 << 20 : limit;
            say("", "%s", result(ibv_modify_srq(one, &attr, IBV_SRQ_LIMIT)));
            say("query", "%s", result(ibv_query_srq(one, &attr)));
            say("value", "%u", attr.srq_limit);
        }
    attr.max_wr = 64;
    TRY(ibv_modify_srq(one, &attr, IBV_SRQ_MAX_WR), "longer");
    TRY(ibv_modify_srq(one, &attr, 0), "modify nothing");
    TRY(ibv_modify_srq(one, &attr, 1 << 5), "modify what does not exist");
    for (int count = 0; count < 4; count++)
        if (begins("post %d segments", count)) {
            for (int i = 0; i < 3; i++)
                list[i] = segment(i * 64, 64);
            memset(&wr, 0, sizeof wr);
            wr.sg_list = list, wr.num_sge = count;
            bad = NULL;
            say("", "%s", result(ibv_post_srq_recv(one, &wr, &bad)));
            say("bad", "%d", bad == &wr);
        }
    of_pair = pair_init(IBV_QPT_RC);
    of_pair.srq = one;
    MUST((qp = ibv_create_qp(pd, &of_pair)) != NULL);
    TRY(ibv_destroy_srq(one), "destroy in use");
    if (begins("post to a queue pair that has one")) {
        move_to(qp, IBV_QPS_INIT, 0);
        say("", "%s", result(ibv_post_recv(qp, &wr, &bad)));
    }
    if (begins("error state of its queue pair")) {
        struct ibv_async_event event;
        struct pollfd waits = {context->async_fd, POLLIN, 0};

        say("", "%s", result(move(qp, IBV_QPS_ERR, 0)));
        say("completion", "%d", next_completion(receive_cq, &(struct ibv_wc){0}, NEVER));
        say("event", "%d", poll(&waits, 1, NEVER));
        if (poll(&waits, 1, 0) == 1) {
            say("get", "%s", result(ibv_get_async_event(context, &event)));
            say("kind", "%s", ibv_event_type_str(event.event_type));
            ibv_ack_async_event(&event);
        }
    }
    ibv_destroy_qp(qp);
    TRY(ibv_destroy_srq(one), "destroy");
}

static void address_handles(void)
{
    static const char *const names[] = {"a right one", "no GRH", "port 0", "port 2", "GID index 100", "GID of zeros", "service level 16", "rate 31", "path bits 255"};
    struct ibv_ah_attr attr;

    make_objects();
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        attr = attributes(0, 0).ah_attr;
        switch (i) {
        case 1: attr.is_global = 0; break;
        case 2: attr.port_num = 0; break;
        case 3: attr.port_num = 2; break;
        case 4: attr.grh.sgid_index = 100; break;
        case 5: memset(&attr.grh.dgid, 0, sizeof attr.grh.dgid); break;
        case 6: attr.sl = 16; break;
        case 7: attr.static_rate = 31; break;
        case 8: attr.src_path_bits = 255; break;
        }
        TRY_OBJECT(struct ibv_ah, ibv_create_ah(pd, &attr), ibv_destroy_ah, "%s", names[i]);
    }
}
