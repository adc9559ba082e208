/*
 * Arrays whose length is passed, in memory that ends before the array does: every call refuses
 * them, and reads nothing beyond. An array that ends with its memory is accepted.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _DEFAULT_SOURCE
#include "../objects.h"

#include <sys/mman.h>
#include <unistd.h>

#define SEGMENTS 5

static DAT_HANDLE set[KINDS];
static DAT_EP_HANDLE peer;

/* The last bytes before memory ends: followed by nothing, or by a page without access. */
static unsigned char *end_of_memory(int guarded)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    unsigned char *start = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (start == MAP_FAILED)
        exit(2);
    if (guarded ? mprotect(start + 2 * page, page, PROT_NONE) : munmap(start + 2 * page, page))
        exit(2);
    return start + 2 * page;
}

static void is_refused(const char *what, DAT_RETURN code)
{
    CHECK(DAT_GET_TYPE(code) == DAT_INVALID_PARAMETER, "%s: %#x", what, (unsigned)code);
    CHECK(strstr(dat_error_detail(), "memory ends") != NULL, "%s: %s", what, dat_error_detail());
}
#define REFUSED(call) is_refused(#call, call)
#define TAKEN(call) must(call, #call)

static DAT_DTO_COOKIE cookie(void)
{
    DAT_DTO_COOKIE cookie;

    cookie.as_64 = 1;
    return cookie;
}

static void segments(unsigned char *end)
{
    DAT_LMR_TRIPLET *four = (DAT_LMR_TRIPLET *)(void *)end - (SEGMENTS - 1);
    DAT_RMR_TRIPLET remote;
    DAT_COMPLETION_FLAGS flags = DAT_COMPLETION_DEFAULT_FLAG;

    memset(&remote, 0, sizeof remote);
    for (int at = 0; at < SEGMENTS - 1; at++) {
        four[at] = segment;
        four[at].segment_length = 1;
    }
    REFUSED(dat_lmr_sync_rdma_read(set[KIND_IA], four, SEGMENTS));
    REFUSED(dat_lmr_sync_rdma_write(set[KIND_IA], four, SEGMENTS));
    REFUSED(dat_lmr_sync_rdma_read(set[KIND_IA], four, 1 << 20));
    REFUSED(dat_ep_post_recv(set[KIND_EP], SEGMENTS, four, cookie(), flags));
    REFUSED(dat_srq_post_recv(set[KIND_SRQ], SEGMENTS, four, cookie()));
    REFUSED(dat_ep_post_send(asking, SEGMENTS, four, cookie(), flags));
    REFUSED(dat_ep_post_rdma_read(asking, SEGMENTS, four, cookie(), &remote, flags));
    REFUSED(dat_ep_post_rdma_write(asking, SEGMENTS, four, cookie(), &remote, flags));
#ifndef DAT_1_2
    REFUSED(dat_ep_post_send_with_invalidate(asking, SEGMENTS, four, cookie(), flags, DAT_FALSE,
                                             0));
#endif
    TAKEN(dat_lmr_sync_rdma_read(set[KIND_IA], four, SEGMENTS - 1));
    TAKEN(dat_lmr_sync_rdma_write(set[KIND_IA], four, SEGMENTS - 1));
    TAKEN(dat_ep_post_recv(peer, SEGMENTS - 1, four, cookie(), flags));
}

static void private_data(unsigned char *end)
{
    DAT_EP_HANDLE other;

    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                       NULL, &other));
    REFUSED(dat_cr_accept(set[KIND_CR], other, 17, end - 16));
#ifndef DAT_1_2
    REFUSED(dat_cr_reject(set[KIND_CR], 17, end - 16));
    REFUSED(dat_ep_common_connect(other, (DAT_IA_ADDRESS_PTR)&address, DAT_TIMEOUT_INFINITE, 17,
                                  end - 16));
#endif
    REFUSED(dat_ep_connect(other, (DAT_IA_ADDRESS_PTR)&address, 1, DAT_TIMEOUT_INFINITE, 17,
                           end - 16, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    REFUSED(dat_ep_dup_connect(other, asking, DAT_TIMEOUT_INFINITE, 17, end - 16,
                               DAT_QOS_BEST_EFFORT));
    MUST(dat_ep_free(other));
}

static void lists(unsigned char *end)
{
    DAT_PROVIDER_INFO **place = (DAT_PROVIDER_INFO **)(void *)end - 1;
    DAT_NAMED_ATTR *attribute = (DAT_NAMED_ATTR *)(void *)end - 1;
    static char name[] = "no attribute of that name", value[] = "value";
    DAT_PROVIDER_INFO info;
    DAT_EP_HANDLE other;
    DAT_EP_ATTR attributes;
    DAT_EP_PARAM param;
    DAT_COUNT found;

    *place = &info;
    /* If there are no other adapters, the list has one entry. */
    if (dat_registry_list_providers(64, &found, (DAT_PROVIDER_INFO *[64]){NULL}) == DAT_SUCCESS)
        exit(2);
    if (found > 1)
        REFUSED(dat_registry_list_providers(found, &found, place));
    else
        TAKEN(dat_registry_list_providers(1, &found, place));
    attribute->name = name;
    attribute->value = value;
    MUST(dat_ep_query(set[KIND_EP], DAT_EP_FIELD_ALL, &param));
    attributes = param.ep_attr;
    attributes.ep_provider_specific_count = 2;
    attributes.ep_provider_specific = attribute;
    REFUSED(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                          &attributes, &other));
}

int main(void)
{
    DAT_COUNT more;
    DAT_EVENT event;

    open_adapter(set);
    make(set);
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                       NULL, &peer));
    for (int guarded = 0; guarded < 2; guarded++) {
        private_data(end_of_memory(guarded));
        lists(end_of_memory(guarded));
    }
    MUST(dat_cr_accept(set[KIND_CR], peer, 0, NULL));
    for (int side = 0; side < 2; side++)
        MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
    for (int guarded = 0; guarded < 2; guarded++)
        segments(end_of_memory(guarded));
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    return verdict();
}
