/*
 * Every call reaches its slot of the provider table, with arguments and return value unchanged. The
 * provider gets its own address of the adapter.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "client.h"
#include <string.h>
#if API == 2
#include <dat2/dat_ib_extensions.h>
#endif

/* An address that the libraries pass on and never dereference. */
#define PLACE(n) ((void *)(WORD)(0x7a0000000000 + 16 * (n)))

static DAT_IA_HANDLE ia;     /* the number that we know */
static WORD own_ia;          /* what the provider knows */
static DAT_HANDLE object;    /* an object of the provider, used for every kind */
static char covered[SLOTS];

/* Checks that one call arrived in its slot, with these words. A word that fits 32 bits may have
 * been passed as 32 bits. */
static void arrived(int slot, const char *call, DAT_RETURN answer, const WORD *words, int count)
{
    int i;

    covered[slot] = 1;
    if (answer != ANSWER(slot) || record->calls[slot] != 1) {
        printf("NOT OK: %s: answer %#x, %d calls in slot %d\n", call, answer,
               record->calls[slot], slot);
        failures++;
        return;
    }
    record->calls[slot] = 0;
    for (i = 0; i < count; i++) {
        WORD seen = record->words[i];
        if (words[i] <= UINT32_MAX ? (uint32_t)seen != words[i] : seen != words[i]) {
            printf("NOT OK: %s: word %d is %#lx and not %#lx\n", call, i, (unsigned long)seen,
                   (unsigned long)words[i]);
            failures++;
        }
    }
}

#define ARRIVES(slot, call, ...)                                                     \
    do {                                                                             \
        const WORD expected[] = {__VA_ARGS__};                                       \
        arrived((slot), #call, (call), expected, sizeof expected / sizeof *expected); \
    } while (0)

#define W(value) ((WORD)(value))

/* A call whose arguments are words, on the object or on the adapter. */
#define ON0(slot, call) ARRIVES(slot, call(object), W(object))
#define ON1(slot, call, a) ARRIVES(slot, call(object, a), W(object), W(a))
#define ON2(slot, call, a, b) ARRIVES(slot, call(object, a, b), W(object), W(a), W(b))
#define ON3(slot, call, a, b, c) \
    ARRIVES(slot, call(object, a, b, c), W(object), W(a), W(b), W(c))
#define ON4(slot, call, a, b, c, d) \
    ARRIVES(slot, call(object, a, b, c, d), W(object), W(a), W(b), W(c), W(d))
#define ON5(slot, call, a, b, c, d, e) \
    ARRIVES(slot, call(object, a, b, c, d, e), W(object), W(a), W(b), W(c), W(d), W(e))
#define IA2(slot, call, a, b) ARRIVES(slot, call(ia, a, b), own_ia, W(a), W(b))
#define IA3(slot, call, a, b, c) ARRIVES(slot, call(ia, a, b, c), own_ia, W(a), W(b), W(c))
#define IA4(slot, call, a, b, c, d) \
    ARRIVES(slot, call(ia, a, b, c, d), own_ia, W(a), W(b), W(c), W(d))

static DAT_CONTEXT context(void)
{
    DAT_CONTEXT it;
    it.as_64 = 0x1122334455667788;
    return it;
}
#define CONTEXT 0x1122334455667788

static void on_any_object(void)
{
    ON1(6, dat_get_consumer_context, PLACE(1));
    ON1(7, dat_get_handle_type, PLACE(1));
    ARRIVES(5, dat_set_consumer_context(object, context()), W(object), CONTEXT);
    /* The same calls on adapters, by handle. */
    ARRIVES(6, dat_get_consumer_context(ia, PLACE(1)), own_ia, W(PLACE(1)));
    ARRIVES(7, dat_get_handle_type(ia, PLACE(1)), own_ia, W(PLACE(1)));
    ARRIVES(5, dat_set_consumer_context(ia, context()), own_ia, CONTEXT);
}

static void on_events(void)
{
    DAT_OS_WAIT_PROXY_AGENT agent;

    memset(&agent, 0, sizeof agent);
    agent.instance_data = PLACE(7);
    ARRIVES(8, dat_cno_create(ia, agent, PLACE(1)), own_ia, W(PLACE(7)), 0, W(PLACE(1)));
    ARRIVES(9, dat_cno_modify_agent(object, agent), W(object), W(PLACE(7)), 0);
    ON2(10, dat_cno_query, 3, PLACE(1));
    ON0(11, dat_cno_free);
    ON2(12, dat_cno_wait, 77, PLACE(1));
    IA4(17, dat_evd_create, 5, PLACE(1), 6, PLACE(2));
    ON2(18, dat_evd_query, 3, PLACE(1));
    ON1(19, dat_evd_modify_cno, PLACE(1));
    ON0(20, dat_evd_enable);
    ON0(21, dat_evd_disable);
    ON4(22, dat_evd_wait, 7, 8, PLACE(1), PLACE(2));
    ON1(23, dat_evd_resize, 9);
    ON1(24, dat_evd_post_se, PLACE(1));
    ON1(25, dat_evd_dequeue, PLACE(1));
    ON0(26, dat_evd_free);
    ON0(57, dat_evd_set_unwaitable);
    ON0(58, dat_evd_clear_unwaitable);
}

static void on_connections(void)
{
    ON2(13, dat_cr_query, 3, PLACE(1));
    ON3(14, dat_cr_accept, PLACE(1), 5, PLACE(2));
#if API == 1
    ON0(15, dat_cr_reject);
#else
    ON2(15, dat_cr_reject, 5, PLACE(1));
#endif
    ON1(16, dat_cr_handoff, 0x1234567890);
    IA4(46, dat_psp_create, 0x1234567890, PLACE(1), 1, PLACE(2));
    ON2(47, dat_psp_query, 3, PLACE(1));
    ON0(48, dat_psp_free);
    IA4(49, dat_rsp_create, 0x1234567890, PLACE(1), PLACE(2), PLACE(3));
    ON2(50, dat_rsp_query, 3, PLACE(1));
    ON0(51, dat_rsp_free);
    IA4(55, dat_psp_create_any, PLACE(1), PLACE(2), 1, PLACE(3));
}

static void on_endpoints(void)
{
    ARRIVES(27, dat_ep_create(ia, PLACE(1), PLACE(2), PLACE(3), PLACE(4), PLACE(5), PLACE(6)),
            own_ia, W(PLACE(1)), W(PLACE(2)), W(PLACE(3)), W(PLACE(4)), W(PLACE(5)), W(PLACE(6)));
    ARRIVES(61,
            dat_ep_create_with_srq(ia, PLACE(1), PLACE(2), PLACE(3), PLACE(4), PLACE(5), PLACE(6),
                                   PLACE(7)),
            own_ia, W(PLACE(1)), W(PLACE(2)), W(PLACE(3)), W(PLACE(4)), W(PLACE(5)), W(PLACE(6)),
            W(PLACE(7)));
    ON2(28, dat_ep_query, 3, PLACE(1));
    ON2(29, dat_ep_modify, 3, PLACE(1));
    ARRIVES(30, dat_ep_connect(object, PLACE(1), 0x1234567890, 7, 8, PLACE(2), 9, 10), W(object),
            W(PLACE(1)), 0x1234567890, 7, 8, W(PLACE(2)), 9, 10);
    ON5(31, dat_ep_dup_connect, PLACE(1), 7, 8, PLACE(2), 9);
    ON1(32, dat_ep_disconnect, 77);
    ON3(37, dat_ep_get_status, PLACE(1), PLACE(2), PLACE(3));
    ON0(38, dat_ep_free);
    ON0(56, dat_ep_reset);
    ON2(62, dat_ep_recv_query, PLACE(1), PLACE(2));
    ON2(63, dat_ep_set_watermark, 5, 6);
}

static void on_posts(void)
{
    ARRIVES(33, dat_ep_post_send(object, 3, PLACE(1), context(), 4), W(object), 3, W(PLACE(1)),
            CONTEXT, 4);
    ARRIVES(34, dat_ep_post_recv(object, 3, PLACE(1), context(), 4), W(object), 3, W(PLACE(1)),
            CONTEXT, 4);
    ARRIVES(35, dat_ep_post_rdma_read(object, 3, PLACE(1), context(), PLACE(2), 4), W(object), 3,
            W(PLACE(1)), CONTEXT, W(PLACE(2)), 4);
    ARRIVES(36, dat_ep_post_rdma_write(object, 3, PLACE(1), context(), PLACE(2), 4), W(object), 3,
            W(PLACE(1)), CONTEXT, W(PLACE(2)), 4);
    ARRIVES(66, dat_srq_post_recv(object, 3, PLACE(1), context()), W(object), 3, W(PLACE(1)),
            CONTEXT);
}

static void on_memory(void)
{
    DAT_REGION_DESCRIPTION region;

    memset(&region, 0, sizeof region);
    region.for_va = PLACE(7);
#if API == 1
    ARRIVES(39,
            dat_lmr_create(ia, 1, region, 0x1234567890, PLACE(1), 2, PLACE(2), PLACE(3), PLACE(4),
                           PLACE(5), PLACE(6)),
            own_ia, 1, W(PLACE(7)), 0, 0x1234567890, W(PLACE(1)), 2, W(PLACE(2)), W(PLACE(3)),
            W(PLACE(4)), W(PLACE(5)), W(PLACE(6)));
    ARRIVES(44, dat_rmr_bind(object, PLACE(1), 2, PLACE(2), context(), 3, PLACE(3)), W(object),
            W(PLACE(1)), 2, W(PLACE(2)), CONTEXT, 3, W(PLACE(3)));
#else
    ARRIVES(39,
            dat_lmr_create(ia, 1, region, 0x1234567890, PLACE(1), 2, 3, PLACE(2), PLACE(3),
                           PLACE(4), PLACE(5), PLACE(6)),
            own_ia, 1, W(PLACE(7)), 0, 0x1234567890, W(PLACE(1)), 2, 3, W(PLACE(2)), W(PLACE(3)),
            W(PLACE(4)), W(PLACE(5)), W(PLACE(6)));
    ARRIVES(44, dat_rmr_bind(object, PLACE(1), PLACE(2), 2, 3, PLACE(3), context(), 4, PLACE(4)),
            W(object), W(PLACE(1)), W(PLACE(2)), 2, 3, W(PLACE(3)), CONTEXT, 4, W(PLACE(4)));
#endif
    ON2(40, dat_lmr_query, 3, PLACE(1));
    ON0(41, dat_lmr_free);
    ON1(42, dat_rmr_create, PLACE(1));
    ON2(43, dat_rmr_query, 3, PLACE(1));
    ON0(45, dat_rmr_free);
    ON2(53, dat_pz_query, 3, PLACE(1));
    IA2(59, dat_lmr_sync_rdma_read, PLACE(1), 5);
    IA2(60, dat_lmr_sync_rdma_write, PLACE(1), 5);
    IA3(64, dat_srq_create, PLACE(1), PLACE(2), PLACE(3));
    ON0(65, dat_srq_free);
    ON2(67, dat_srq_query, 3, PLACE(1));
    ON1(68, dat_srq_resize, 5);
    ON1(69, dat_srq_set_lw, 5);
}

#if API == 2
static void on_what_2_0_added(void)
{
    IA4(70, dat_csp_create, PLACE(1), PLACE(2), PLACE(3), PLACE(4));
    ON2(71, dat_csp_query, 3, PLACE(1));
    ON0(72, dat_csp_free);
    ON4(73, dat_ep_common_connect, PLACE(1), 7, 8, PLACE(2));
    ON1(74, dat_rmr_create_for_ep, PLACE(1));
    ARRIVES(75, dat_ep_post_send_with_invalidate(object, 3, PLACE(1), context(), 4, 1, 99),
            W(object), 3, W(PLACE(1)), CONTEXT, 4, 1, 99);
    ARRIVES(76, dat_ep_post_rdma_read_to_rmr(object, PLACE(1), context(), PLACE(2), 4), W(object),
            W(PLACE(1)), CONTEXT, W(PLACE(2)), 4);
    IA2(77, dat_cno_fd_create, PLACE(1), PLACE(2));
    ON1(78, dat_cno_trigger, PLACE(1));
}

/* Opening and closing a query: the provider gets the name in place of a handle to open it, and its
 * own handle to close it. */
static void looked(void)
{
    DAT_IA_ATTR attr;
    DAT_HANDLE look = DAT_HANDLE_NULL;

    CHECK(dat_ib_open_query("extended", &look, 5, &attr, 0, NULL) == DAT_SUCCESS);
    CHECK(look != DAT_HANDLE_NULL && record->calls[80] == 1 && record->words[0] == 5);
    CHECK(strcmp(record->name, "extended") == 0);
    CHECK(dat_ib_close_query(look) == DAT_SUCCESS && record->calls[80] == 2);
    CHECK(dat_ib_close_query(look) ==
          (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA));
    CHECK(dat_ib_open_query("unknown", &look, 0, NULL, 0, NULL) ==
          (DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED));
    CHECK(dat_ib_open_query("loopback", &look, 1, &attr, 0, NULL) == DAT_SUCCESS);
    CHECK(strcmp(attr.adapter_name, "loopback") == 0);
    CHECK(dat_ib_close_query(look) == DAT_SUCCESS && record->calls[80] == 2);
    record->calls[80] = 0;
}

/* The slot for extended operations is used only if the adapter reports extensions. */
static void extended(void)
{
    DAT_IA_HANDLE other;
    DAT_RETURN code = dat_extension_op(object, 7, PLACE(1));

    CHECK(code == (DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED) && record->calls[80] == 0);
    CHECK(open_name("extended", &other) == DAT_SUCCESS);
    CHECK(dat_extension_op(object, 7, PLACE(1)) == ANSWER(80) && record->calls[80] == 1);
    CHECK(record->words[0] == (WORD)object && (uint32_t)record->words[1] == 7);
    CHECK(record->words[2] == (WORD)PLACE(1));
    CHECK(dat_extension_op(ia, 7, PLACE(1)) == ANSWER(80) && record->words[0] == own_ia);
    CHECK(dat_ia_close(other, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    record->calls[80] = 0;
    looked();
    covered[80] = 1;
}
#endif

/* A redirection macro calls the provider directly. */
static void by_macro(void)
{
    ARRIVES(56, DAT_EP_RESET(object), W(object));
    ARRIVES(25, DAT_EVD_DEQUEUE(object, PLACE(1)), W(object), W(PLACE(1)));
    ARRIVES(33, DAT_EP_POST_SEND(object, 3, PLACE(1), context(), 4), W(object), 3, W(PLACE(1)),
            CONTEXT, 4);
}

void test_arguments(void)
{
    size_t slot;
    DAT_PZ_HANDLE *place = (DAT_PZ_HANDLE *)&object;

    CHECK(open_name("good", &ia) == DAT_SUCCESS);
    CHECK(dat_ia_query(ia, PLACE(1), 0, NULL, 5, PLACE(2)) == DAT_SUCCESS);
    CHECK(record->words[1] == W(PLACE(1)) && record->words[2] == 0 && record->words[3] == 5);
    own_ia = record->words[0];
    CHECK(dat_pz_create(ia, place) == DAT_SUCCESS && object != DAT_HANDLE_NULL);
    CHECK(record->words[0] == own_ia && record->words[1] == W(place));
    on_any_object();
    on_events();
    on_connections();
    on_endpoints();
    on_posts();
    on_memory();
#if API == 2
    on_what_2_0_added();
    extended();
#endif
    by_macro();
    /* 0 and 1 are not functions, 2 to 4, 52 and 54 do more than record, and 79 has no call of its
       own. */
    for (slot = 5; slot < SLOTS; slot++) {
        if (!covered[slot] && slot != 52 && slot != 54 && slot != 79) {
            printf("NOT OK: no call for slot %d\n", (int)slot);
            failures++;
        }
    }
    CHECK(dat_pz_free(object) == DAT_SUCCESS);
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}
