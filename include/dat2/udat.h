/*
 * DAT for programs: include this one.
 *
 * Part of DAT 2.0. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT2_UDAT_H
#define DAT2_UDAT_H

#include <dat2/udat_config.h>
#include <dat2/dat_platform_specific.h>
#include <dat2/dat.h>
#include <dat2/udat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Notification objects. ---- */

/* What a notification object wakes. */
typedef enum dat_proxy_type {
    DAT_PROXY_TYPE_NONE = 0,
    DAT_PROXY_TYPE_AGENT = 1,
    DAT_PROXY_TYPE_FD = 2
} DAT_PROXY_TYPE;

/* Which members of DAT_CNO_PARAM are asked for. */
typedef enum dat_cno_param_mask {
    DAT_CNO_FIELD_IA_HANDLE = 0x1,
    DAT_CNO_FIELD_PROXY_TYPE = 0x2,
    DAT_CNO_FIELD_PROXY = 0x3,
    DAT_CNO_FIELD_ALL = 0x4
} DAT_CNO_PARAM_MASK;

/* A proxy agent: called whenever its notification object is triggered. */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID instance_data, DAT_EVD_HANDLE evd_handle);

/* A proxy agent and the word that it is called with. */
typedef struct dat_os_wait_proxy_agent {
    DAT_PVOID instance_data;
    DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

/* A file descriptor. */
typedef int DAT_FD;

/* What a notification object wakes; its DAT_PROXY_TYPE says which member counts. */
typedef union dat_cno_proxy {
    DAT_OS_WAIT_PROXY_AGENT agent;
    DAT_FD fd;
    DAT_PVOID none;
} DAT_CNO_PROXY;

/* What dat_cno_query tells about a notification object. */
typedef struct dat_cno_param {
    DAT_IA_HANDLE ia_handle;
    DAT_PROXY_TYPE proxy_type;
    DAT_CNO_PROXY proxy;
} DAT_CNO_PARAM;

/* No proxy agent. */
#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL (DAT_OS_WAIT_PROXY_AGENT{NULL, NULL})
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL __extension__ (DAT_OS_WAIT_PROXY_AGENT){NULL, NULL}
#endif

/* ---- Notification objects. ---- */

/* Creates a notification object (dat_cno_create(3DAT)). */
DAT_RETURN dat_cno_create(DAT_IA_HANDLE ia_handle,
                          DAT_OS_WAIT_PROXY_AGENT agent,
                          DAT_CNO_HANDLE *cno_handle);

/* Changes the proxy agent of a notification object (dat_cno_modify_agent(3DAT)). */
DAT_RETURN dat_cno_modify_agent(DAT_CNO_HANDLE cno_handle, DAT_OS_WAIT_PROXY_AGENT agent);

/* Tells about a notification object (dat_cno_query(3DAT)). */
DAT_RETURN dat_cno_query(DAT_CNO_HANDLE cno_handle,
                         DAT_CNO_PARAM_MASK cno_param_mask,
                         DAT_CNO_PARAM *cno_param);

/* Frees a notification object (dat_cno_free(3DAT)). */
DAT_RETURN dat_cno_free(DAT_CNO_HANDLE cno_handle);

/* Waits until a notification object is triggered (dat_cno_wait(3DAT)). */
DAT_RETURN dat_cno_wait(DAT_CNO_HANDLE cno_handle, DAT_TIMEOUT timeout, DAT_EVD_HANDLE *evd_handle);

/* Creates a notification object that a file descriptor shows (dat_cno_fd_create(3DAT)). */
DAT_RETURN dat_cno_fd_create(DAT_IA_HANDLE ia_handle, DAT_FD *fd, DAT_CNO_HANDLE *cno_handle);

/* Triggers a notification object by hand (dat_cno_trigger(3DAT)). */
DAT_RETURN dat_cno_trigger(DAT_CNO_HANDLE cno_handle, DAT_EVD_HANDLE *evd_handle);

#ifdef __cplusplus
}
#endif

#endif
