/*
 * Every call, and its result for a handle or pointer that it cannot use. One row per call:
 *
 *     CALL(name, (expressions passed), kind of each argument, in the order of the prototype)
 *
 * In the expressions, P(i) is argument i as a pointer and V(i) as a value, starting at 0.
 *
 *     HANDLE(KIND, SUBTYPE)    a handle, and the subtype of DAT_INVALID_HANDLE for others
 *     MAYBE(KIND, SUBTYPE)     a handle for which DAT_HANDLE_NULL is allowed
 *     RESULT(type)             the destination of a result; RESULT_MAYBE if NULL is allowed
 *     GIVEN(type, address)     memory that is read; GIVEN_MAYBE if NULL is allowed
 *     TABLE(address)           a function table, the one argument that must be aligned
 *     VALUE(v)                 anything else
 *
 * With _AS, the position of the argument in the prototype is given first, because unions and structs
 * that are passed by value are not counted here.
 *
 * The subtypes are those of the manual pages; if a page gives none, those of the OpenFabrics
 * library: DAT_INVALID_HANDLE_EVD_REQUEST for the calls of dispatchers, and DAT_INVALID_HANDLE1 for
 * those of any object.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define IA HANDLE(KIND_IA, DAT_INVALID_HANDLE_IA)
#define PZ HANDLE(KIND_PZ, DAT_INVALID_HANDLE_PZ)
#define LMR HANDLE(KIND_LMR, DAT_INVALID_HANDLE_LMR)
#define RMR HANDLE(KIND_RMR, DAT_INVALID_HANDLE_RMR)
#define EVD HANDLE(KIND_EVD, DAT_INVALID_HANDLE_EVD_REQUEST)
#define CNO HANDLE(KIND_CNO, DAT_INVALID_HANDLE_CNO)
#define EP HANDLE(KIND_EP, DAT_INVALID_HANDLE_EP)
#define PSP HANDLE(KIND_PSP, DAT_INVALID_HANDLE_PSP)
#define RSP HANDLE(KIND_RSP, DAT_INVALID_HANDLE_RSP)
#define CR HANDLE(KIND_CR, DAT_INVALID_HANDLE_CR)
#define SRQ HANDLE(KIND_SRQ, DAT_INVALID_HANDLE_SRQ)
#define ANY HANDLE(KIND_ANY, DAT_INVALID_HANDLE1)
#define CR_EVD HANDLE(KIND_EVD, DAT_INVALID_HANDLE_EVD_CR)
#define EVDS                                             \
    MAYBE(KIND_EVD, DAT_INVALID_HANDLE_EVD_RECV),        \
        MAYBE(KIND_EVD, DAT_INVALID_HANDLE_EVD_REQUEST), \
        MAYBE(KIND_EVD, DAT_INVALID_HANDLE_EVD_CONN)
#define SEGMENT VALUE(1), GIVEN(DAT_LMR_TRIPLET, &segment)
/* One byte of private data: it cannot be misaligned. */
#define PRIVATE VALUE(1), GIVEN(char, &byte)
#define ADDRESS GIVEN(struct sockaddr, &address)

CALL(dat_ia_openv, (P(0), V(1), P(2), P(3), V(4), V(5), V(6)),
     GIVEN(char, adapter), VALUE(8), GIVEN(DAT_EVD_HANDLE, &no_evd), RESULT(DAT_IA_HANDLE),
     VALUE(DAT_VERSION_MAJOR), VALUE(DAT_VERSION_MINOR), VALUE(DAT_THREADSAFE))
CALL(dat_ia_query, (P(0), P(1), V(2), P(3), V(4), P(5)),
     IA, RESULT_MAYBE(DAT_EVD_HANDLE), VALUE(DAT_IA_FIELD_ALL), RESULT(DAT_IA_ATTR),
     VALUE(DAT_PROVIDER_FIELD_ALL), RESULT(DAT_PROVIDER_ATTR))
CALL(dat_ia_close, (P(0), V(1)), IA, VALUE(DAT_CLOSE_GRACEFUL_FLAG))
CALL(dats_get_ia_handle, (P(0), P(1)), IA, RESULT(DAT_IA_HANDLE))

CALL(dat_set_consumer_context, (P(0), context), ANY)
CALL(dat_get_consumer_context, (P(0), P(1)), ANY, RESULT(DAT_CONTEXT))
CALL(dat_get_handle_type, (P(0), P(1)), ANY, RESULT(DAT_HANDLE_TYPE))

CALL(dat_cno_create, (P(0), no_agent, P(1)), IA, RESULT_AS(3, DAT_CNO_HANDLE))
CALL(dat_cno_modify_agent, (P(0), no_agent), CNO)
CALL(dat_cno_query, (P(0), V(1), P(2)), CNO, VALUE(DAT_CNO_FIELD_ALL), RESULT(DAT_CNO_PARAM))
CALL(dat_cno_wait, (P(0), V(1), P(2)), CNO, VALUE(0), RESULT(DAT_EVD_HANDLE))
CALL(dat_cno_free, (P(0)), CNO)

CALL(dat_evd_create, (P(0), V(1), P(2), V(3), P(4)),
     IA, VALUE(8), MAYBE(KIND_CNO, DAT_INVALID_HANDLE_CNO), VALUE(DAT_EVD_DTO_FLAG),
     RESULT(DAT_EVD_HANDLE))
CALL(dat_evd_query, (P(0), V(1), P(2)), EVD, VALUE(DAT_EVD_FIELD_ALL), RESULT(DAT_EVD_PARAM))
CALL(dat_evd_modify_cno, (P(0), P(1)), EVD, MAYBE(KIND_CNO, DAT_INVALID_HANDLE_CNO))
CALL(dat_evd_enable, (P(0)), EVD)
CALL(dat_evd_disable, (P(0)), EVD)
CALL(dat_evd_set_unwaitable, (P(0)), EVD)
CALL(dat_evd_clear_unwaitable, (P(0)), EVD)
CALL(dat_evd_resize, (P(0), V(1)), EVD, VALUE(16))
CALL(dat_evd_post_se, (P(0), P(1)), EVD, GIVEN(DAT_EVENT, &software_event))
CALL(dat_evd_dequeue, (P(0), P(1)), EVD, RESULT(DAT_EVENT))
CALL(dat_evd_wait, (P(0), V(1), V(2), P(3), P(4)),
     EVD, VALUE(0), VALUE(1), RESULT(DAT_EVENT), RESULT(DAT_COUNT))
CALL(dat_evd_free, (P(0)), EVD)

CALL(dat_ep_create, (P(0), P(1), P(2), P(3), P(4), P(5), P(6)),
     IA, PZ, EVDS, GIVEN_MAYBE(DAT_EP_ATTR, &ep_param.ep_attr), RESULT(DAT_EP_HANDLE))
CALL(dat_ep_create_with_srq, (P(0), P(1), P(2), P(3), P(4), P(5), P(6), P(7)),
     IA, PZ, EVDS, SRQ, GIVEN_MAYBE(DAT_EP_ATTR, &ep_param.ep_attr), RESULT(DAT_EP_HANDLE))
CALL(dat_ep_query, (P(0), V(1), P(2)), EP, VALUE(DAT_EP_FIELD_ALL), RESULT(DAT_EP_PARAM))
CALL(dat_ep_modify, (P(0), V(1), P(2)),
     EP, VALUE(DAT_EP_FIELD_PZ_HANDLE), GIVEN(DAT_EP_PARAM, &ep_param))
CALL(dat_ep_connect, (P(0), P(1), V(2), V(3), V(4), P(5), V(6), V(7)),
     EP, ADDRESS, VALUE(4791), VALUE(1), PRIVATE, VALUE(DAT_QOS_BEST_EFFORT),
     VALUE(DAT_CONNECT_DEFAULT_FLAG))
CALL(dat_ep_dup_connect, (P(0), P(1), V(2), V(3), P(4), V(5)),
     EP, EP, VALUE(1), PRIVATE, VALUE(DAT_QOS_BEST_EFFORT))
CALL(dat_ep_disconnect, (P(0), V(1)), EP, VALUE(DAT_CLOSE_ABRUPT_FLAG))
CALL(dat_ep_get_status, (P(0), P(1), P(2), P(3)),
     EP, RESULT_MAYBE(DAT_EP_STATE), RESULT_MAYBE(DAT_BOOLEAN), RESULT_MAYBE(DAT_BOOLEAN))
CALL(dat_ep_recv_query, (P(0), P(1), P(2)), EP, RESULT_MAYBE(DAT_COUNT), RESULT_MAYBE(DAT_COUNT))
CALL(dat_ep_set_watermark, (P(0), V(1), V(2)), EP, VALUE(1), VALUE(2))
CALL(dat_ep_reset, (P(0)), EP)
CALL(dat_ep_post_send, (P(0), V(1), P(2), context, V(3)), EP, SEGMENT, VALUE(0))
CALL(dat_ep_post_recv, (P(0), V(1), P(2), context, V(3)), EP, SEGMENT, VALUE(0))
CALL(dat_ep_post_rdma_read, (P(0), V(1), P(2), context, P(3), V(4)),
     EP, SEGMENT, GIVEN_AS(5, DAT_RMR_TRIPLET, &remote), VALUE(0))
CALL(dat_ep_post_rdma_write, (P(0), V(1), P(2), context, P(3), V(4)),
     EP, SEGMENT, GIVEN_AS(5, DAT_RMR_TRIPLET, &remote), VALUE(0))
CALL(dat_ep_free, (P(0)), EP)

CALL(dat_lmr_query, (P(0), V(1), P(2)), LMR, VALUE(DAT_LMR_FIELD_ALL), RESULT(DAT_LMR_PARAM))
CALL(dat_lmr_sync_rdma_read, (P(0), P(1), V(2)), IA, GIVEN(DAT_LMR_TRIPLET, &segment), VALUE(1))
CALL(dat_lmr_sync_rdma_write, (P(0), P(1), V(2)), IA, GIVEN(DAT_LMR_TRIPLET, &segment), VALUE(1))
CALL(dat_lmr_free, (P(0)), LMR)

CALL(dat_rmr_create, (P(0), P(1)), PZ, RESULT(DAT_RMR_HANDLE))
CALL(dat_rmr_query, (P(0), V(1), P(2)), RMR, VALUE(DAT_RMR_FIELD_ALL), RESULT(DAT_RMR_PARAM))
CALL(dat_rmr_free, (P(0)), RMR)

CALL(dat_psp_create, (P(0), V(1), P(2), V(3), P(4)),
     IA, VALUE(4792), CR_EVD, VALUE(DAT_PSP_CONSUMER_FLAG), RESULT(DAT_PSP_HANDLE))
CALL(dat_psp_create_any, (P(0), P(1), P(2), V(3), P(4)),
     IA, RESULT(DAT_CONN_QUAL), CR_EVD, VALUE(DAT_PSP_CONSUMER_FLAG), RESULT(DAT_PSP_HANDLE))
CALL(dat_psp_query, (P(0), V(1), P(2)), PSP, VALUE(DAT_PSP_FIELD_ALL), RESULT(DAT_PSP_PARAM))
CALL(dat_psp_free, (P(0)), PSP)
CALL(dat_rsp_create, (P(0), V(1), P(2), P(3), P(4)),
     IA, VALUE(4793), MAYBE(KIND_EP, DAT_INVALID_HANDLE_EP), CR_EVD, RESULT(DAT_RSP_HANDLE))
CALL(dat_rsp_query, (P(0), V(1), P(2)), RSP, VALUE(DAT_RSP_FIELD_ALL), RESULT(DAT_RSP_PARAM))
CALL(dat_rsp_free, (P(0)), RSP)
CALL(dat_cr_query, (P(0), V(1), P(2)), CR, VALUE(DAT_CR_FIELD_ALL), RESULT(DAT_CR_PARAM))
CALL(dat_cr_accept, (P(0), P(1), V(2), P(3)),
     CR, MAYBE(KIND_EP, DAT_INVALID_HANDLE_EP), PRIVATE)
CALL(dat_cr_handoff, (P(0), V(1)), CR, VALUE(4792))

CALL(dat_pz_create, (P(0), P(1)), IA, RESULT(DAT_PZ_HANDLE))
CALL(dat_pz_query, (P(0), V(1), P(2)), PZ, VALUE(DAT_PZ_FIELD_ALL), RESULT(DAT_PZ_PARAM))
CALL(dat_pz_free, (P(0)), PZ)

CALL(dat_srq_create, (P(0), P(1), P(2), P(3)), IA, PZ, GIVEN(DAT_SRQ_ATTR, &srq_attr),
     RESULT(DAT_SRQ_HANDLE))
CALL(dat_srq_query, (P(0), V(1), P(2)), SRQ, VALUE(DAT_SRQ_FIELD_ALL), RESULT(DAT_SRQ_PARAM))
CALL(dat_srq_post_recv, (P(0), V(1), P(2), context), SRQ, SEGMENT)
CALL(dat_srq_resize, (P(0), V(1)), SRQ, VALUE(8))
CALL(dat_srq_set_lw, (P(0), V(1)), SRQ, VALUE(1))
CALL(dat_srq_free, (P(0)), SRQ)

/* The number is also written on failure: the length that the list needs. */
CALL(dat_registry_list_providers, (V(0), P(1), P(2)),
     VALUE(1), GIVEN(DAT_COUNT, &provider_count), GIVEN(DAT_PROVIDER_INFO *, provider_list))
CALL(dat_registry_add_provider, (P(0), P(1)),
     TABLE(&provider), GIVEN(DAT_PROVIDER_INFO, &provider_info))
CALL(dat_registry_remove_provider, (P(0), P(1)),
     TABLE(&provider), GIVEN(DAT_PROVIDER_INFO, &provider_info))
CALL(dat_strerror, (V(0), P(1), P(2)),
     VALUE(DAT_SUCCESS), RESULT(const char *), RESULT(const char *))

#ifdef DAT_1_2
CALL(dat_lmr_create, (P(0), V(1), region, V(2), P(3), V(4), P(5), P(6), P(7), P(8), P(9)),
     IA, VALUE(DAT_MEM_TYPE_VIRTUAL), VALUE(sizeof memory), HANDLE(KIND_PZ, DAT_INVALID_HANDLE_PZ),
     VALUE(DAT_MEM_PRIV_ALL_FLAG), RESULT_AS(7, DAT_LMR_HANDLE), RESULT_MAYBE_AS(8, DAT_LMR_CONTEXT),
     RESULT_MAYBE_AS(9, DAT_RMR_CONTEXT), RESULT_MAYBE_AS(10, DAT_VLEN), RESULT_MAYBE_AS(11, DAT_VADDR))
CALL(dat_rmr_bind, (P(0), P(1), V(2), P(3), context, V(4), P(5)),
     RMR, GIVEN(DAT_LMR_TRIPLET, &segment), VALUE(DAT_MEM_PRIV_ALL_FLAG), EP, VALUE(0),
     RESULT_AS(7, DAT_RMR_CONTEXT))
CALL(dat_cr_reject, (P(0)), CR)
#else
#define CSP HANDLE(KIND_CSP, DAT_INVALID_HANDLE_CSP)
CALL(dat_lmr_create, (P(0), V(1), region, V(2), P(3), V(4), V(5), P(6), P(7), P(8), P(9), P(10)),
     IA, VALUE(DAT_MEM_TYPE_VIRTUAL), VALUE(sizeof memory), HANDLE(KIND_PZ, DAT_INVALID_HANDLE_PZ),
     VALUE(DAT_MEM_PRIV_ALL_FLAG), VALUE(DAT_VA_TYPE_VA), RESULT_AS(8, DAT_LMR_HANDLE),
     RESULT_MAYBE_AS(9, DAT_LMR_CONTEXT), RESULT_MAYBE_AS(10, DAT_RMR_CONTEXT),
     RESULT_MAYBE_AS(11, DAT_VLEN), RESULT_MAYBE_AS(12, DAT_VADDR))
CALL(dat_rmr_bind, (P(0), P(1), P(2), V(3), V(4), P(5), context, V(6), P(7)),
     RMR, LMR, GIVEN(DAT_LMR_TRIPLET, &segment), VALUE(DAT_MEM_PRIV_ALL_FLAG),
     VALUE(DAT_VA_TYPE_VA), EP, VALUE(0), RESULT_AS(9, DAT_RMR_CONTEXT))
CALL(dat_cr_reject, (P(0), V(1), P(2)), CR, PRIVATE)

CALL(dat_rmr_create_for_ep, (P(0), P(1)), PZ, RESULT(DAT_RMR_HANDLE))
CALL(dat_cno_fd_create, (P(0), P(1), P(2)), IA, RESULT(DAT_FD), RESULT(DAT_CNO_HANDLE))
CALL(dat_cno_trigger, (P(0), P(1)), CNO, RESULT(DAT_EVD_HANDLE))
CALL(dat_csp_create, (P(0), P(1), P(2), P(3), P(4)),
     IA, GIVEN(DAT_COMM, &comm), ADDRESS, CR_EVD, RESULT(DAT_CSP_HANDLE))
CALL(dat_csp_query, (P(0), V(1), P(2)), CSP, VALUE(DAT_CSP_FIELD_ALL), RESULT(DAT_CSP_PARAM))
CALL(dat_csp_free, (P(0)), CSP)
CALL(dat_ep_common_connect, (P(0), P(1), V(2), V(3), P(4)), EP, ADDRESS, VALUE(1), PRIVATE)
CALL(dat_ep_post_send_with_invalidate, (P(0), V(1), P(2), context, V(3), V(4), V(5)),
     EP, SEGMENT, VALUE(0), VALUE(DAT_TRUE), VALUE(1))
CALL(dat_ep_post_rdma_read_to_rmr, (P(0), P(1), context, P(2), V(3)),
     EP, GIVEN(DAT_RMR_TRIPLET, &remote), GIVEN_AS(4, DAT_RMR_TRIPLET, &remote), VALUE(0))
CALL(dat_registry_providers_related, (P(0), P(1), P(2)),
     GIVEN(char, adapter), GIVEN(char, adapter), RESULT(DAT_HA_RELATIONSHIP))
CALL(dat_extension_op, (P(0), DAT_IB_FETCH_AND_ADD_OP, (DAT_UINT64)1, P(1), context, P(2), V(3)),
     EP, GIVEN_AS(4, DAT_LMR_TRIPLET, &segment), GIVEN_AS(6, DAT_RMR_TRIPLET, &remote), VALUE(0))
#endif
