/*
 * DAT for programs: include this one.
 *
 * Part of DAT 1.2. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT_UDAT_H
#define DAT_UDAT_H

#include <dat/udat_config.h>
#include <dat/dat_platform_specific.h>
#include <dat/dat.h>
#include <dat/udat_vendor_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Notification objects. ---- */

/* Which members of DAT_CNO_PARAM are asked for. */
typedef enum dat_cno_param_mask {
    DAT_CNO_FIELD_IA_HANDLE = 0x1,
    DAT_CNO_FIELD_AGENT = 0x2,
    DAT_CNO_FIELD_ALL = 0x3
} DAT_CNO_PARAM_MASK;

/* A proxy agent: called whenever its notification object is triggered. */
typedef void (*DAT_AGENT_FUNC)(DAT_PVOID instance_data, DAT_EVD_HANDLE evd_handle);

/* A proxy agent and the word that it is called with. */
typedef struct dat_os_wait_proxy_agent {
    DAT_PVOID instance_data;
    DAT_AGENT_FUNC proxy_agent_func;
} DAT_OS_WAIT_PROXY_AGENT;

/* What dat_cno_query tells about a notification object. */
typedef struct dat_cno_param {
    DAT_IA_HANDLE ia_handle;
    DAT_OS_WAIT_PROXY_AGENT agent;
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

#ifdef __cplusplus
}
#endif

#endif
