/* Regions and windows. SPDX-License-Identifier: MIT OR Apache-2.0 */

/* The result of a change of a region, which is not an error number. */
static void changed(int value, const char *name)
{
    static const struct word names[] = {{0, "ok"}, {1, "input"}, {2, "fork"}, {3, "fork of the old"}, {4, "command"}, {5, "command and fork"}, {0, NULL}};

    if (begins("%s", name))
        say("", "%s", word(names, -value));
}

static void regions(void)
{
    static const size_t lengths[] = {0, 1, 4095, 4096, 65536};
    struct ibv_mr *region;
    struct ibv_mw *window;

    make_objects();
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if (begins("register %zu bytes", lengths[i])) {
            region = ibv_reg_mr(pd, memory, lengths[i], ALL_ACCESS);
            say("", "%s", object(region));
            if (region == NULL)
                continue;
            say("fields", "%d %d %d", region->addr == memory, region->length == lengths[i], region->pd == pd);
            say("deregister", "%s", result(ibv_dereg_mr(region)));
        }
    for (int access = 0; access < 0x20; access++)
        TRY_OBJECT(struct ibv_mr, ibv_reg_mr(pd, memory, 4096, access), ibv_dereg_mr, "register with access %#x", access);
    for (int bit = 5; bit < 31; bit++)
        TRY_OBJECT(struct ibv_mr, ibv_reg_mr(pd, memory, 4096, 1 << bit), ibv_dereg_mr, "register with access bit %d", bit);
    TRY_OBJECT(struct ibv_mr, ibv_reg_mr(pd, NULL, 4096, 1), ibv_dereg_mr, "register no memory");
    TRY_OBJECT(struct ibv_mr, ibv_reg_mr(pd, (void *)4096, 4096, 0), ibv_dereg_mr, "register unmapped memory to read");
    TRY_OBJECT(struct ibv_mr, ibv_reg_mr(pd, (void *)4096, 4096, 1), ibv_dereg_mr, "register unmapped memory");
    TRY_OBJECT(struct ibv_mr, ibv_reg_mr(pd, memory, (size_t)-1, 1), ibv_dereg_mr, "register to the end of addresses");
    TRY_OBJECT(struct ibv_mr, ibv_reg_mr(pd, memory, (size_t)1 << 46, 1), ibv_dereg_mr, "register more than is mapped");
    TRY_OBJECT(struct ibv_mr, ibv_reg_mr_iova(pd, memory, 4096, (uintptr_t)memory, 1), ibv_dereg_mr, "register with its address as iova");
    TRY_OBJECT(struct ibv_mr, ibv_reg_mr_iova(pd, memory, 4096, 0x10000, 1), ibv_dereg_mr, "register with another iova");
    TRY_OBJECT(struct ibv_mr, ibv_reg_dmabuf_mr(pd, 0, 4096, 0, 0, 1), ibv_dereg_mr, "register what is not a dmabuf");
    region = ibv_reg_mr(pd, memory, 8192, 1);
    changed(ibv_rereg_mr(region, 0, NULL, NULL, 0, 0), "change nothing");
    changed(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 7), "change access");
    changed(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 2), "change access to remote write alone");
    changed(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_PD, other_pd, NULL, 0, 0), "change domain");
    changed(ibv_rereg_mr(region, IBV_REREG_MR_CHANGE_TRANSLATION, NULL, memory, 4096, 0), "change memory");
    changed(ibv_rereg_mr(region, 1 << 10, NULL, NULL, 0, 0), "change what does not exist");
    ibv_dereg_mr(region);
    for (int type = 0; type < 4; type++)
        if (begins("window of type %d", type)) {
            window = ibv_alloc_mw(pd, type);
            say("", "%s", object(window));
            if (window == NULL)
                continue;
            say("fields", "%d %d", window->type == (enum ibv_mw_type)type, window->pd == pd);
            say("free", "%s", result(ibv_dealloc_mw(window)));
        }
}

/* Binds of windows of type 2, by requests; each with the completion and the state of its queue pair. */
static void binding(void)
{
    enum { NOTHING, REGION, WINDOW_TYPE, WINDOW_DOMAIN };
    static const struct bind {
        const char *name;
        unsigned access, offset;
        unsigned long long length;
        /* What is not as it must be. */
        int flaw;
    } binds[] = {
        {"all", ALL_ACCESS, 0, 4096, NOTHING}, {"to read", IBV_ACCESS_REMOTE_READ, 0, 4096, NOTHING}, {"to write", IBV_ACCESS_REMOTE_WRITE, 0, 4096, NOTHING},
        {"no access", 0, 0, 4096, NOTHING}, {"a part", ALL_ACCESS, 100, 7, NOTHING}, {"no bytes", ALL_ACCESS, 0, 0, NOTHING},
        {"more than the region", ALL_ACCESS, 0, sizeof memory + 1, NOTHING}, {"past the region", ALL_ACCESS, sizeof memory - 10, 11, NOTHING},
        {"local write", IBV_ACCESS_LOCAL_WRITE, 0, 64, NOTHING}, {"zero based", IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ZERO_BASED, 0, 64, NOTHING},
        {"a region without MW_BIND", ALL_ACCESS, 0, 4096, REGION}, {"a window of type 1", ALL_ACCESS, 0, 4096, WINDOW_TYPE},
        {"a window of another domain", ALL_ACCESS, 0, 4096, WINDOW_DOMAIN}};
    struct ibv_send_wr wr, *bad;
    struct ibv_mr *plain;

    make_objects();
    MUST((plain = ibv_reg_mr(pd, memory, sizeof memory, ALL_ACCESS)) != NULL);
    for (unsigned i = 0; i < sizeof binds / sizeof *binds; i++) {
        const struct bind *one = &binds[i];
        struct two both;
        struct ibv_mw *window;

        if (!begins("bind %s", one->name))
            continue;
        both = connected(IBV_QPT_RC);
        window = ibv_alloc_mw(one->flaw == WINDOW_DOMAIN ? other_pd : pd, one->flaw == WINDOW_TYPE ? IBV_MW_TYPE_1 : IBV_MW_TYPE_2);
        if (window == NULL) {
            say("window", "%s", object(window));
            end_both(both);
            continue;
        }
        memset(&wr, 0, sizeof wr);
        wr.opcode = IBV_WR_BIND_MW;
        wr.send_flags = IBV_SEND_SIGNALED;
        wr.bind_mw.mw = window;
        wr.bind_mw.rkey = ibv_inc_rkey(window->rkey);
        wr.bind_mw.bind_info.mr = one->flaw == REGION ? plain : mr;
        wr.bind_mw.bind_info.addr = (uintptr_t)memory + one->offset;
        wr.bind_mw.bind_info.length = one->length;
        wr.bind_mw.bind_info.mw_access_flags = one->access;
        say("post", "%s", result(ibv_post_send(both.one, &wr, &bad)));
        say_next("completion", cq, NEVER);
        if (i == 0) {
            say("deregister", "%s", result(ibv_dereg_mr(mr)));
            MUST((mr = ibv_reg_mr(pd, memory, sizeof memory, ALL_ACCESS | IBV_ACCESS_MW_BIND)) != NULL);
        }
        say("free", "%s", result(ibv_dealloc_mw(window)));
        end_both(both);
    }
}
