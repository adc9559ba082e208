/*
 * Objects, events and calls; programs include udat.h.
 *
 * Part of DAT 1.2. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT_DAT_H
#define DAT_DAT_H

#include <dat/udat_config.h>
#include <dat/dat_platform_specific.h>
#include <dat/dat_error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Addresses, qualifiers and quality of service. ---- */

/* Quality of service of a connection. */
typedef enum dat_qos {
    DAT_QOS_BEST_EFFORT = 0x0,
    DAT_QOS_HIGH_THROUGHPUT = 0x1,
    DAT_QOS_LOW_LATENCY = 0x2,
    DAT_QOS_ECONOMY = 0x4,
    DAT_QOS_PREMIUM = 0x8
} DAT_QOS;

/* The network address of an adapter. */
typedef DAT_SOCK_ADDR *DAT_IA_ADDRESS_PTR;

/* Where a service listens at an adapter. */
typedef DAT_UINT64 DAT_CONN_QUAL;

/* Which port of an adapter a connection uses. */
typedef DAT_UINT64 DAT_PORT_QUAL;

/* ---- Handles. ---- */

/* What kind of object a handle names. */
typedef enum dat_handle_type {
    DAT_HANDLE_TYPE_CR = 0,
    DAT_HANDLE_TYPE_EP = 1,
    DAT_HANDLE_TYPE_EVD = 2,
    DAT_HANDLE_TYPE_IA = 3,
    DAT_HANDLE_TYPE_LMR = 4,
    DAT_HANDLE_TYPE_PSP = 5,
    DAT_HANDLE_TYPE_PZ = 6,
    DAT_HANDLE_TYPE_RMR = 7,
    DAT_HANDLE_TYPE_RSP = 8,
    DAT_HANDLE_TYPE_CNO = 9,
    DAT_HANDLE_TYPE_SRQ = 10
} DAT_HANDLE_TYPE;

/* Names an object of any kind. */
typedef DAT_PVOID DAT_HANDLE;

/* No object. */
#define DAT_HANDLE_NULL ((DAT_HANDLE)NULL)

/* Names a connection request. */
typedef DAT_HANDLE DAT_CR_HANDLE;

/* Names an endpoint. */
typedef DAT_HANDLE DAT_EP_HANDLE;

/* Names an event dispatcher. */
typedef DAT_HANDLE DAT_EVD_HANDLE;

/* Names an open interface adapter. */
typedef DAT_HANDLE DAT_IA_HANDLE;

/* Names a local memory region. */
typedef DAT_HANDLE DAT_LMR_HANDLE;

/* Names a public service point. */
typedef DAT_HANDLE DAT_PSP_HANDLE;

/* Names a protection zone. */
typedef DAT_HANDLE DAT_PZ_HANDLE;

/* Names a remote memory region. */
typedef DAT_HANDLE DAT_RMR_HANDLE;

/* Names a reserved service point. */
typedef DAT_HANDLE DAT_RSP_HANDLE;

/* Names a shared receive queue. */
typedef DAT_HANDLE DAT_SRQ_HANDLE;

/* Names a consumer notification object. */
typedef DAT_HANDLE DAT_CNO_HANDLE;

/* ---- Data transfer operations. ---- */

/* How a posted operation completes. */
typedef enum dat_completion_flags {
    DAT_COMPLETION_DEFAULT_FLAG = 0x0,
    DAT_COMPLETION_SUPPRESS_FLAG = 0x1,
    DAT_COMPLETION_SOLICITED_WAIT_FLAG = 0x2,
    DAT_COMPLETION_UNSIGNALLED_FLAG = 0x4,
    DAT_COMPLETION_BARRIER_FENCE_FLAG = 0x8,
    DAT_COMPLETION_EVD_THRESHOLD_FLAG = 0x10
} DAT_COMPLETION_FLAGS;

/* How a posted operation has ended. */
typedef enum dat_dto_completion_status {
    DAT_DTO_SUCCESS = 0,
    DAT_DTO_ERR_FLUSHED = 1,
    DAT_DTO_ERR_LOCAL_LENGTH = 2,
    DAT_DTO_ERR_LOCAL_EP = 3,
    DAT_DTO_ERR_LOCAL_PROTECTION = 4,
    DAT_DTO_ERR_BAD_RESPONSE = 5,
    DAT_DTO_ERR_REMOTE_ACCESS = 6,
    DAT_DTO_ERR_REMOTE_RESPONDER = 7,
    DAT_DTO_ERR_TRANSPORT = 8,
    DAT_DTO_ERR_RECEIVER_NOT_READY = 9,
    DAT_DTO_ERR_PARTIAL_PACKET = 10,
    DAT_RMR_OPERATION_FAILED = 11
} DAT_DTO_COMPLETION_STATUS;
#define DAT_DTO_LENGTH_ERROR DAT_DTO_ERR_LOCAL_LENGTH
#define DAT_DTO_FAILURE DAT_DTO_ERR_FLUSHED
#define DAT_RMR_BIND_SUCCESS DAT_DTO_SUCCESS
#define DAT_RMR_BIND_FAILURE DAT_DTO_ERR_FLUSHED

/* The consumer's word that comes back with the completion of a transfer. */
typedef DAT_CONTEXT DAT_DTO_COOKIE;

/* ---- Local and remote memory regions. ---- */

/* Length of the name of shared memory. */
#define DAT_LMR_COOKIE_SIZE 40

/* What the description of a region means. */
typedef enum dat_mem_type {
    DAT_MEM_TYPE_VIRTUAL = 0,
    DAT_MEM_TYPE_LMR = 1,
    DAT_MEM_TYPE_SHARED_VIRTUAL = 2
} DAT_MEM_TYPE;

/* Who may do what with a region. */
typedef enum dat_mem_priv_flags {
    DAT_MEM_PRIV_NONE_FLAG = 0x0,
    DAT_MEM_PRIV_LOCAL_READ_FLAG = 0x1,
    DAT_MEM_PRIV_REMOTE_READ_FLAG = 0x2,
    DAT_MEM_PRIV_LOCAL_WRITE_FLAG = 0x10,
    DAT_MEM_PRIV_REMOTE_WRITE_FLAG = 0x20,
    DAT_MEM_PRIV_ALL_FLAG = 0x33
} DAT_MEM_PRIV_FLAGS;
#define DAT_MEM_PRIV_READ_FLAG (DAT_MEM_PRIV_LOCAL_READ_FLAG | DAT_MEM_PRIV_REMOTE_READ_FLAG)
#define DAT_MEM_PRIV_WRITE_FLAG (DAT_MEM_PRIV_LOCAL_WRITE_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG)

/* Which members of DAT_LMR_PARAM are asked for. */
typedef enum dat_lmr_param_mask {
    DAT_LMR_FIELD_IA_HANDLE = 0x1,
    DAT_LMR_FIELD_MEM_TYPE = 0x2,
    DAT_LMR_FIELD_REGION_DESC = 0x4,
    DAT_LMR_FIELD_LENGTH = 0x8,
    DAT_LMR_FIELD_PZ_HANDLE = 0x10,
    DAT_LMR_FIELD_MEM_PRIV = 0x20,
    DAT_LMR_FIELD_LMR_CONTEXT = 0x40,
    DAT_LMR_FIELD_RMR_CONTEXT = 0x80,
    DAT_LMR_FIELD_REGISTERED_SIZE = 0x100,
    DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x200,
    DAT_LMR_FIELD_ALL = 0x3ff
} DAT_LMR_PARAM_MASK;

/* Which members of DAT_RMR_PARAM are asked for. */
typedef enum dat_rmr_param_mask {
    DAT_RMR_FIELD_IA_HANDLE = 0x1,
    DAT_RMR_FIELD_PZ_HANDLE = 0x2,
    DAT_RMR_FIELD_LMR_TRIPLET = 0x4,
    DAT_RMR_FIELD_MEM_PRIV = 0x8,
    DAT_RMR_FIELD_RMR_CONTEXT = 0x10,
    DAT_RMR_FIELD_ALL = 0x1f
} DAT_RMR_PARAM_MASK;

/* Stands for a local region in a posted segment. */
typedef DAT_UINT32 DAT_LMR_CONTEXT;

/* Names memory that processes share. */
typedef char (*DAT_LMR_COOKIE)[DAT_LMR_COOKIE_SIZE];

/* Memory that processes share, and its name. */
typedef struct dat_shared_memory {
    DAT_PVOID virtual_address;
    DAT_LMR_COOKIE shared_memory_id;
} DAT_SHARED_MEMORY;

/* The memory of a region; its DAT_MEM_TYPE says which member counts. */
typedef union dat_region_description {
    DAT_PVOID for_va;
    DAT_LMR_HANDLE for_lmr_handle;
    DAT_SHARED_MEMORY for_shared_memory;
} DAT_REGION_DESCRIPTION;

/* Stands for a region at the side that is its peer's. */
typedef DAT_UINT32 DAT_RMR_CONTEXT;

/* What dat_lmr_query tells about a local region. */
typedef struct dat_lmr_param {
    DAT_IA_HANDLE ia_handle;
    DAT_MEM_TYPE mem_type;
    DAT_REGION_DESCRIPTION region_desc;
    DAT_VLEN length;
    DAT_PZ_HANDLE pz_handle;
    DAT_MEM_PRIV_FLAGS mem_priv;
    DAT_LMR_CONTEXT lmr_context;
    DAT_RMR_CONTEXT rmr_context;
    DAT_VLEN registered_size;
    DAT_VADDR registered_address;
} DAT_LMR_PARAM;

/* A segment of local memory. */
typedef struct dat_lmr_triplet {
    DAT_LMR_CONTEXT lmr_context;
    DAT_UINT32 pad;
    DAT_VADDR virtual_address;
    DAT_VLEN segment_length;
} DAT_LMR_TRIPLET;

/* The consumer's word that comes back with the completion of a bind. */
typedef DAT_CONTEXT DAT_RMR_COOKIE;

/* A segment of the memory of a peer. */
typedef struct dat_rmr_triplet {
    DAT_RMR_CONTEXT rmr_context;
    DAT_UINT32 pad;
    DAT_VADDR target_address;
    DAT_VLEN segment_length;
} DAT_RMR_TRIPLET;

/* What dat_rmr_query tells about a remote region. */
typedef struct dat_rmr_param {
    DAT_IA_HANDLE ia_handle;
    DAT_PZ_HANDLE pz_handle;
    DAT_LMR_TRIPLET lmr_triplet;
    DAT_MEM_PRIV_FLAGS mem_priv;
    DAT_RMR_CONTEXT rmr_context;
} DAT_RMR_PARAM;

/* ---- Protection zones. ---- */

/* Which members of DAT_PZ_PARAM are asked for. */
typedef enum dat_pz_param_mask {
    DAT_PZ_FIELD_IA_HANDLE = 0x1,
    DAT_PZ_FIELD_ALL = 0x1
} DAT_PZ_PARAM_MASK;

/* What dat_pz_query tells about a protection zone. */
typedef struct dat_pz_param {
    DAT_IA_HANDLE ia_handle;
} DAT_PZ_PARAM;

/* ---- Event dispatchers. ---- */

/* State of an event dispatcher: one bit of each pair. */
typedef enum dat_evd_state {
    DAT_EVD_STATE_ENABLED = 0x1,
    DAT_EVD_STATE_DISABLED = 0x2,
    DAT_EVD_STATE_WAITABLE = 0x4,
    DAT_EVD_STATE_UNWAITABLE = 0x8,
    DAT_EVD_STATE_CONFIG_NOTIFY = 0x10,
    DAT_EVD_STATE_CONFIG_SOLICITED = 0x20,
    DAT_EVD_STATE_CONFIG_THRESHOLD = 0x30
} DAT_EVD_STATE;

/* Which members of DAT_EVD_PARAM are asked for. */
typedef enum dat_evd_param_mask {
    DAT_EVD_FIELD_IA_HANDLE = 0x1,
    DAT_EVD_FIELD_EVD_QLEN = 0x2,
    DAT_EVD_FIELD_EVD_STATE = 0x4,
    DAT_EVD_FIELD_CNO = 0x8,
    DAT_EVD_FIELD_EVD_FLAGS = 0x10,
    DAT_EVD_FIELD_ALL = 0x1f
} DAT_EVD_PARAM_MASK;

/* Which streams of events go to a dispatcher. */
typedef enum dat_evd_flags {
    DAT_EVD_SOFTWARE_FLAG = 0x1,
    DAT_EVD_CR_FLAG = 0x10,
    DAT_EVD_DTO_FLAG = 0x20,
    DAT_EVD_CONNECTION_FLAG = 0x40,
    DAT_EVD_RMR_BIND_FLAG = 0x80,
    DAT_EVD_ASYNC_FLAG = 0x100,
    DAT_EVD_DEFAULT_FLAG = 0x1f0
} DAT_EVD_FLAGS;

/* What dat_evd_query tells about a dispatcher. */
typedef struct dat_evd_param {
    DAT_IA_HANDLE ia_handle;
    DAT_COUNT evd_qlen;
    DAT_EVD_STATE evd_state;
    DAT_CNO_HANDLE cno_handle;
    DAT_EVD_FLAGS evd_flags;
} DAT_EVD_PARAM;

/* ---- Shared receive queues. ---- */

#define DAT_SRQ_LW_DEFAULT 0

/* The provider can't tell. */
#define DAT_VALUE_UNKNOWN (-2)

/* Which members of DAT_SRQ_PARAM are asked for. */
typedef enum dat_srq_param_mask {
    DAT_SRQ_FIELD_IA_HANDLE = 0x1,
    DAT_SRQ_FIELD_SRQ_STATE = 0x2,
    DAT_SRQ_FIELD_PZ_HANDLE = 0x4,
    DAT_SRQ_FIELD_MAX_RECV_DTO = 0x8,
    DAT_SRQ_FIELD_MAX_RECV_IOV = 0x10,
    DAT_SRQ_FIELD_LOW_WATERMARK = 0x20,
    DAT_SRQ_FIELD_AVAILABLE_DTO_COUNT = 0x40,
    DAT_SRQ_FIELD_OUTSTANDING_DTO_COUNT = 0x80,
    DAT_SRQ_FIELD_ALL = 0xff
} DAT_SRQ_PARAM_MASK;

/* State of a shared receive queue. */
typedef enum dat_srq_state {
    DAT_SRQ_STATE_OPERATIONAL = 0,
    DAT_SRQ_STATE_ERROR = 1
} DAT_SRQ_STATE;

/* What a consumer asks of a shared receive queue. */
typedef struct dat_srq_attr {
    DAT_COUNT max_recv_dtos;
    DAT_COUNT max_recv_iov;
    DAT_COUNT low_watermark;
} DAT_SRQ_ATTR;

/* What dat_srq_query tells about a shared receive queue. */
typedef struct dat_srq_param {
    DAT_IA_HANDLE ia_handle;
    DAT_SRQ_STATE srq_state;
    DAT_PZ_HANDLE pz_handle;
    DAT_COUNT max_recv_dtos;
    DAT_COUNT max_recv_iov;
    DAT_COUNT low_watermark;
    DAT_COUNT available_dto_count;
    DAT_COUNT outstanding_dto_count;
} DAT_SRQ_PARAM;

/* ---- Endpoints. ---- */

#define DAT_WATERMARK_INFINITE (-1)
#define DAT_HW_DEFAULT DAT_WATERMARK_INFINITE

/* How a connection is made. */
typedef enum dat_connect_flags {
    DAT_CONNECT_DEFAULT_FLAG = 0x0,
    DAT_CONNECT_MULTIPATH_FLAG = 0x1
} DAT_CONNECT_FLAGS;

/* How a connection or an adapter is closed. */
typedef enum dat_close_flags {
    DAT_CLOSE_ABRUPT_FLAG = 0x0,
    DAT_CLOSE_GRACEFUL_FLAG = 0x1
} DAT_CLOSE_FLAGS;
#define DAT_CLOSE_DEFAULT DAT_CLOSE_ABRUPT_FLAG

/* What an endpoint promises about what it carries. */
typedef enum dat_service_type {
    DAT_SERVICE_TYPE_RC = 0
} DAT_SERVICE_TYPE;

/* State of an endpoint. */
typedef enum dat_ep_state {
    DAT_EP_STATE_UNCONNECTED = 0,
    DAT_EP_STATE_UNCONFIGURED_UNCONNECTED = 1,
    DAT_EP_STATE_RESERVED = 2,
    DAT_EP_STATE_UNCONFIGURED_RESERVED = 3,
    DAT_EP_STATE_PASSIVE_CONNECTION_PENDING = 4,
    DAT_EP_STATE_UNCONFIGURED_PASSIVE = 5,
    DAT_EP_STATE_ACTIVE_CONNECTION_PENDING = 6,
    DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING = 7,
    DAT_EP_STATE_UNCONFIGURED_TENTATIVE = 8,
    DAT_EP_STATE_CONNECTED = 9,
    DAT_EP_STATE_DISCONNECT_PENDING = 10,
    DAT_EP_STATE_DISCONNECTED = 11,
    DAT_EP_STATE_COMPLETION_PENDING = 12
} DAT_EP_STATE;
#define DAT_EP_STATE_ERROR DAT_EP_STATE_DISCONNECTED

/* Which members of DAT_EP_PARAM are meant. */
typedef DAT_UINT64 DAT_EP_PARAM_MASK;
#define DAT_EP_FIELD_IA_HANDLE UINT64_C(0x1)
#define DAT_EP_FIELD_EP_STATE UINT64_C(0x2)
#define DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE UINT64_C(0x1000)
#define DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE UINT64_C(0x2000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE UINT64_C(0x4000)
#define DAT_EP_FIELD_EP_ATTR_QOS UINT64_C(0x8000)
#define DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS UINT64_C(0x10000)
#define DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS UINT64_C(0x20000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS UINT64_C(0x40000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS UINT64_C(0x80000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV UINT64_C(0x100000)
#define DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV UINT64_C(0x200000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN UINT64_C(0x400000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT UINT64_C(0x800000)
#define DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW UINT64_C(0x1000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV UINT64_C(0x2000000)
#define DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV UINT64_C(0x4000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR UINT64_C(0x8000000)
#define DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR UINT64_C(0x10000000)
#define DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR UINT64_C(0x20000000)
#define DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR UINT64_C(0x40000000)
#define DAT_EP_FIELD_EP_ATTR_ALL UINT64_C(0x7ffff000)
#define DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR UINT64_C(0x4)
#define DAT_EP_FIELD_LOCAL_PORT_QUAL UINT64_C(0x8)
#define DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR UINT64_C(0x10)
#define DAT_EP_FIELD_REMOTE_PORT_QUAL UINT64_C(0x20)
#define DAT_EP_FIELD_PZ_HANDLE UINT64_C(0x40)
#define DAT_EP_FIELD_RECV_EVD_HANDLE UINT64_C(0x80)
#define DAT_EP_FIELD_REQUEST_EVD_HANDLE UINT64_C(0x100)
#define DAT_EP_FIELD_CONNECT_EVD_HANDLE UINT64_C(0x200)
#define DAT_EP_FIELD_SRQ_HANDLE UINT64_C(0x400)
#define DAT_EP_FIELD_ALL UINT64_C(0x7ffff7ff)

/* What a consumer asks of an endpoint. */
typedef struct dat_ep_attr {
    DAT_SERVICE_TYPE service_type;
    DAT_VLEN max_message_size;
    DAT_VLEN max_rdma_size;
    DAT_QOS qos;
    DAT_COMPLETION_FLAGS recv_completion_flags;
    DAT_COMPLETION_FLAGS request_completion_flags;
    DAT_COUNT max_recv_dtos;
    DAT_COUNT max_request_dtos;
    DAT_COUNT max_recv_iov;
    DAT_COUNT max_request_iov;
    DAT_COUNT max_rdma_read_in;
    DAT_COUNT max_rdma_read_out;
    DAT_COUNT srq_soft_hw;
    DAT_COUNT max_rdma_read_iov;
    DAT_COUNT max_rdma_write_iov;
    DAT_COUNT ep_transport_specific_count;
    DAT_NAMED_ATTR *ep_transport_specific;
    DAT_COUNT ep_provider_specific_count;
    DAT_NAMED_ATTR *ep_provider_specific;
} DAT_EP_ATTR;

/* What dat_ep_query tells about an endpoint and dat_ep_modify changes. */
typedef struct dat_ep_param {
    DAT_IA_HANDLE ia_handle;
    DAT_EP_STATE ep_state;
    DAT_IA_ADDRESS_PTR local_ia_address_ptr;
    DAT_PORT_QUAL local_port_qual;
    DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
    DAT_PORT_QUAL remote_port_qual;
    DAT_PZ_HANDLE pz_handle;
    DAT_EVD_HANDLE recv_evd_handle;
    DAT_EVD_HANDLE request_evd_handle;
    DAT_EVD_HANDLE connect_evd_handle;
    DAT_SRQ_HANDLE srq_handle;
    DAT_EP_ATTR ep_attr;
} DAT_EP_PARAM;

/* ---- Service points. ---- */

/* Who makes the endpoint of an arriving connection. */
typedef enum dat_psp_flags {
    DAT_PSP_CONSUMER_FLAG = 0x0,
    DAT_PSP_PROVIDER_FLAG = 0x1
} DAT_PSP_FLAGS;

/* Which members of DAT_PSP_PARAM are asked for. */
typedef enum dat_psp_param_mask {
    DAT_PSP_FIELD_IA_HANDLE = 0x1,
    DAT_PSP_FIELD_CONN_QUAL = 0x2,
    DAT_PSP_FIELD_EVD_HANDLE = 0x4,
    DAT_PSP_FIELD_PSP_FLAGS = 0x8,
    DAT_PSP_FIELD_ALL = 0xf
} DAT_PSP_PARAM_MASK;

/* Which members of DAT_RSP_PARAM are asked for. */
typedef enum dat_rsp_param_mask {
    DAT_RSP_FIELD_IA_HANDLE = 0x1,
    DAT_RSP_FIELD_CONN_QUAL = 0x2,
    DAT_RSP_FIELD_EVD_HANDLE = 0x4,
    DAT_RSP_FIELD_EP_HANDLE = 0x8,
    DAT_RSP_FIELD_ALL = 0xf
} DAT_RSP_PARAM_MASK;

/* What dat_psp_query tells about a public service point. */
typedef struct dat_psp_param {
    DAT_IA_HANDLE ia_handle;
    DAT_CONN_QUAL conn_qual;
    DAT_EVD_HANDLE evd_handle;
    DAT_PSP_FLAGS psp_flags;
} DAT_PSP_PARAM;

/* What dat_rsp_query tells about a reserved service point. */
typedef struct dat_rsp_param {
    DAT_IA_HANDLE ia_handle;
    DAT_CONN_QUAL conn_qual;
    DAT_EVD_HANDLE evd_handle;
    DAT_EP_HANDLE ep_handle;
} DAT_RSP_PARAM;

/* ---- Connection requests. ---- */

/* Which members of DAT_CR_PARAM are asked for. */
typedef enum dat_cr_param_mask {
    DAT_CR_FIELD_REMOTE_IA_ADDRESS_PTR = 0x1,
    DAT_CR_FIELD_REMOTE_PORT_QUAL = 0x2,
    DAT_CR_FIELD_PRIVATE_DATA_SIZE = 0x4,
    DAT_CR_FIELD_PRIVATE_DATA = 0x8,
    DAT_CR_FIELD_LOCAL_EP_HANDLE = 0x10,
    DAT_CR_FIELD_ALL = 0x1f
} DAT_CR_PARAM_MASK;

/* What dat_cr_query tells about a connection request. */
typedef struct dat_cr_param {
    DAT_IA_ADDRESS_PTR remote_ia_address_ptr;
    DAT_PORT_QUAL remote_port_qual;
    DAT_COUNT private_data_size;
    DAT_PVOID private_data;
    DAT_EP_HANDLE local_ep_handle;
} DAT_CR_PARAM;

/* ---- Events. ---- */

/* What an event tells. */
typedef enum dat_event_number {
    DAT_DTO_COMPLETION_EVENT = 0x1,
    DAT_RMR_BIND_COMPLETION_EVENT = 0x1001,
    DAT_CONNECTION_REQUEST_EVENT = 0x2001,
    DAT_CONNECTION_EVENT_ESTABLISHED = 0x4001,
    DAT_CONNECTION_EVENT_PEER_REJECTED = 0x4002,
    DAT_CONNECTION_EVENT_NON_PEER_REJECTED = 0x4003,
    DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR = 0x4004,
    DAT_CONNECTION_EVENT_DISCONNECTED = 0x4005,
    DAT_CONNECTION_EVENT_BROKEN = 0x4006,
    DAT_CONNECTION_EVENT_TIMED_OUT = 0x4007,
    DAT_CONNECTION_EVENT_UNREACHABLE = 0x4008,
    DAT_ASYNC_ERROR_EVD_OVERFLOW = 0x8001,
    DAT_ASYNC_ERROR_IA_CATASTROPHIC = 0x8002,
    DAT_ASYNC_ERROR_EP_BROKEN = 0x8003,
    DAT_ASYNC_ERROR_TIMED_OUT = 0x8004,
    DAT_ASYNC_ERROR_PROVIDER_INTERNAL_ERROR = 0x8005,
    DAT_SOFTWARE_EVENT = 0x10001
} DAT_EVENT_NUMBER;

/* Why an adapter has failed. */
typedef enum ia_async_error_reason {
    DAT_IA_CATASTROPHIC_ERROR = 0,
    DAT_IA_OTHER_ERROR = 1
} DAT_IA_ASYNC_ERROR_REASON;

/* Why an endpoint has failed. */
typedef enum ep_async_error_reason {
    DAT_EP_TRANSFER_TO_ERROR = 0,
    DAT_EP_OTHER_ERROR = 1,
    DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT = 2
} DAT_EP_ASYNC_ERROR_REASON;

/* Why an event dispatcher has failed. */
typedef enum evd_async_error_reason {
    DAT_EVD_OVERFLOW_ERROR = 0,
    DAT_EVD_OTHER_ERROR = 1
} DAT_EVD_ASYNC_ERROR_REASON;

/* Why a shared receive queue has failed. */
typedef enum srq_async_error_reason {
    DAT_SRQ_TRANSFER_TO_ERROR = 0,
    DAT_SRQ_OTHER_ERROR = 1,
    DAT_SRQ_LOW_WATERMARK_EVENT = 2
} DAT_SRQ_ASYNC_ERROR_REASON;

/* Why a local region has failed. */
typedef enum lmr_async_error_reason {
    DAT_LMR_OTHER_ERROR = 0
} DAT_LMR_ASYNC_ERROR_REASON;

/* Why a remote region has failed. */
typedef enum rmr_async_error_reason {
    DAT_RMR_OTHER_ERROR = 0
} DAT_RMR_ASYNC_ERROR_REASON;

/* Why a protection zone has failed. */
typedef enum pz_async_error_reason {
    DAT_PZ_OTHER_ERROR = 0
} DAT_PZ_ASYNC_ERROR_REASON;

/* A bind of a remote region has completed. */
typedef struct dat_rmr_bind_completion_event_data {
    DAT_RMR_HANDLE rmr_handle;
    DAT_RMR_COOKIE user_cookie;
    DAT_DTO_COMPLETION_STATUS status;
} DAT_RMR_BIND_COMPLETION_EVENT_DATA;

/* A connection has changed. */
typedef struct dat_connection_event_data {
    DAT_EP_HANDLE ep_handle;
    DAT_COUNT private_data_size;
    DAT_PVOID private_data;
} DAT_CONNECTION_EVENT_DATA;

/* Something has gone wrong outside of any call. */
typedef struct dat_asynch_error_event_data {
    DAT_HANDLE dat_handle;
    DAT_COUNT reason;
} DAT_ASYNCH_ERROR_EVENT_DATA;

/* The consumer has posted an event itself. */
typedef struct dat_software_event_data {
    DAT_PVOID pointer;
} DAT_SOFTWARE_EVENT_DATA;

/* A transfer has completed. */
typedef struct dat_dto_completion_event_data {
    DAT_EP_HANDLE ep_handle;
    DAT_DTO_COOKIE user_cookie;
    DAT_DTO_COMPLETION_STATUS status;
    DAT_VLEN transfered_length;
} DAT_DTO_COMPLETION_EVENT_DATA;

/* The service point at which a request has arrived. */
typedef union dat_sp_handle {
    DAT_RSP_HANDLE rsp_handle;
    DAT_PSP_HANDLE psp_handle;
} DAT_SP_HANDLE;

/* A connection request has arrived. */
typedef struct dat_cr_arrival_event_data {
    DAT_SP_HANDLE sp_handle;
    DAT_IA_ADDRESS_PTR local_ia_address_ptr;
    DAT_CONN_QUAL conn_qual;
    DAT_CR_HANDLE cr_handle;
} DAT_CR_ARRIVAL_EVENT_DATA;

/* The part of an event that depends on its number. */
typedef union dat_event_data {
    DAT_DTO_COMPLETION_EVENT_DATA dto_completion_event_data;
    DAT_RMR_BIND_COMPLETION_EVENT_DATA rmr_completion_event_data;
    DAT_CR_ARRIVAL_EVENT_DATA cr_arrival_event_data;
    DAT_CONNECTION_EVENT_DATA connect_event_data;
    DAT_ASYNCH_ERROR_EVENT_DATA asynch_error_event_data;
    DAT_SOFTWARE_EVENT_DATA software_event_data;
} DAT_EVENT_DATA;

/* An event. */
typedef struct dat_event {
    DAT_EVENT_NUMBER event_number;
    DAT_EVD_HANDLE evd_handle;
    DAT_EVENT_DATA event_data;
} DAT_EVENT;

/* ---- Adapters. ---- */

/* Given to dat_ia_open: there is a dispatcher of asynchronous errors already. */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)1)

/* Told by dat_ia_query: the dispatcher of asynchronous errors is another process's. */
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)2)

/* Which members of DAT_IA_ATTR are asked for. */
typedef DAT_UINT64 DAT_IA_ATTR_MASK;
#define DAT_IA_FIELD_IA_MAX_MTU_SIZE DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE
#define DAT_IA_FIELD_IA_ADAPTER_NAME UINT64_C(0x1)
#define DAT_IA_FIELD_IA_VENDOR_NAME UINT64_C(0x2)
#define DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION UINT64_C(0x4)
#define DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION UINT64_C(0x8)
#define DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION UINT64_C(0x10)
#define DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION UINT64_C(0x20)
#define DAT_IA_FIELD_IA_ADDRESS_PTR UINT64_C(0x40)
#define DAT_IA_FIELD_IA_MAX_EPS UINT64_C(0x80)
#define DAT_IA_FIELD_IA_MAX_DTO_PER_EP UINT64_C(0x100)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN UINT64_C(0x200)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT UINT64_C(0x400)
#define DAT_IA_FIELD_IA_MAX_EVDS UINT64_C(0x800)
#define DAT_IA_FIELD_IA_MAX_EVD_QLEN UINT64_C(0x1000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO UINT64_C(0x2000)
#define DAT_IA_FIELD_IA_MAX_LMRS UINT64_C(0x4000)
#define DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE UINT64_C(0x8000)
#define DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS UINT64_C(0x10000)
#define DAT_IA_FIELD_IA_MAX_PZS UINT64_C(0x20000)
#define DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE UINT64_C(0x40000)
#define DAT_IA_FIELD_IA_MAX_RDMA_SIZE UINT64_C(0x80000)
#define DAT_IA_FIELD_IA_MAX_RMRS UINT64_C(0x100000)
#define DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS UINT64_C(0x200000)
#define DAT_IA_FIELD_IA_MAX_SRQS UINT64_C(0x400000)
#define DAT_IA_FIELD_IA_MAX_EP_PER_SRQ UINT64_C(0x800000)
#define DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ UINT64_C(0x1000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ UINT64_C(0x2000000)
#define DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE UINT64_C(0x4000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_IN UINT64_C(0x8000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT UINT64_C(0x10000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED UINT64_C(0x20000000)
#define DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED UINT64_C(0x40000000)
#define DAT_IA_ALL DAT_IA_FIELD_ALL
#define DAT_IA_FIELD_NONE UINT64_C(0x0)
#define DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR UINT64_C(0x80000000)
#define DAT_IA_FIELD_IA_TRANSPORT_ATTR UINT64_C(0x100000000)
#define DAT_IA_FIELD_IA_NUM_VENDOR_ATTR UINT64_C(0x200000000)
#define DAT_IA_FIELD_IA_VENDOR_ATTR UINT64_C(0x400000000)
#define DAT_IA_FIELD_ALL UINT64_C(0x7ffffffff)

/* What an adapter is and its limits. */
typedef struct dat_ia_attr {
    char adapter_name[DAT_NAME_MAX_LENGTH];
    char vendor_name[DAT_NAME_MAX_LENGTH];
    DAT_UINT32 hardware_version_major;
    DAT_UINT32 hardware_version_minor;
    DAT_UINT32 firmware_version_major;
    DAT_UINT32 firmware_version_minor;
    DAT_IA_ADDRESS_PTR ia_address_ptr;
    DAT_COUNT max_eps;
    DAT_COUNT max_dto_per_ep;
    DAT_COUNT max_rdma_read_per_ep_in;
    DAT_COUNT max_rdma_read_per_ep_out;
    DAT_COUNT max_evds;
    DAT_COUNT max_evd_qlen;
    DAT_COUNT max_iov_segments_per_dto;
    DAT_COUNT max_lmrs;
    DAT_VLEN max_lmr_block_size;
    DAT_VADDR max_lmr_virtual_address;
    DAT_COUNT max_pzs;
    DAT_VLEN max_message_size;
    DAT_VLEN max_rdma_size;
    DAT_COUNT max_rmrs;
    DAT_VADDR max_rmr_target_address;
    DAT_COUNT max_srqs;
    DAT_COUNT max_ep_per_srq;
    DAT_COUNT max_recv_per_srq;
    DAT_COUNT max_iov_segments_per_rdma_read;
    DAT_COUNT max_iov_segments_per_rdma_write;
    DAT_COUNT max_rdma_read_in;
    DAT_COUNT max_rdma_read_out;
    DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
    DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
    DAT_COUNT num_transport_attr;
    DAT_NAMED_ATTR *transport_attr;
    DAT_COUNT num_vendor_attr;
    DAT_NAMED_ATTR *vendor_attr;
} DAT_IA_ATTR;

/* ---- Attributes of providers. ---- */

/* Which members of DAT_PROVIDER_ATTR are asked for. */
typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;
#define DAT_PROVIDER_FIELD_PROVIDER_NAME UINT64_C(0x1)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR UINT64_C(0x2)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR UINT64_C(0x4)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR UINT64_C(0x8)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR UINT64_C(0x10)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED UINT64_C(0x20)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP UINT64_C(0x40)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED UINT64_C(0x80)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED UINT64_C(0x100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE UINT64_C(0x200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE UINT64_C(0x400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH UINT64_C(0x800)
#define DAT_PROVIDER_FIELD_EP_CREATOR UINT64_C(0x1000)
#define DAT_PROVIDER_FIELD_PZ_SUPPORT UINT64_C(0x2000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT UINT64_C(0x4000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED UINT64_C(0x8000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED UINT64_C(0x10000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED UINT64_C(0x20000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED UINT64_C(0x40000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED UINT64_C(0x80000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED UINT64_C(0x100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ UINT64_C(0x200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED UINT64_C(0x400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ UINT64_C(0x800000)
#define DAT_PROVIDER_FIELD_NONE UINT64_C(0x0)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR UINT64_C(0x1000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR UINT64_C(0x2000000)
#define DAT_PROVIDER_FIELD_ALL UINT64_C(0x3ffffff)

/* Whose a segment list is after the post has returned. */
typedef enum dat_iov_ownership {
    DAT_IOV_CONSUMER = 0,
    DAT_IOV_PROVIDER_NOMOD = 1,
    DAT_IOV_PROVIDER_MOD = 2
} DAT_IOV_OWNERSHIP;

/* Whether a provider makes endpoints for public service points. */
typedef enum dat_ep_creator_for_psp {
    DAT_PSP_CREATES_EP_NEVER = 0,
    DAT_PSP_CREATES_EP_IFASKED = 1,
    DAT_PSP_CREATES_EP_ALWAYS = 2
} DAT_EP_CREATOR_FOR_PSP;

/* Whether several processes can share a protection zone. */
typedef enum dat_pz_support {
    DAT_PZ_UNIQUE = 0,
    DAT_PZ_SHAREABLE = 1
} DAT_PZ_SUPPORT;

/* What a provider can do. */
typedef struct dat_provider_attr {
    char provider_name[DAT_NAME_MAX_LENGTH];
    DAT_UINT32 provider_version_major;
    DAT_UINT32 provider_version_minor;
    DAT_UINT32 dapl_version_major;
    DAT_UINT32 dapl_version_minor;
    DAT_MEM_TYPE lmr_mem_types_supported;
    DAT_IOV_OWNERSHIP iov_ownership_on_return;
    DAT_QOS dat_qos_supported;
    DAT_COMPLETION_FLAGS completion_flags_supported;
    DAT_BOOLEAN is_thread_safe;
    DAT_COUNT max_private_data_size;
    DAT_BOOLEAN supports_multipath;
    DAT_EP_CREATOR_FOR_PSP ep_creator;
    DAT_PZ_SUPPORT pz_support;
    DAT_UINT32 optimal_buffer_alignment;
    DAT_BOOLEAN evd_stream_merging_supported[6][6];
    DAT_BOOLEAN srq_supported;
    DAT_COUNT srq_watermarks_supported;
    DAT_BOOLEAN srq_ep_pz_difference_supported;
    DAT_COUNT srq_info_supported;
    DAT_COUNT ep_recv_info_supported;
    DAT_BOOLEAN lmr_sync_req;
    DAT_BOOLEAN dto_async_return_guaranteed;
    DAT_BOOLEAN rdma_write_for_rdma_read_req;
    DAT_COUNT num_provider_specific_attr;
    DAT_NAMED_ATTR *provider_specific_attr;
} DAT_PROVIDER_ATTR;

/* ---- The registry. ---- */

/* What the registry knows a provider by. */
typedef struct dat_provider_info {
    char ia_name[DAT_NAME_MAX_LENGTH];
    DAT_UINT32 dapl_version_major;
    DAT_UINT32 dapl_version_minor;
    DAT_BOOLEAN is_thread_safe;
} DAT_PROVIDER_INFO;

/* ---- Names that earlier versions had. ---- */

#define max_rdma_read_per_ep max_rdma_read_per_ep_in
#define max_mtu_size max_message_size
#define DAT_IA_FIELD_IA_MAX_DTO_PER_OP DAT_IA_FIELD_IA_MAX_DTO_PER_EP
#define DAT_RMR_BIND_COMPLETION_STATUS DAT_DTO_COMPLETION_STATUS

/* ---- Adapters. ---- */

/* Opens an adapter by its name, for a version of the API; dat_ia_open of the headers calls it
 * (dat_ia_openv(3DAT)). */
DAT_RETURN dat_ia_openv(DAT_NAME_PTR ia_name,
                        DAT_COUNT async_evd_min_qlen,
                        DAT_EVD_HANDLE *async_evd_handle,
                        DAT_IA_HANDLE *ia_handle,
                        DAT_UINT32 dat_major,
                        DAT_UINT32 dat_minor,
                        DAT_BOOLEAN thread_safety);

/* Tells what an adapter and its provider are (dat_ia_query(3DAT)). */
DAT_RETURN dat_ia_query(DAT_IA_HANDLE ia_handle,
                        DAT_EVD_HANDLE *async_evd_handle,
                        DAT_IA_ATTR_MASK ia_attr_mask,
                        DAT_IA_ATTR *ia_attr,
                        DAT_PROVIDER_ATTR_MASK provider_attr_mask,
                        DAT_PROVIDER_ATTR *provider_attr);

/* Closes an adapter (dat_ia_close(3DAT)). */
DAT_RETURN dat_ia_close(DAT_IA_HANDLE ia_handle, DAT_CLOSE_FLAGS close_flags);

/* Opens an adapter by its name (dat_ia_open(3DAT)). */
#define dat_ia_open(name, qlen, async_evd, ia) \
    dat_ia_openv((name), (qlen), (async_evd), (ia), \
                 DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_THREADSAFE)

/* ---- Handles of any kind. ---- */

/* Ties a word of the consumer's to an object (dat_set_consumer_context(3DAT)). */
DAT_RETURN dat_set_consumer_context(DAT_HANDLE handle, DAT_CONTEXT context);

/* Gives back the consumer's word of an object (dat_get_consumer_context(3DAT)). */
DAT_RETURN dat_get_consumer_context(DAT_HANDLE handle, DAT_CONTEXT *context);

/* Tells what kind of object a handle names (dat_get_handle_type(3DAT)). */
DAT_RETURN dat_get_handle_type(DAT_HANDLE handle, DAT_HANDLE_TYPE *handle_type);

/* ---- Protection zones. ---- */

/* Creates a protection zone (dat_pz_create(3DAT)). */
DAT_RETURN dat_pz_create(DAT_IA_HANDLE ia_handle, DAT_PZ_HANDLE *pz_handle);

/* Tells about a protection zone (dat_pz_query(3DAT)). */
DAT_RETURN dat_pz_query(DAT_PZ_HANDLE pz_handle,
                        DAT_PZ_PARAM_MASK pz_param_mask,
                        DAT_PZ_PARAM *pz_param);

/* Frees a protection zone (dat_pz_free(3DAT)). */
DAT_RETURN dat_pz_free(DAT_PZ_HANDLE pz_handle);

/* ---- Local memory regions. ---- */

/* Ends a registration (dat_lmr_free(3DAT)). */
DAT_RETURN dat_lmr_free(DAT_LMR_HANDLE lmr_handle);

/* Makes local writes visible to reads of peers (dat_lmr_sync_rdma_read(3DAT)). */
DAT_RETURN dat_lmr_sync_rdma_read(DAT_IA_HANDLE ia_handle,
                                  const DAT_LMR_TRIPLET *local_segments,
                                  DAT_VLEN num_segments);

/* Makes writes of peers visible to local reads (dat_lmr_sync_rdma_write(3DAT)). */
DAT_RETURN dat_lmr_sync_rdma_write(DAT_IA_HANDLE ia_handle,
                                   const DAT_LMR_TRIPLET *local_segments,
                                   DAT_VLEN num_segments);

/* Tells about a local region (dat_lmr_query(3DAT)). */
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr_handle,
                         DAT_LMR_PARAM_MASK lmr_param_mask,
                         DAT_LMR_PARAM *lmr_param);

/* Registers memory (dat_lmr_create(3DAT)). */
DAT_RETURN dat_lmr_create(DAT_IA_HANDLE ia_handle,
                          DAT_MEM_TYPE mem_type,
                          DAT_REGION_DESCRIPTION region_desc,
                          DAT_VLEN length,
                          DAT_PZ_HANDLE pz_handle,
                          DAT_MEM_PRIV_FLAGS mem_priv,
                          DAT_LMR_HANDLE *lmr_handle,
                          DAT_LMR_CONTEXT *lmr_context,
                          DAT_RMR_CONTEXT *rmr_context,
                          DAT_VLEN *registered_length,
                          DAT_VADDR *registered_address);

/* ---- Remote memory regions. ---- */

/* Creates a remote region (dat_rmr_create(3DAT)). */
DAT_RETURN dat_rmr_create(DAT_PZ_HANDLE pz_handle, DAT_RMR_HANDLE *rmr_handle);

/* Tells about a remote region (dat_rmr_query(3DAT)). */
DAT_RETURN dat_rmr_query(DAT_RMR_HANDLE rmr_handle,
                         DAT_RMR_PARAM_MASK rmr_param_mask,
                         DAT_RMR_PARAM *rmr_param);

/* Frees a remote region (dat_rmr_free(3DAT)). */
DAT_RETURN dat_rmr_free(DAT_RMR_HANDLE rmr_handle);

/* Posts a bind of a remote region to memory (dat_rmr_bind(3DAT)). */
DAT_RETURN dat_rmr_bind(DAT_RMR_HANDLE rmr_handle,
                        const DAT_LMR_TRIPLET *lmr_triplet,
                        DAT_MEM_PRIV_FLAGS mem_priv,
                        DAT_EP_HANDLE ep_handle,
                        DAT_RMR_COOKIE user_cookie,
                        DAT_COMPLETION_FLAGS completion_flags,
                        DAT_RMR_CONTEXT *rmr_context);

/* ---- Event dispatchers. ---- */

/* Changes how many events a dispatcher holds (dat_evd_resize(3DAT)). */
DAT_RETURN dat_evd_resize(DAT_EVD_HANDLE evd_handle, DAT_COUNT evd_min_qlen);

/* Posts a software event (dat_evd_post_se(3DAT)). */
DAT_RETURN dat_evd_post_se(DAT_EVD_HANDLE evd_handle, const DAT_EVENT *event);

/* Takes the next event, if there is one (dat_evd_dequeue(3DAT)). */
DAT_RETURN dat_evd_dequeue(DAT_EVD_HANDLE evd_handle, DAT_EVENT *event);

/* Tells about an event dispatcher (dat_evd_query(3DAT)). */
DAT_RETURN dat_evd_query(DAT_EVD_HANDLE evd_handle,
                         DAT_EVD_PARAM_MASK evd_param_mask,
                         DAT_EVD_PARAM *evd_param);

/* Frees an event dispatcher (dat_evd_free(3DAT)). */
DAT_RETURN dat_evd_free(DAT_EVD_HANDLE evd_handle);

/* Creates an event dispatcher (dat_evd_create(3DAT)). */
DAT_RETURN dat_evd_create(DAT_IA_HANDLE ia_handle,
                          DAT_COUNT evd_min_qlen,
                          DAT_CNO_HANDLE cno_handle,
                          DAT_EVD_FLAGS evd_flags,
                          DAT_EVD_HANDLE *evd_handle);

/* Changes the notification object of a dispatcher (dat_evd_modify_cno(3DAT)). */
DAT_RETURN dat_evd_modify_cno(DAT_EVD_HANDLE evd_handle, DAT_CNO_HANDLE cno_handle);

/* Lets a dispatcher trigger its notification object (dat_evd_enable(3DAT)). */
DAT_RETURN dat_evd_enable(DAT_EVD_HANDLE evd_handle);

/* Waits for events (dat_evd_wait(3DAT)). */
DAT_RETURN dat_evd_wait(DAT_EVD_HANDLE evd_handle,
                        DAT_TIMEOUT timeout,
                        DAT_COUNT threshold,
                        DAT_EVENT *event,
                        DAT_COUNT *n_more);

/* Keeps a dispatcher from triggering its notification object (dat_evd_disable(3DAT)). */
DAT_RETURN dat_evd_disable(DAT_EVD_HANDLE evd_handle);

/* Makes waiting impossible and ends the wait under way (dat_evd_set_unwaitable(3DAT)). */
DAT_RETURN dat_evd_set_unwaitable(DAT_EVD_HANDLE evd_handle);

/* Makes waiting possible again (dat_evd_clear_unwaitable(3DAT)). */
DAT_RETURN dat_evd_clear_unwaitable(DAT_EVD_HANDLE evd_handle);

/* ---- Endpoints. ---- */

/* Creates an endpoint (dat_ep_create(3DAT)). */
DAT_RETURN dat_ep_create(DAT_IA_HANDLE ia_handle,
                         DAT_PZ_HANDLE pz_handle,
                         DAT_EVD_HANDLE recv_evd_handle,
                         DAT_EVD_HANDLE request_evd_handle,
                         DAT_EVD_HANDLE connect_evd_handle,
                         const DAT_EP_ATTR *ep_attr,
                         DAT_EP_HANDLE *ep_handle);

/* Tells about an endpoint (dat_ep_query(3DAT)). */
DAT_RETURN dat_ep_query(DAT_EP_HANDLE ep_handle,
                        DAT_EP_PARAM_MASK ep_param_mask,
                        DAT_EP_PARAM *ep_param);

/* Changes an endpoint (dat_ep_modify(3DAT)). */
DAT_RETURN dat_ep_modify(DAT_EP_HANDLE ep_handle,
                         DAT_EP_PARAM_MASK ep_param_mask,
                         const DAT_EP_PARAM *ep_param);

/* Starts a connection (dat_ep_connect(3DAT)). */
DAT_RETURN dat_ep_connect(DAT_EP_HANDLE ep_handle,
                          DAT_IA_ADDRESS_PTR remote_ia_address,
                          DAT_CONN_QUAL remote_conn_qual,
                          DAT_TIMEOUT timeout,
                          DAT_COUNT private_data_size,
                          DAT_PVOID private_data,
                          DAT_QOS qos,
                          DAT_CONNECT_FLAGS connect_flags);

/* Starts a connection to where another endpoint is connected (dat_ep_dup_connect(3DAT)). */
DAT_RETURN dat_ep_dup_connect(DAT_EP_HANDLE ep_handle,
                              DAT_EP_HANDLE dup_ep_handle,
                              DAT_TIMEOUT timeout,
                              DAT_COUNT private_data_size,
                              DAT_PVOID private_data,
                              DAT_QOS qos);

/* Ends a connection (dat_ep_disconnect(3DAT)). */
DAT_RETURN dat_ep_disconnect(DAT_EP_HANDLE ep_handle, DAT_CLOSE_FLAGS close_flags);

/* Tells the state of an endpoint (dat_ep_get_status(3DAT)). */
DAT_RETURN dat_ep_get_status(DAT_EP_HANDLE ep_handle,
                             DAT_EP_STATE *ep_state,
                             DAT_BOOLEAN *recv_idle,
                             DAT_BOOLEAN *request_idle);

/* Frees an endpoint (dat_ep_free(3DAT)). */
DAT_RETURN dat_ep_free(DAT_EP_HANDLE ep_handle);

/* Makes a disconnected endpoint unconnected (dat_ep_reset(3DAT)). */
DAT_RETURN dat_ep_reset(DAT_EP_HANDLE ep_handle);

/* Creates an endpoint that receives from a shared queue (dat_ep_create_with_srq(3DAT)). */
DAT_RETURN dat_ep_create_with_srq(DAT_IA_HANDLE ia_handle,
                                  DAT_PZ_HANDLE pz_handle,
                                  DAT_EVD_HANDLE recv_evd_handle,
                                  DAT_EVD_HANDLE request_evd_handle,
                                  DAT_EVD_HANDLE connect_evd_handle,
                                  DAT_SRQ_HANDLE srq_handle,
                                  const DAT_EP_ATTR *ep_attr,
                                  DAT_EP_HANDLE *ep_handle);

/* Tells how many receive buffers an endpoint holds (dat_ep_recv_query(3DAT)). */
DAT_RETURN dat_ep_recv_query(DAT_EP_HANDLE ep_handle,
                             DAT_COUNT *nbufs_allocated,
                             DAT_COUNT *bufs_alloc_span);

/* Limits the receive buffers that an endpoint takes from its shared queue
 * (dat_ep_set_watermark(3DAT)). */
DAT_RETURN dat_ep_set_watermark(DAT_EP_HANDLE ep_handle,
                                DAT_COUNT soft_high_watermark,
                                DAT_COUNT hard_high_watermark);

/* ---- Posts. ---- */

/* Posts a send (dat_ep_post_send(3DAT)). */
DAT_RETURN dat_ep_post_send(DAT_EP_HANDLE ep_handle,
                            DAT_COUNT num_segments,
                            DAT_LMR_TRIPLET *local_iov,
                            DAT_DTO_COOKIE user_cookie,
                            DAT_COMPLETION_FLAGS completion_flags);

/* Posts a receive (dat_ep_post_recv(3DAT)). */
DAT_RETURN dat_ep_post_recv(DAT_EP_HANDLE ep_handle,
                            DAT_COUNT num_segments,
                            DAT_LMR_TRIPLET *local_iov,
                            DAT_DTO_COOKIE user_cookie,
                            DAT_COMPLETION_FLAGS completion_flags);

/* Posts an RDMA read (dat_ep_post_rdma_read(3DAT)). */
DAT_RETURN dat_ep_post_rdma_read(DAT_EP_HANDLE ep_handle,
                                 DAT_COUNT num_segments,
                                 DAT_LMR_TRIPLET *local_iov,
                                 DAT_DTO_COOKIE user_cookie,
                                 const DAT_RMR_TRIPLET *remote_iov,
                                 DAT_COMPLETION_FLAGS completion_flags);

/* Posts an RDMA write (dat_ep_post_rdma_write(3DAT)). */
DAT_RETURN dat_ep_post_rdma_write(DAT_EP_HANDLE ep_handle,
                                  DAT_COUNT num_segments,
                                  DAT_LMR_TRIPLET *local_iov,
                                  DAT_DTO_COOKIE user_cookie,
                                  const DAT_RMR_TRIPLET *remote_iov,
                                  DAT_COMPLETION_FLAGS completion_flags);

/* ---- Shared receive queues. ---- */

/* Creates a shared receive queue (dat_srq_create(3DAT)). */
DAT_RETURN dat_srq_create(DAT_IA_HANDLE ia_handle,
                          DAT_PZ_HANDLE pz_handle,
                          DAT_SRQ_ATTR *srq_attr,
                          DAT_SRQ_HANDLE *srq_handle);

/* Frees a shared receive queue (dat_srq_free(3DAT)). */
DAT_RETURN dat_srq_free(DAT_SRQ_HANDLE srq_handle);

/* Posts a receive to a shared queue (dat_srq_post_recv(3DAT)). */
DAT_RETURN dat_srq_post_recv(DAT_SRQ_HANDLE srq_handle,
                             DAT_COUNT num_segments,
                             DAT_LMR_TRIPLET *local_iov,
                             DAT_DTO_COOKIE user_cookie);

/* Tells about a shared receive queue (dat_srq_query(3DAT)). */
DAT_RETURN dat_srq_query(DAT_SRQ_HANDLE srq_handle,
                         DAT_SRQ_PARAM_MASK srq_param_mask,
                         DAT_SRQ_PARAM *srq_param);

/* Changes how many receives a shared queue holds (dat_srq_resize(3DAT)). */
DAT_RETURN dat_srq_resize(DAT_SRQ_HANDLE srq_handle, DAT_COUNT max_recv_dtos);

/* Asks for an event when few receives are left (dat_srq_set_lw(3DAT)). */
DAT_RETURN dat_srq_set_lw(DAT_SRQ_HANDLE srq_handle, DAT_COUNT low_watermark);

/* ---- Service points. ---- */

/* Listens at a connection qualifier (dat_psp_create(3DAT)). */
DAT_RETURN dat_psp_create(DAT_IA_HANDLE ia_handle,
                          DAT_CONN_QUAL conn_qual,
                          DAT_EVD_HANDLE evd_handle,
                          DAT_PSP_FLAGS psp_flags,
                          DAT_PSP_HANDLE *psp_handle);

/* Listens at a connection qualifier that the provider picks (dat_psp_create_any(3DAT)). */
DAT_RETURN dat_psp_create_any(DAT_IA_HANDLE ia_handle,
                              DAT_CONN_QUAL *conn_qual,
                              DAT_EVD_HANDLE evd_handle,
                              DAT_PSP_FLAGS psp_flags,
                              DAT_PSP_HANDLE *psp_handle);

/* Tells about a public service point (dat_psp_query(3DAT)). */
DAT_RETURN dat_psp_query(DAT_PSP_HANDLE psp_handle,
                         DAT_PSP_PARAM_MASK psp_param_mask,
                         DAT_PSP_PARAM *psp_param);

/* Stops listening (dat_psp_free(3DAT)). */
DAT_RETURN dat_psp_free(DAT_PSP_HANDLE psp_handle);

/* Listens for one connection to a given endpoint (dat_rsp_create(3DAT)). */
DAT_RETURN dat_rsp_create(DAT_IA_HANDLE ia_handle,
                          DAT_CONN_QUAL conn_qual,
                          DAT_EP_HANDLE ep_handle,
                          DAT_EVD_HANDLE evd_handle,
                          DAT_RSP_HANDLE *rsp_handle);

/* Tells about a reserved service point (dat_rsp_query(3DAT)). */
DAT_RETURN dat_rsp_query(DAT_RSP_HANDLE rsp_handle,
                         DAT_RSP_PARAM_MASK rsp_param_mask,
                         DAT_RSP_PARAM *rsp_param);

/* Frees a reserved service point (dat_rsp_free(3DAT)). */
DAT_RETURN dat_rsp_free(DAT_RSP_HANDLE rsp_handle);

/* ---- Connection requests. ---- */

/* Tells about a connection request (dat_cr_query(3DAT)). */
DAT_RETURN dat_cr_query(DAT_CR_HANDLE cr_handle,
                        DAT_CR_PARAM_MASK cr_param_mask,
                        DAT_CR_PARAM *cr_param);

/* Accepts a connection request (dat_cr_accept(3DAT)). */
DAT_RETURN dat_cr_accept(DAT_CR_HANDLE cr_handle,
                         DAT_EP_HANDLE ep_handle,
                         DAT_COUNT private_data_size,
                         DAT_PVOID private_data);

/* Hands a connection request over to another service (dat_cr_handoff(3DAT)). */
DAT_RETURN dat_cr_handoff(DAT_CR_HANDLE cr_handle, DAT_CONN_QUAL conn_qual);

/* Refuses a connection request (dat_cr_reject(3DAT)). */
DAT_RETURN dat_cr_reject(DAT_CR_HANDLE cr_handle);

/* ---- The registry. ---- */

/* Lists the providers (dat_registry_list_providers(3DAT)). */
DAT_RETURN dat_registry_list_providers(DAT_COUNT max_to_return,
                                       DAT_COUNT *entries_returned,
                                       DAT_PROVIDER_INFO **provider_list);

/* ---- Errors. ---- */

/* Gives the words for a return value (dat_strerror(3DAT)). */
DAT_RETURN dat_strerror(DAT_RETURN value, const char **major_message, const char **minor_message);

#ifdef __cplusplus
}
#endif

#endif
