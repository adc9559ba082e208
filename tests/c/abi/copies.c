/*
 * Calls return copies: a program that overwrites structs, addresses, private data and lists of
 * attributes spoils nothing, and later calls return the same values again.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

static DAT_HANDLE set[KINDS];

/* A copy of something that a call returned, to be compared with later results. */
struct copy {
    const char *what;
    unsigned char bytes[512];
    size_t size;
};

static struct copy copies[64];
static size_t copied, compared;

static void scribble(const void *from, size_t size)
{
    /* The memory belongs to the library: programs must not write it, but some do. */
    memset((void *)(uintptr_t)from, 0x5a, size);
}

/* The first call stores the contents, the second compares them; both overwrite the memory. */
static void see(int again, const char *what, const void *from, size_t size)
{
    struct copy *copy = again ? &copies[compared++] : &copies[copied++];

    if (from == NULL) {
        CHECK(0, "%s is not told", what);
    } else if (again) {
        CHECK(copy->size == size && memcmp(copy->bytes, from, size) == 0,
              "%s was spoiled by its reader", what);
        scribble(from, size);
    } else {
        copy->what = what;
        copy->size = size;
        memcpy(copy->bytes, from, size);
        scribble(from, size);
    }
}
#define SEE(again, place) see(again, #place, &(place), sizeof(place))
#define SEE_AT(again, pointer, size) see(again, #pointer, pointer, size)

static void see_list(int again, const char *what, DAT_NAMED_ATTR *list, DAT_COUNT count)
{
    CHECK(count >= 0 && (count == 0 || list != NULL), "%s has no entries", what);
    for (DAT_COUNT i = 0; i < count; i++) {
        DAT_NAMED_ATTR attribute = list[i];

        see(again, what, attribute.name, strlen(attribute.name));
        see(again, what, attribute.value, strlen(attribute.value));
        scribble(&list[i], sizeof list[i]);
    }
}

static void see_adapter(int again)
{
    DAT_EVD_HANDLE async;
    DAT_IA_ATTR ia;
    DAT_PROVIDER_ATTR provider;

    MUST(dat_ia_query(set[KIND_IA], &async, DAT_IA_FIELD_ALL, &ia, DAT_PROVIDER_FIELD_ALL,
                      &provider));
    CHECK(strcmp(ia.adapter_name, adapter) == 0, "the adapter is called \"%.99s\"",
          ia.adapter_name);
    SEE(again, async);
    SEE(again, ia.adapter_name);
    SEE(again, ia.vendor_name);
    SEE(again, ia.max_eps);
    SEE(again, ia.max_lmr_virtual_address);
    SEE(again, ia.max_rdma_read_out);
    SEE_AT(again, ia.ia_address_ptr, sizeof *ia.ia_address_ptr);
    see_list(again, "transport_attr", ia.transport_attr, ia.num_transport_attr);
    see_list(again, "vendor_attr", ia.vendor_attr, ia.num_vendor_attr);
    SEE(again, provider.provider_name);
    SEE(again, provider.dapl_version_major);
    SEE(again, provider.max_private_data_size);
    SEE(again, provider.evd_stream_merging_supported);
    see_list(again, "provider_specific_attr", provider.provider_specific_attr,
             provider.num_provider_specific_attr);
}

static void see_request(int again, const void *sent, DAT_COUNT size)
{
    DAT_CR_PARAM param;

    MUST(dat_cr_query(set[KIND_CR], DAT_CR_FIELD_ALL, &param));
    CHECK(param.private_data_size == size, "%d bytes of private data instead of %d",
          (int)param.private_data_size, (int)size);
    CHECK(memcmp(param.private_data, sent, (size_t)size) == 0, "other private data");
    SEE_AT(again, param.private_data, (size_t)size);
    SEE_AT(again, param.remote_ia_address_ptr, sizeof *param.remote_ia_address_ptr);
    SEE(again, param.remote_port_qual);
    SEE(again, param.local_ep_handle);
}

static void see_endpoint(int again, DAT_EP_HANDLE ep)
{
    DAT_EP_PARAM param;

    MUST(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    CHECK(param.ia_handle == set[KIND_IA], "the endpoint of another adapter");
    SEE(again, param.ep_state);
    SEE_AT(again, param.local_ia_address_ptr, sizeof *param.local_ia_address_ptr);
    SEE_AT(again, param.remote_ia_address_ptr, sizeof *param.remote_ia_address_ptr);
    SEE(again, param.remote_port_qual);
    SEE(again, param.pz_handle);
    SEE(again, param.request_evd_handle);
    SEE(again, param.ep_attr.max_recv_dtos);
    SEE(again, param.ep_attr.max_rdma_size);
    see_list(again, "ep_transport_specific", param.ep_attr.ep_transport_specific,
             param.ep_attr.ep_transport_specific_count);
    see_list(again, "ep_provider_specific", param.ep_attr.ep_provider_specific,
             param.ep_attr.ep_provider_specific_count);
}

static void see_others(int again)
{
    DAT_EVD_PARAM evd;
    DAT_LMR_PARAM lmr;
    DAT_RMR_PARAM rmr;
    DAT_PSP_PARAM psp;
    DAT_RSP_PARAM rsp;
    DAT_SRQ_PARAM srq;

    MUST(dat_evd_query(set[KIND_EVD], DAT_EVD_FIELD_ALL, &evd));
    SEE(again, evd.evd_qlen);
    SEE(again, evd.evd_flags);
    MUST(dat_lmr_query(set[KIND_LMR], DAT_LMR_FIELD_ALL, &lmr));
    SEE(again, lmr.region_desc.for_va);
    SEE(again, lmr.length);
    SEE(again, lmr.lmr_context);
    MUST(dat_rmr_query(set[KIND_RMR], DAT_RMR_FIELD_ALL, &rmr));
    SEE(again, rmr.pz_handle);
    MUST(dat_psp_query(set[KIND_PSP], DAT_PSP_FIELD_ALL, &psp));
    SEE(again, psp.conn_qual);
    MUST(dat_rsp_query(set[KIND_RSP], DAT_RSP_FIELD_ALL, &rsp));
    SEE(again, rsp.ep_handle);
    MUST(dat_srq_query(set[KIND_SRQ], DAT_SRQ_FIELD_ALL, &srq));
    SEE(again, srq.max_recv_dtos);
#ifndef DAT_1_2
    {
        DAT_CSP_PARAM csp;

        MUST(dat_csp_query(set[KIND_CSP], DAT_CSP_FIELD_ALL, &csp));
        SEE_AT(again, csp.comm, sizeof *csp.comm);
        SEE_AT(again, csp.address_ptr, sizeof *csp.address_ptr);
        SEE(again, csp.evd_handle);
    }
#endif
}

int main(void)
{
    char sent[] = "what the other side says";
    DAT_EP_HANDLE active, passive;
    DAT_PSP_PARAM listening;
    DAT_EVENT event;
    DAT_COUNT more;

    open_adapter(set);
    make(set);
    MUST(dat_psp_query(set[KIND_PSP], DAT_PSP_FIELD_ALL, &listening));
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                       NULL, &active));
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                       NULL, &passive));
    MUST(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, listening.conn_qual,
                        DAT_TIMEOUT_INFINITE, sizeof sent, sent, DAT_QOS_BEST_EFFORT,
                        DAT_CONNECT_DEFAULT_FLAG));
    MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
    set[KIND_CR] = event.event_data.cr_arrival_event_data.cr_handle;
    scribble(event.event_data.cr_arrival_event_data.local_ia_address_ptr, sizeof(struct sockaddr));
    for (int again = 0; again < 2; again++) {
        see_adapter(again);
        see_request(again, sent, sizeof sent);
        see_others(again);
    }

    /* Once connected, it has the address of the other side. */
    MUST(dat_cr_accept(set[KIND_CR], passive, sizeof sent, sent));
    for (int i = 0; i < 2; i++) {
        DAT_CONNECTION_EVENT_DATA *data = &event.event_data.connect_event_data;

        MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
        if (data->ep_handle == active) {
            CHECK(data->private_data_size == sizeof sent &&
                      memcmp(data->private_data, sent, sizeof sent) == 0,
                  "the private data in the reply");
            scribble(data->private_data, sizeof sent);
        }
    }
    for (int again = 0; again < 2; again++) {
        see_endpoint(again, active);
        see_endpoint(again, passive);
    }
    CHECK(copied == compared, "%zu copies, %zu compared", copied, compared);
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    return verdict();
}
