/*
 * The table of functions that a provider has.
 *
 * Part of DAT 2.0. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT2_UDAT_REDIRECTION_H
#define DAT2_UDAT_REDIRECTION_H

#include <stdarg.h>
#include <dat2/udat.h>
#include <dat2/dat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Functions of a provider. ---- */

typedef DAT_RETURN (*DAT_IA_OPEN_FUNC)(DAT_NAME_PTR ia_name,
                                       DAT_COUNT async_evd_min_qlen,
                                       DAT_EVD_HANDLE *async_evd_handle,
                                       DAT_IA_HANDLE *ia_handle);

typedef DAT_RETURN (*DAT_IA_OPENV_FUNC)(DAT_NAME_PTR ia_name,
                                        DAT_COUNT async_evd_min_qlen,
                                        DAT_EVD_HANDLE *async_evd_handle,
                                        DAT_IA_HANDLE *ia_handle,
                                        DAT_UINT32 dat_major,
                                        DAT_UINT32 dat_minor,
                                        DAT_BOOLEAN thread_safety);

typedef DAT_RETURN (*DAT_IA_CLOSE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);

typedef DAT_RETURN (*DAT_IA_QUERY_FUNC)(DAT_IA_HANDLE ia_handle,
                                        DAT_EVD_HANDLE *async_evd_handle,
                                        DAT_IA_ATTR_MASK ia_attr_mask,
                                        DAT_IA_ATTR *ia_attr,
                                        DAT_PROVIDER_ATTR_MASK provider_attr_mask,
                                        DAT_PROVIDER_ATTR *provider_attr);

typedef DAT_RETURN (*DAT_IA_HA_RELATED_FUNC)(DAT_IA_HANDLE ia_handle,
                                             DAT_NAME_PTR ia_name,
                                             DAT_BOOLEAN *related);

typedef DAT_RETURN (*DAT_SET_CONSUMER_CONTEXT_FUNC)(DAT_HANDLE handle, DAT_CONTEXT context);

typedef DAT_RETURN (*DAT_GET_CONSUMER_CONTEXT_FUNC)(DAT_HANDLE handle, DAT_CONTEXT *context);

typedef DAT_RETURN (*DAT_GET_HANDLE_TYPE_FUNC)(DAT_HANDLE handle, DAT_HANDLE_TYPE *handle_type);

typedef DAT_RETURN (*DAT_CNO_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                          DAT_OS_WAIT_PROXY_AGENT agent,
                                          DAT_CNO_HANDLE *cno_handle);

typedef DAT_RETURN (*DAT_CNO_MODIFY_AGENT_FUNC)(DAT_CNO_HANDLE cno_handle,
                                                DAT_OS_WAIT_PROXY_AGENT agent);

typedef DAT_RETURN (*DAT_CNO_QUERY_FUNC)(DAT_CNO_HANDLE cno_handle,
                                         DAT_CNO_PARAM_MASK cno_param_mask,
                                         DAT_CNO_PARAM *cno_param);

typedef DAT_RETURN (*DAT_CNO_FREE_FUNC)(DAT_CNO_HANDLE cno_handle);

typedef DAT_RETURN (*DAT_CNO_WAIT_FUNC)(DAT_CNO_HANDLE cno_handle,
                                        DAT_TIMEOUT timeout,
                                        DAT_EVD_HANDLE *evd_handle);

typedef DAT_RETURN (*DAT_CNO_FD_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                             DAT_FD *fd,
                                             DAT_CNO_HANDLE *cno_handle);

typedef DAT_RETURN (*DAT_CNO_TRIGGER_FUNC)(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle);

typedef DAT_RETURN (*DAT_CR_QUERY_FUNC)(DAT_CR_HANDLE cr_handle,
                                        DAT_CR_PARAM_MASK cr_param_mask,
                                        DAT_CR_PARAM *cr_param);

typedef DAT_RETURN (*DAT_CR_ACCEPT_FUNC)(DAT_CR_HANDLE cr_handle,
                                         DAT_EP_HANDLE ep_handle,
                                         DAT_COUNT private_data_size,
                                         DAT_PVOID private_data);

typedef DAT_RETURN (*DAT_CR_HANDOFF_FUNC)(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL conn_qual);

typedef DAT_RETURN (*DAT_CR_REJECT_FUNC)(DAT_CR_HANDLE cr_handle,
                                         DAT_COUNT private_data_size,
                                         DAT_PVOID private_data);

typedef DAT_RETURN (*DAT_EVD_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                          DAT_COUNT evd_min_qlen,
                                          DAT_CNO_HANDLE cno_handle,
                                          DAT_EVD_FLAGS evd_flags,
                                          DAT_EVD_HANDLE *evd_handle);

typedef DAT_RETURN (*DAT_EVD_MODIFY_CNO_FUNC)(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle);

typedef DAT_RETURN (*DAT_EVD_ENABLE_FUNC)(DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EVD_WAIT_FUNC)(DAT_EVD_HANDLE evd_handle,
                                        DAT_TIMEOUT timeout,
                                        DAT_COUNT threshold,
                                        DAT_EVENT *event,
                                        DAT_COUNT *n_more);

typedef DAT_RETURN (*DAT_EVD_DISABLE_FUNC)(DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EVD_SET_UNWAITABLE_FUNC)(DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EVD_CLEAR_UNWAITABLE_FUNC)(DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EVD_RESIZE_FUNC)(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

typedef DAT_RETURN (*DAT_EVD_POST_SE_FUNC)(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

typedef DAT_RETURN (*DAT_EVD_DEQUEUE_FUNC)(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

typedef DAT_RETURN (*DAT_EVD_FREE_FUNC)(DAT_EVD_HANDLE evd_handle);

typedef DAT_RETURN (*DAT_EVD_QUERY_FUNC)(DAT_EVD_HANDLE evd_handle,
                                         DAT_EVD_PARAM_MASK evd_param_mask,
                                         DAT_EVD_PARAM *evd_param);

typedef DAT_RETURN (*DAT_EP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                         DAT_PZ_HANDLE pz_handle,
                                         DAT_EVD_HANDLE recv_evd_handle,
                                         DAT_EVD_HANDLE request_evd_handle,
                                         DAT_EVD_HANDLE connect_evd_handle,
                                         const DAT_EP_ATTR *ep_attr,
                                         DAT_EP_HANDLE *ep_handle);

typedef DAT_RETURN (*DAT_EP_CREATE_WITH_SRQ_FUNC)(DAT_IA_HANDLE ia_handle,
                                                  DAT_PZ_HANDLE pz_handle,
                                                  DAT_EVD_HANDLE recv_evd_handle,
                                                  DAT_EVD_HANDLE request_evd_handle,
                                                  DAT_EVD_HANDLE connect_evd_handle,
                                                  DAT_SRQ_HANDLE srq_handle,
                                                  const DAT_EP_ATTR *ep_attr,
                                                  DAT_EP_HANDLE *ep_handle);

typedef DAT_RETURN (*DAT_EP_QUERY_FUNC)(DAT_EP_HANDLE ep_handle,
                                        DAT_EP_PARAM_MASK ep_param_mask,
                                        DAT_EP_PARAM *ep_param);

typedef DAT_RETURN (*DAT_EP_MODIFY_FUNC)(DAT_EP_HANDLE ep_handle,
                                         DAT_EP_PARAM_MASK ep_param_mask,
                                         const DAT_EP_PARAM *ep_param);

typedef DAT_RETURN (*DAT_EP_CONNECT_FUNC)(DAT_EP_HANDLE ep_handle,
                                          DAT_IA_ADDRESS_PTR remote_ia_address,
                                          DAT_CONN_QUAL remote_conn_qual,
                                          DAT_TIMEOUT timeout,
                                          DAT_COUNT private_data_size,
                                          DAT_PVOID private_data,
                                          DAT_QOS qos,
                                          DAT_CONNECT_FLAGS connect_flags);

typedef DAT_RETURN (*DAT_EP_DUP_CONNECT_FUNC)(DAT_EP_HANDLE ep_handle,
                                              DAT_EP_HANDLE dup_ep_handle,
                                              DAT_TIMEOUT timeout,
                                              DAT_COUNT private_data_size,
                                              DAT_PVOID private_data,
                                              DAT_QOS qos);

typedef DAT_RETURN (*DAT_EP_DISCONNECT_FUNC)(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags);

typedef DAT_RETURN (*DAT_EP_GET_STATUS_FUNC)(DAT_EP_HANDLE ep_handle,
                                             DAT_EP_STATE *ep_state,
                                             DAT_BOOLEAN *recv_idle,
                                             DAT_BOOLEAN *request_idle);

typedef DAT_RETURN (*DAT_EP_FREE_FUNC)(DAT_EP_HANDLE ep_handle);

typedef DAT_RETURN (*DAT_EP_RESET_FUNC)(DAT_EP_HANDLE ep_handle);

typedef DAT_RETURN (*DAT_EP_RECV_QUERY_FUNC)(DAT_EP_HANDLE ep_handle,
                                             DAT_COUNT *nbufs_allocated,
                                             DAT_COUNT *bufs_alloc_span);

typedef DAT_RETURN (*DAT_EP_SET_WATERMARK_FUNC)(DAT_EP_HANDLE ep_handle,
                                                DAT_COUNT soft_high_watermark,
                                                DAT_COUNT hard_high_watermark);

typedef DAT_RETURN (*DAT_EP_COMMON_CONNECT_FUNC)(DAT_EP_HANDLE ep_handle,
                                                 DAT_IA_ADDRESS_PTR remote_ia_address,
                                                 DAT_TIMEOUT timeout,
                                                 DAT_COUNT private_data_size,
                                                 DAT_PVOID private_data);

typedef DAT_RETURN (*DAT_EP_POST_SEND_FUNC)(DAT_EP_HANDLE ep_handle,
                                            DAT_COUNT num_segments,
                                            DAT_LMR_TRIPLET *local_iov,
                                            DAT_DTO_COOKIE user_cookie,
                                            DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_EP_POST_RECV_FUNC)(DAT_EP_HANDLE ep_handle,
                                            DAT_COUNT num_segments,
                                            DAT_LMR_TRIPLET *local_iov,
                                            DAT_DTO_COOKIE user_cookie,
                                            DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_FUNC)(DAT_EP_HANDLE ep_handle,
                                                 DAT_COUNT num_segments,
                                                 DAT_LMR_TRIPLET *local_iov,
                                                 DAT_DTO_COOKIE user_cookie,
                                                 const DAT_RMR_TRIPLET *remote_iov,
                                                 DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_EP_POST_RDMA_WRITE_FUNC)(DAT_EP_HANDLE ep_handle,
                                                  DAT_COUNT num_segments,
                                                  DAT_LMR_TRIPLET *local_iov,
                                                  DAT_DTO_COOKIE user_cookie,
                                                  const DAT_RMR_TRIPLET *remote_iov,
                                                  DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC)(DAT_EP_HANDLE ep_handle,
                                                            DAT_COUNT num_segments,
                                                            DAT_LMR_TRIPLET *local_iov,
                                                            DAT_DTO_COOKIE user_cookie,
                                                            DAT_COMPLETION_FLAGS completion_flags,
                                                            DAT_BOOLEAN invalidate_flag,
                                                            DAT_RMR_CONTEXT rmr_context);

typedef DAT_RETURN (*DAT_EP_POST_RDMA_READ_TO_RMR_FUNC)(DAT_EP_HANDLE ep_handle,
                                                        const DAT_RMR_TRIPLET *local_iov,
                                                        DAT_DTO_COOKIE user_cookie,
                                                        const DAT_RMR_TRIPLET *remote_iov,
                                                        DAT_COMPLETION_FLAGS completion_flags);

typedef DAT_RETURN (*DAT_LMR_QUERY_FUNC)(DAT_LMR_HANDLE lmr_handle,
                                         DAT_LMR_PARAM_MASK lmr_param_mask,
                                         DAT_LMR_PARAM *lmr_param);

typedef DAT_RETURN (*DAT_LMR_FREE_FUNC)(DAT_LMR_HANDLE lmr_handle);

typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_READ_FUNC)(DAT_IA_HANDLE ia_handle,
                                                  const DAT_LMR_TRIPLET *local_segments,
                                                  DAT_VLEN num_segments);

typedef DAT_RETURN (*DAT_LMR_SYNC_RDMA_WRITE_FUNC)(DAT_IA_HANDLE ia_handle,
                                                   const DAT_LMR_TRIPLET *local_segments,
                                                   DAT_VLEN num_segments);

typedef DAT_RETURN (*DAT_LMR_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                          DAT_MEM_TYPE mem_type,
                                          DAT_REGION_DESCRIPTION region_desc,
                                          DAT_VLEN length,
                                          DAT_PZ_HANDLE pz_handle,
                                          DAT_MEM_PRIV_FLAGS mem_priv,
                                          DAT_VA_TYPE va_type,
                                          DAT_LMR_HANDLE *lmr_handle,
                                          DAT_LMR_CONTEXT *lmr_context,
                                          DAT_RMR_CONTEXT *rmr_context,
                                          DAT_VLEN *registered_length,
                                          DAT_VADDR *registered_address);

typedef DAT_RETURN (*DAT_RMR_CREATE_FUNC)(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

typedef DAT_RETURN (*DAT_RMR_QUERY_FUNC)(DAT_RMR_HANDLE rmr_handle,
                                         DAT_RMR_PARAM_MASK rmr_param_mask,
                                         DAT_RMR_PARAM *rmr_param);

typedef DAT_RETURN (*DAT_RMR_FREE_FUNC)(DAT_RMR_HANDLE rmr_handle);

typedef DAT_RETURN (*DAT_RMR_CREATE_FOR_EP_FUNC)(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

typedef DAT_RETURN (*DAT_RMR_BIND_FUNC)(DAT_RMR_HANDLE rmr_handle,
                                        DAT_LMR_HANDLE lmr_handle,
                                        const DAT_LMR_TRIPLET *lmr_triplet,
                                        DAT_MEM_PRIV_FLAGS mem_priv,
                                        DAT_VA_TYPE va_type,
                                        DAT_EP_HANDLE ep_handle,
                                        DAT_RMR_COOKIE user_cookie,
                                        DAT_COMPLETION_FLAGS completion_flags,
                                        DAT_RMR_CONTEXT *rmr_context);

typedef DAT_RETURN (*DAT_PSP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                          DAT_CONN_QUAL conn_qual,
                                          DAT_EVD_HANDLE evd_handle,
                                          DAT_PSP_FLAGS psp_flags,
                                          DAT_PSP_HANDLE *psp_handle);

typedef DAT_RETURN (*DAT_PSP_CREATE_ANY_FUNC)(DAT_IA_HANDLE ia_handle,
                                              DAT_CONN_QUAL *conn_qual,
                                              DAT_EVD_HANDLE evd_handle,
                                              DAT_PSP_FLAGS psp_flags,
                                              DAT_PSP_HANDLE *psp_handle);

typedef DAT_RETURN (*DAT_PSP_QUERY_FUNC)(DAT_PSP_HANDLE psp_handle,
                                         DAT_PSP_PARAM_MASK psp_param_mask,
                                         DAT_PSP_PARAM *psp_param);

typedef DAT_RETURN (*DAT_PSP_FREE_FUNC)(DAT_PSP_HANDLE psp_handle);

typedef DAT_RETURN (*DAT_RSP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                          DAT_CONN_QUAL conn_qual,
                                          DAT_EP_HANDLE ep_handle,
                                          DAT_EVD_HANDLE evd_handle,
                                          DAT_RSP_HANDLE *rsp_handle);

typedef DAT_RETURN (*DAT_RSP_QUERY_FUNC)(DAT_RSP_HANDLE rsp_handle,
                                         DAT_RSP_PARAM_MASK rsp_param_mask,
                                         DAT_RSP_PARAM *rsp_param);

typedef DAT_RETURN (*DAT_RSP_FREE_FUNC)(DAT_RSP_HANDLE rsp_handle);

typedef DAT_RETURN (*DAT_CSP_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                          DAT_COMM *comm,
                                          DAT_IA_ADDRESS_PTR address_ptr,
                                          DAT_EVD_HANDLE evd_handle,
                                          DAT_CSP_HANDLE *csp_handle);

typedef DAT_RETURN (*DAT_CSP_QUERY_FUNC)(DAT_CSP_HANDLE csp_handle,
                                         DAT_CSP_PARAM_MASK csp_param_mask,
                                         DAT_CSP_PARAM *csp_param);

typedef DAT_RETURN (*DAT_CSP_FREE_FUNC)(DAT_CSP_HANDLE csp_handle);

typedef DAT_RETURN (*DAT_PZ_CREATE_FUNC)(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

typedef DAT_RETURN (*DAT_PZ_QUERY_FUNC)(DAT_PZ_HANDLE pz_handle,
                                        DAT_PZ_PARAM_MASK pz_param_mask,
                                        DAT_PZ_PARAM *pz_param);

typedef DAT_RETURN (*DAT_PZ_FREE_FUNC)(DAT_PZ_HANDLE pz_handle);

typedef DAT_RETURN (*DAT_SRQ_CREATE_FUNC)(DAT_IA_HANDLE ia_handle,
                                          DAT_PZ_HANDLE pz_handle,
                                          DAT_SRQ_ATTR *srq_attr,
                                          DAT_SRQ_HANDLE *srq_handle);

typedef DAT_RETURN (*DAT_SRQ_SET_LW_FUNC)(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

typedef DAT_RETURN (*DAT_SRQ_FREE_FUNC)(DAT_SRQ_HANDLE srq_handle);

typedef DAT_RETURN (*DAT_SRQ_QUERY_FUNC)(DAT_SRQ_HANDLE srq_handle,
                                         DAT_SRQ_PARAM_MASK srq_param_mask,
                                         DAT_SRQ_PARAM *srq_param);

typedef DAT_RETURN (*DAT_SRQ_RESIZE_FUNC)(DAT_SRQ_HANDLE srq_handle, DAT_COUNT max_recv_dtos);

typedef DAT_RETURN (*DAT_SRQ_POST_RECV_FUNC)(DAT_SRQ_HANDLE srq_handle,
                                             DAT_COUNT num_segments,
                                             DAT_LMR_TRIPLET *local_iov,
                                             DAT_DTO_COOKIE user_cookie);

typedef DAT_RETURN (*DAT_HANDLE_EXTENDEDOP_FUNC)(DAT_HANDLE handle,
                                                 DAT_EXTENDED_OP ext_op,
                                                 va_list args);

/* ---- The table. ---- */

/* The functions of a provider. The first word of every object but an adapter of DAT 2.0 points
 * to one. */
typedef struct dat_provider {
    const char *device_name;
    DAT_PVOID extension;
    DAT_IA_OPEN_FUNC ia_open_func;
    DAT_IA_QUERY_FUNC ia_query_func;
    DAT_IA_CLOSE_FUNC ia_close_func;
    DAT_SET_CONSUMER_CONTEXT_FUNC set_consumer_context_func;
    DAT_GET_CONSUMER_CONTEXT_FUNC get_consumer_context_func;
    DAT_GET_HANDLE_TYPE_FUNC get_handle_type_func;
    DAT_CNO_CREATE_FUNC cno_create_func;
    DAT_CNO_MODIFY_AGENT_FUNC cno_modify_agent_func;
    DAT_CNO_QUERY_FUNC cno_query_func;
    DAT_CNO_FREE_FUNC cno_free_func;
    DAT_CNO_WAIT_FUNC cno_wait_func;
    DAT_CR_QUERY_FUNC cr_query_func;
    DAT_CR_ACCEPT_FUNC cr_accept_func;
    DAT_CR_REJECT_FUNC cr_reject_func;
    DAT_CR_HANDOFF_FUNC cr_handoff_func;
    DAT_EVD_CREATE_FUNC evd_create_func;
    DAT_EVD_QUERY_FUNC evd_query_func;
    DAT_EVD_MODIFY_CNO_FUNC evd_modify_cno_func;
    DAT_EVD_ENABLE_FUNC evd_enable_func;
    DAT_EVD_DISABLE_FUNC evd_disable_func;
    DAT_EVD_WAIT_FUNC evd_wait_func;
    DAT_EVD_RESIZE_FUNC evd_resize_func;
    DAT_EVD_POST_SE_FUNC evd_post_se_func;
    DAT_EVD_DEQUEUE_FUNC evd_dequeue_func;
    DAT_EVD_FREE_FUNC evd_free_func;
    DAT_EP_CREATE_FUNC ep_create_func;
    DAT_EP_QUERY_FUNC ep_query_func;
    DAT_EP_MODIFY_FUNC ep_modify_func;
    DAT_EP_CONNECT_FUNC ep_connect_func;
    DAT_EP_DUP_CONNECT_FUNC ep_dup_connect_func;
    DAT_EP_DISCONNECT_FUNC ep_disconnect_func;
    DAT_EP_POST_SEND_FUNC ep_post_send_func;
    DAT_EP_POST_RECV_FUNC ep_post_recv_func;
    DAT_EP_POST_RDMA_READ_FUNC ep_post_rdma_read_func;
    DAT_EP_POST_RDMA_WRITE_FUNC ep_post_rdma_write_func;
    DAT_EP_GET_STATUS_FUNC ep_get_status_func;
    DAT_EP_FREE_FUNC ep_free_func;
    DAT_LMR_CREATE_FUNC lmr_create_func;
    DAT_LMR_QUERY_FUNC lmr_query_func;
    DAT_LMR_FREE_FUNC lmr_free_func;
    DAT_RMR_CREATE_FUNC rmr_create_func;
    DAT_RMR_QUERY_FUNC rmr_query_func;
    DAT_RMR_BIND_FUNC rmr_bind_func;
    DAT_RMR_FREE_FUNC rmr_free_func;
    DAT_PSP_CREATE_FUNC psp_create_func;
    DAT_PSP_QUERY_FUNC psp_query_func;
    DAT_PSP_FREE_FUNC psp_free_func;
    DAT_RSP_CREATE_FUNC rsp_create_func;
    DAT_RSP_QUERY_FUNC rsp_query_func;
    DAT_RSP_FREE_FUNC rsp_free_func;
    DAT_PZ_CREATE_FUNC pz_create_func;
    DAT_PZ_QUERY_FUNC pz_query_func;
    DAT_PZ_FREE_FUNC pz_free_func;
    DAT_PSP_CREATE_ANY_FUNC psp_create_any_func;
    DAT_EP_RESET_FUNC ep_reset_func;
    DAT_EVD_SET_UNWAITABLE_FUNC evd_set_unwaitable_func;
    DAT_EVD_CLEAR_UNWAITABLE_FUNC evd_clear_unwaitable_func;
    DAT_LMR_SYNC_RDMA_READ_FUNC lmr_sync_rdma_read_func;
    DAT_LMR_SYNC_RDMA_WRITE_FUNC lmr_sync_rdma_write_func;
    DAT_EP_CREATE_WITH_SRQ_FUNC ep_create_with_srq_func;
    DAT_EP_RECV_QUERY_FUNC ep_recv_query_func;
    DAT_EP_SET_WATERMARK_FUNC ep_set_watermark_func;
    DAT_SRQ_CREATE_FUNC srq_create_func;
    DAT_SRQ_FREE_FUNC srq_free_func;
    DAT_SRQ_POST_RECV_FUNC srq_post_recv_func;
    DAT_SRQ_QUERY_FUNC srq_query_func;
    DAT_SRQ_RESIZE_FUNC srq_resize_func;
    DAT_SRQ_SET_LW_FUNC srq_set_lw_func;
    DAT_CSP_CREATE_FUNC csp_create_func;
    DAT_CSP_QUERY_FUNC csp_query_func;
    DAT_CSP_FREE_FUNC csp_free_func;
    DAT_EP_COMMON_CONNECT_FUNC ep_common_connect_func;
    DAT_RMR_CREATE_FOR_EP_FUNC rmr_create_for_ep_func;
    DAT_EP_POST_SEND_WITH_INVALIDATE_FUNC ep_post_send_with_invalidate_func;
    DAT_EP_POST_RDMA_READ_TO_RMR_FUNC ep_post_rdma_read_to_rmr_func;
    DAT_CNO_FD_CREATE_FUNC cno_fd_create_func;
    DAT_CNO_TRIGGER_FUNC cno_trigger_func;
    DAT_IA_HA_RELATED_FUNC ia_ha_related_func;
    DAT_HANDLE_EXTENDEDOP_FUNC handle_extendedop_func;
} DAT_PROVIDER;

#ifdef __cplusplus
}
#endif

#endif
