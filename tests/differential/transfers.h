/* Transfers over a connection. SPDX-License-Identifier: MIT OR Apache-2.0 */

/* A case with a connection of its own, whose passive side has receives of 4096 bytes. */
static int transfers_begin(const DAT_EP_ATTR *attributes, int receives)
{
    DAT_LMR_TRIPLET where;

    if (!connect_pair(attributes, 0, NULL))
        return 0;
    for (int i = 0; i < receives; i++) {
        where = segment(32768 + 4096 * i, 4096);
        MUST(dat_ep_post_recv(passive, 1, &where, cookie(100 + i), 0));
    }
    return 1;
}

static void transfers(void)
{
    DAT_LMR_TRIPLET what, pieces[3];
    DAT_RMR_TRIPLET there;
    DAT_EP_ATTR attributes;
    DAT_EP_PARAM param;
    DAT_EP_HANDLE first;
    DAT_EVENT event;
    struct {
        const char *name;
        DAT_COMPLETION_FLAGS flags;
    } flags[] = {{"default", 0}, {"suppressed", DAT_COMPLETION_SUPPRESS_FLAG}, {"solicited", DAT_COMPLETION_SOLICITED_WAIT_FLAG},
        {"unsignalled", DAT_COMPLETION_UNSIGNALLED_FLAG}, {"fence", DAT_COMPLETION_BARRIER_FENCE_FLAG},
        {"threshold", DAT_COMPLETION_EVD_THRESHOLD_FLAG}, {"suppressed solicited fence", 0xb}, {"undefined", 0x100}};

    make_objects();
    first = endpoint(NULL);
    MUST(dat_ep_query(first, DAT_EP_FIELD_ALL, &param));
    attributes = param.ep_attr;
    for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
        what = segment(0, 64);
        there = remote(8192, 64);
        if (begins("send: %s", flags[i].name) && transfers_begin(NULL, 1)) {
            if (said(dat_ep_post_send(active, 1, &what, cookie(1), flags[i].flags)) == DAT_SUCCESS) {
                take(dtos, "receiver", 1);
                take_none(requests, "sender");
            }
            free_pair();
        }
        if (begins("rdma_write: %s", flags[i].name) && transfers_begin(NULL, 0)) {
            if (said(dat_ep_post_rdma_write(active, 1, &what, cookie(1), &there, flags[i].flags)) == DAT_SUCCESS)
                take_none(requests, "writer");
            free_pair();
        }
        if (begins("rdma_read: %s", flags[i].name) && transfers_begin(NULL, 0)) {
            if (said(dat_ep_post_rdma_read(active, 1, &what, cookie(1), &there, flags[i].flags)) == DAT_SUCCESS)
                take_none(requests, "reader");
            free_pair();
        }
    }
    attributes.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
    if (begins("unsignalled endpoint")) {
        DAT_EP_HANDLE unsignalled;
        DAT_EVD_HANDLE own;

        MUST(dat_evd_create(ia, 16, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &own));
        say("with others", "%s", code(dat_ep_create(ia, pz, dtos, requests, connections, &attributes, &unsignalled)));
        say("alone", "%s", code(dat_ep_create(ia, pz, dtos, own, connections, &attributes, &unsignalled)));
    }
    if (begins("several") && transfers_begin(NULL, 4)) {
        for (unsigned i = 0; i < 4; i++) {
            what = segment(0, 64 * i);
            say("send", "%s", code(dat_ep_post_send(active, 1, &what, cookie(i), 0)));
        }
        take(requests, "sender", 4);
        take(dtos, "receiver", 4);
        say("empty", "%s", code(dat_evd_dequeue(dtos, &event)));
        free_pair();
    }
    pieces[0] = segment(0, 64);
    pieces[1] = segment(64, 0);
    pieces[1].lmr_context = 0x123456;
    pieces[2] = segment(128, 64);
#define ONE(name, call, receives, sender, receiver)              \
    if (begins(name) && transfers_begin(NULL, receives)) {       \
        what = segment(0, 64);                                   \
        there = remote(8192, 64);                                \
        if (said(call) == DAT_SUCCESS) {                         \
            take(requests, "sender", sender);                    \
            take(dtos, "receiver", receiver);                    \
        }                                                        \
        /* A connection that breaks does so a little later. */   \
        usleep(300000);                                          \
        say("state", "%s", state_of(active));                    \
        free_pair();                                             \
    }
    ONE("send: no segment", dat_ep_post_send(active, 0, NULL, cookie(1), 0), 1, 1, 1)
    ONE("send: 1 segment, NULL", dat_ep_post_send(active, 1, NULL, cookie(1), 0), 1, 1, 1)
    ONE("send: -1 segments", dat_ep_post_send(active, -1, &what, cookie(1), 0), 1, 1, 1)
    ONE("send: 1000 segments", dat_ep_post_send(active, 1000, &what, cookie(1), 0), 1, 1, 1)
    ONE("send: an empty segment among others", dat_ep_post_send(active, 3, pieces, cookie(1), 0), 1, 1, 1)
    ONE("send: outside", (what.segment_length = sizeof memory + 1, dat_ep_post_send(active, 1, &what, cookie(1), 0)), 1, 1, 1)
    ONE("send: made-up context", (what.lmr_context ^= 0x5555, dat_ep_post_send(active, 1, &what, cookie(1), 0)), 1, 1, 1)
    ONE("send: longer than the receive", (what.segment_length = 8192, dat_ep_post_send(active, 1, &what, cookie(1), 0)), 1, 1, 1)
    ONE("rdma_write", dat_ep_post_rdma_write(active, 1, &what, cookie(1), &there, 0), 0, 1, 0)
    ONE("rdma_write: nothing", (what.segment_length = there.segment_length = 0, dat_ep_post_rdma_write(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_write: no segment", dat_ep_post_rdma_write(active, 0, NULL, cookie(1), &there, 0), 0, 1, 0)
    ONE("rdma_write: target is longer", (there.segment_length = 128, dat_ep_post_rdma_write(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_write: target is shorter", (there.segment_length = 32, dat_ep_post_rdma_write(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_write: target of length 0", (there.segment_length = 0, dat_ep_post_rdma_write(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_write: no target", dat_ep_post_rdma_write(active, 1, &what, cookie(1), NULL, 0), 0, 1, 0)
    ONE("rdma_write: made-up target", (there.rmr_context ^= 0x5555, dat_ep_post_rdma_write(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_write: an empty segment among others", (there.segment_length = 128, dat_ep_post_rdma_write(active, 3, pieces, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_read", dat_ep_post_rdma_read(active, 1, &what, cookie(1), &there, 0), 0, 1, 0)
    ONE("rdma_read: nothing", (what.segment_length = there.segment_length = 0, dat_ep_post_rdma_read(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_read: source is longer", (there.segment_length = 128, dat_ep_post_rdma_read(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_read: source is shorter", (there.segment_length = 32, dat_ep_post_rdma_read(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    ONE("rdma_read: made-up source", (there.rmr_context ^= 0x5555, dat_ep_post_rdma_read(active, 1, &what, cookie(1), &there, 0)), 0, 1, 0)
    if (begins("sizes of an endpoint are too small")) {
        attributes = param.ep_attr;
        attributes.max_rdma_size = attributes.max_message_size = 64;
        if (transfers_begin(&attributes, 1)) {
            what = segment(0, 4096);
            there = remote(8192, 4096);
            say("write", "%s", code(dat_ep_post_rdma_write(active, 1, &what, cookie(1), &there, 0)));
            say("send", "%s", code(dat_ep_post_send(active, 1, &what, cookie(2), 0)));
            take(requests, "sender", 2);
            free_pair();
        }
    }
    if (begins("break with work outstanding") && transfers_begin(NULL, 3)) {
        said(dat_ep_disconnect(passive, DAT_CLOSE_ABRUPT_FLAG));
        take_both();
        take(dtos, "receiver", 3);
        what = segment(0, 64);
        there = remote(0, 64);
        say("send", "%s", code(dat_ep_post_send(active, 1, &what, cookie(1), 0)));
        take(requests, "sender", 1);
        say("recv", "%s", code(dat_ep_post_recv(active, 1, &what, cookie(2), 0)));
        take(dtos, "receiver again", 1);
        say("write", "%s", code(dat_ep_post_rdma_write(active, 1, &what, cookie(3), &there, 0)));
        take(requests, "writer", 1);
        free_pair();
    }
}
