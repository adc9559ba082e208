/*
 * Invalid handles, while a C provider is loaded.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <sys/mman.h>

#include "client.h"

/* Calls every function with `handle`, which must be refused. */
static void is_refused(DAT_HANDLE handle)
{
    DAT_CONTEXT context;
    DAT_EVENT event;
    DAT_EP_STATE state;

    context.as_64 = 0;
    CHECK(TYPE(dat_pz_free(handle)) == DAT_INVALID_HANDLE);
    CHECK(TYPE(dat_evd_dequeue(handle, &event)) == DAT_INVALID_HANDLE);
    CHECK(TYPE(dat_ep_post_send(handle, 0, NULL, context, 0)) == DAT_INVALID_HANDLE);
    CHECK(TYPE(dat_ep_get_status(handle, &state, NULL, NULL)) == DAT_INVALID_HANDLE);
    CHECK(TYPE(dat_set_consumer_context(handle, context)) == DAT_INVALID_HANDLE);
    CHECK(TYPE(dat_ia_close(handle, DAT_CLOSE_ABRUPT_FLAG)) == DAT_INVALID_HANDLE);
}

static void made_up(void)
{
    static WORD words[4] = {0, 8, 0x7fffffffe000, ~(WORD)0};
    char *page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const WORD values[] = {0, 8, 61, 0xfff, 0x1000, 0x7ffffffff000, 0x8000000000000000, ~(WORD)7,
                           ~(WORD)0};
    size_t i;

    CHECK(page != MAP_FAILED);
    for (i = 0; i < sizeof values / sizeof *values; i++)
        is_refused((DAT_HANDLE)values[i]);
    /* Memory of this program whose first word is not a provider table, or that is too short. */
    for (i = 0; i < 4; i++)
        is_refused(&words[i]);
    is_refused(page);
    is_refused(page + 1);
    CHECK(mprotect(page + 4096, 4096, PROT_NONE) == 0 && munmap(page + 2 * 4096, 4096) == 0);
    is_refused(page + 4096);
    is_refused(page + 4096 - 4);
    is_refused(page + 2 * 4096);
    munmap(page, 2 * 4096);
}

/* Handles of both kinds of providers, while they are open and after they are closed. */
static void mixed(void)
{
    DAT_IA_HANDLE theirs, ours;
    DAT_PZ_HANDLE their_pz, our_pz;
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_PZ_PARAM param;
    int i;

    CHECK(open_name("good", &theirs) == DAT_SUCCESS);
    CHECK(dat_ia_open("loopback", 8, &evd, &ours) == DAT_SUCCESS);
    made_up();
    for (i = 0; i < 2000; i++) {
        CHECK(dat_pz_create(theirs, &their_pz) == DAT_SUCCESS);
        CHECK(dat_pz_create(ours, &our_pz) == DAT_SUCCESS);
        CHECK(dat_pz_query(their_pz, 1, &param) == ANSWER(53));
        CHECK(dat_pz_query(our_pz, 1, &param) == DAT_SUCCESS && param.ia_handle == ours);
        /* The provider has unmapped the page of its zone: reading it would crash. */
        CHECK(dat_pz_free(their_pz) == DAT_SUCCESS);
        CHECK(TYPE(dat_pz_query(their_pz, 1, &param)) == DAT_INVALID_HANDLE);
        CHECK(dat_pz_free(our_pz) == DAT_SUCCESS);
        CHECK(TYPE(dat_pz_query(our_pz, 1, &param)) == DAT_INVALID_HANDLE);
    }
    /* The library's own calls refuse handles of other providers. */
    CHECK(dat_pz_create(theirs, &their_pz) == DAT_SUCCESS);
    CHECK(dat_ia_open("good", 8, &evd, &ours) != DAT_SUCCESS);
    CHECK(strstr(dat_error_detail(), "belongs to another provider") != NULL);
    CHECK(dat_ia_close(theirs, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    /* Once the provider is gone, its objects belong to no library. */
    CHECK(!is_loaded("provider.so"));
    CHECK(TYPE(dat_pz_query(their_pz, 1, &param)) == DAT_INVALID_HANDLE);
    made_up();
    CHECK(dat_ia_close(ours, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

void test_handles(void) { mixed(); }
