/*
 * Raw values that programs write into attribute structs and masks, and read from them: the defaults
 * of the headers, stack garbage, undefined bits, sets of bits.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

static DAT_HANDLE set[KINDS];

/* The destination of queries. */
static union {
    unsigned char bytes[1024];
    DAT_UINT64 align;
} place;

/* An error code, as it is returned: the headers have no macro for it. */
#define CODE(type, subtype) ((DAT_RETURN)DAT_CLASS_ERROR | (DAT_RETURN)(type) | (DAT_RETURN)(subtype))

/* Checks that a call is refused for the argument with that number and writes nothing. */
#define REFUSED(argument, call)                                                              \
    do {                                                                                     \
        DAT_RETURN code_;                                                                    \
        memset(&place, 0xa5, sizeof place);                                                  \
        code_ = (call);                                                                      \
        CHECK(code_ == CODE(DAT_INVALID_PARAMETER, (argument)), "%s: %#x", #call,       \
              (unsigned)code_);                                                              \
        CHECK(is_untouched(), "%s writes a result though it fails", #call);                  \
    } while (0)

static int is_untouched(void)
{
    for (size_t i = 0; i < sizeof place.bytes; i++) {
        if (place.bytes[i] != 0xa5)
            return 0;
    }
    return 1;
}

#define WORKS(call)                                                                   \
    do {                                                                              \
        DAT_RETURN code_ = (call);                                                    \
        CHECK(code_ == DAT_SUCCESS, "%s: %#x: %s", #call, (unsigned)code_,            \
              dat_error_detail());                                                    \
    } while (0)

/* Queries with the mask of all fields, with an empty mask, and with each bit that belongs to no
 * field. */
#define TRY_MASK(query, handle, all, bits, type)                                      \
    do {                                                                              \
        WORKS(query(handle, (all), (type *)&place));                                  \
        WORKS(query(handle, 0, (type *)&place));                                      \
        for (int bit_ = 0; bit_ < (bits); bit_++) {                                   \
            if (!((DAT_UINT64)(all) & UINT64_C(1) << bit_))                           \
                REFUSED(DAT_INVALID_ARG2,                                             \
                        query(handle, (all) | (UINT64_C(1) << bit_), (type *)&place)); \
        }                                                                             \
    } while (0)

static void try_masks(void)
{
    DAT_IA_HANDLE ia = set[KIND_IA];

    TRY_MASK(dat_cno_query, set[KIND_CNO], 7 & (3 | DAT_CNO_FIELD_ALL), 31, DAT_CNO_PARAM);
    WORKS(dat_cno_query(set[KIND_CNO], DAT_CNO_FIELD_ALL, (DAT_CNO_PARAM *)&place));
    TRY_MASK(dat_evd_query, set[KIND_EVD], DAT_EVD_FIELD_ALL, 31, DAT_EVD_PARAM);
    TRY_MASK(dat_ep_query, set[KIND_EP], DAT_EP_FIELD_ALL, 64, DAT_EP_PARAM);
    TRY_MASK(dat_lmr_query, set[KIND_LMR], DAT_LMR_FIELD_ALL, 31, DAT_LMR_PARAM);
    TRY_MASK(dat_rmr_query, set[KIND_RMR], DAT_RMR_FIELD_ALL, 31, DAT_RMR_PARAM);
    TRY_MASK(dat_pz_query, set[KIND_PZ], DAT_PZ_FIELD_ALL, 31, DAT_PZ_PARAM);
    TRY_MASK(dat_psp_query, set[KIND_PSP], DAT_PSP_FIELD_ALL, 31, DAT_PSP_PARAM);
    TRY_MASK(dat_rsp_query, set[KIND_RSP], DAT_RSP_FIELD_ALL, 31, DAT_RSP_PARAM);
    TRY_MASK(dat_cr_query, set[KIND_CR], DAT_CR_FIELD_ALL, 31, DAT_CR_PARAM);
    TRY_MASK(dat_srq_query, set[KIND_SRQ], DAT_SRQ_FIELD_ALL, 31, DAT_SRQ_PARAM);
#ifndef DAT_1_2
    TRY_MASK(dat_csp_query, set[KIND_CSP], DAT_CSP_FIELD_ALL, 31, DAT_CSP_PARAM);
#endif
    WORKS(dat_ia_query(ia, NULL, DAT_IA_ALL, (DAT_IA_ATTR *)&place, 0, NULL));
    for (int bit = 0; bit < 64; bit++) {
        DAT_UINT64 mask = UINT64_C(1) << bit;

        if (!(mask & DAT_IA_FIELD_ALL))
            REFUSED(DAT_INVALID_ARG3, dat_ia_query(ia, NULL, mask, (DAT_IA_ATTR *)&place, 0, NULL));
        if (!(mask & DAT_PROVIDER_FIELD_ALL))
            REFUSED(DAT_INVALID_ARG5,
                    dat_ia_query(ia, NULL, 0, NULL, mask, (DAT_PROVIDER_ATTR *)&place));
    }
}

/* Attributes that are sets of bits. */
static void try_sets(void)
{
    DAT_PROVIDER_ATTR has;
    DAT_EVD_PARAM evd;

    WORKS(dat_ia_query(set[KIND_IA], NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &has));
    CHECK(has.lmr_mem_types_supported ==
              (DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_SHARED_VIRTUAL),
          "kinds of memory: %#x", (unsigned)has.lmr_mem_types_supported);
    CHECK(has.lmr_mem_types_supported & DAT_MEM_TYPE_LMR, "regions can be made of regions");
    CHECK(has.srq_watermarks_supported == 0x111, "watermarks: %#x",
          (unsigned)has.srq_watermarks_supported);
    CHECK(has.srq_info_supported == 0x11, "counts of queues: %#x",
          (unsigned)has.srq_info_supported);
    CHECK(has.ep_recv_info_supported == 0x11, "counts of receives: %#x",
          (unsigned)has.ep_recv_info_supported);
    CHECK((has.completion_flags_supported & DAT_COMPLETION_SUPPRESS_FLAG) &&
              (has.completion_flags_supported & DAT_COMPLETION_BARRIER_FENCE_FLAG),
          "completion flags: %#x", (unsigned)has.completion_flags_supported);
    WORKS(dat_evd_query(set[KIND_EVD], DAT_EVD_FIELD_ALL, &evd));
    CHECK(evd.evd_state & DAT_EVD_STATE_ENABLED && evd.evd_state & DAT_EVD_STATE_WAITABLE,
          "state of a dispatcher: %#x", (unsigned)evd.evd_state);
}

/* Attributes of a reliable connection with all fields filled in, as programs do it. */
static DAT_EP_ATTR filled(void)
{
    DAT_EP_ATTR attributes;

    memset(&attributes, 0, sizeof attributes);
    attributes.service_type = DAT_SERVICE_TYPE_RC;
    attributes.max_message_size = attributes.max_rdma_size = 65536;
    attributes.qos = DAT_QOS_BEST_EFFORT;
    attributes.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    attributes.max_recv_dtos = attributes.max_request_dtos = 4;
    attributes.max_recv_iov = attributes.max_request_iov = 2;
    attributes.max_rdma_read_in = attributes.max_rdma_read_out = 1;
    attributes.max_rdma_read_iov = attributes.max_rdma_write_iov = 1;
    attributes.srq_soft_hw = DAT_HW_DEFAULT;
    return attributes;
}

static void try_endpoint(const char *what, DAT_EP_ATTR attributes, DAT_SRQ_HANDLE srq)
{
    DAT_EVD_HANDLE evd = set[KIND_EVD];
    DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
    DAT_EP_PARAM param;
    DAT_RETURN code;

    if (srq == DAT_HANDLE_NULL)
        code = dat_ep_create(set[KIND_IA], set[KIND_PZ], evd, evd, evd, &attributes, &ep);
    else
        code = dat_ep_create_with_srq(set[KIND_IA], set[KIND_PZ], evd, evd, evd, srq, &attributes,
                                      &ep);
    CHECK(code == DAT_SUCCESS, "%s: %#x: %s", what, (unsigned)code, dat_error_detail());
    if (code != DAT_SUCCESS)
        return;
    memset(&param, 0, sizeof param);
    param.ep_attr = attributes;
    code = dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param);
    CHECK(code == DAT_SUCCESS, "%s, in a change: %#x: %s", what, (unsigned)code,
          dat_error_detail());
    /* Attributes that a query returned can be requested. */
    WORKS(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    code = dat_ep_modify(ep, DAT_EP_FIELD_EP_ATTR_ALL, &param);
    CHECK(code == DAT_SUCCESS, "%s, after a query: %#x: %s", what, (unsigned)code,
          dat_error_detail());
    WORKS(dat_ep_free(ep));
}

static void try_endpoints(void)
{
    static const DAT_COUNT left[] = {-1, -2, 7, 0x7fffffff, (DAT_COUNT)0xa5a5a5a5u};
    DAT_EP_ATTR attributes = filled();
    DAT_HANDLE none = DAT_HANDLE_NULL;

    try_endpoint("filled in completely", attributes, none);
    try_endpoint("filled in completely, with a queue", attributes, set[KIND_SRQ]);
    memset(&attributes, 0, sizeof attributes);
    try_endpoint("all zero", attributes, none);
    try_endpoint("all zero, with a queue", attributes, set[KIND_SRQ]);
    for (size_t i = 0; i < sizeof left / sizeof *left; i++) {
        attributes = filled();
        attributes.srq_soft_hw = left[i];
        try_endpoint("a watermark without a queue", attributes, none);
        attributes = filled();
        attributes.max_rdma_read_out = 0;
        attributes.max_rdma_read_iov = left[i];
        try_endpoint("segments of reads without reads", attributes, none);
        attributes = filled();
        attributes.max_recv_iov = left[i];
        try_endpoint("segments of receives with a queue", attributes, set[KIND_SRQ]);
        attributes = filled();
        attributes.ep_transport_specific = (DAT_NAMED_ATTR *)(uintptr_t)0x5a5a5a5a5a5a5a5au;
        attributes.ep_provider_specific = (DAT_NAMED_ATTR *)(uintptr_t)1;
        try_endpoint("empty lists of attributes", attributes, none);
#ifndef DAT_1_2
        attributes = filled();
        attributes.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
        attributes.max_rdma_size = (DAT_SEG_LENGTH)left[i];
        attributes.max_rdma_read_in = attributes.max_rdma_read_out = left[i];
        attributes.max_rdma_read_iov = attributes.max_rdma_write_iov = left[i];
        try_endpoint("RDMA of datagrams", attributes, none);
#endif
    }
}

/* The other defaults of the headers, each in its place. */
static void try_defaults(void)
{
    DAT_SRQ_ATTR shape = {4, 1, DAT_SRQ_LW_DEFAULT};
    DAT_SRQ_HANDLE srq;
    DAT_EVD_HANDLE evd;

    WORKS(dat_srq_create(set[KIND_IA], set[KIND_PZ], &shape, &srq));
    WORKS(dat_srq_set_lw(srq, DAT_SRQ_LW_DEFAULT));
    WORKS(dat_srq_free(srq));
    WORKS(dat_ep_set_watermark(set[KIND_EP], DAT_WATERMARK_INFINITE, DAT_WATERMARK_INFINITE));
    WORKS(dat_ep_set_watermark(set[KIND_EP], DAT_HW_DEFAULT, DAT_HW_DEFAULT));
    WORKS(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_DEFAULT_FLAG, &evd));
    WORKS(dat_evd_modify_cno(evd, DAT_HANDLE_NULL));
    WORKS(dat_evd_free(evd));
    WORKS(dat_cno_modify_agent(set[KIND_CNO], DAT_OS_WAIT_PROXY_AGENT_NULL));
}

static DAT_RETURN registered(DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION what, DAT_VLEN length,
                             DAT_MEM_PRIV_FLAGS privileges, DAT_LMR_HANDLE *lmr)
{
#ifdef DAT_1_2
    return dat_lmr_create(set[KIND_IA], type, what, length, set[KIND_PZ], privileges, lmr, NULL,
                          NULL, NULL, NULL);
#else
    return dat_lmr_create(set[KIND_IA], type, what, length, set[KIND_PZ], privileges,
                          DAT_VA_TYPE_VA, lmr, NULL, NULL, NULL, NULL);
#endif
}

/* A region of length 0, and a length that is ignored. */
static void try_lengths(void)
{
    DAT_RETURN no_bytes = CODE(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE);
    DAT_REGION_DESCRIPTION what;
    DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
    DAT_RETURN code;

    what.for_va = memory;
    code = registered(DAT_MEM_TYPE_VIRTUAL, what, 0, DAT_MEM_PRIV_ALL_FLAG, &lmr);
    CHECK(code == no_bytes && lmr == DAT_HANDLE_NULL, "a region of length 0: %#x", (unsigned)code);
    what.for_va = NULL;
    code = registered(DAT_MEM_TYPE_VIRTUAL, what, 0, DAT_MEM_PRIV_ALL_FLAG, &lmr);
    CHECK(code == no_bytes, "a region of length 0 at no address: %#x", (unsigned)code);
    what.for_va = memory;
    WORKS(registered(DAT_MEM_TYPE_VIRTUAL, what, 1, DAT_MEM_PRIV_NONE_FLAG, &lmr));
    WORKS(dat_lmr_free(lmr));
    what.for_lmr_handle = set[KIND_LMR];
    WORKS(registered(DAT_MEM_TYPE_LMR, what, 0, DAT_MEM_PRIV_ALL_FLAG, &lmr));
    WORKS(dat_lmr_free(lmr));
    WORKS(registered(DAT_MEM_TYPE_LMR, what, ~(DAT_VLEN)0, DAT_MEM_PRIV_ALL_FLAG, &lmr));
    WORKS(dat_lmr_free(lmr));
}

int main(void)
{
    open_adapter(set);
    make(set);
    try_masks();
    try_sets();
    try_endpoints();
    try_defaults();
    try_lengths();
    destroy(set);
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    return verdict();
}
