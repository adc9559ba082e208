/*
 * Words for errors beyond dat_strerror. Only this implementation has this header.
 *
 * Part of DAT 1.2. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT_DAT_DETAIL_H
#define DAT_DAT_DETAIL_H

#include <dat/dat_platform_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Errors. ---- */

/* The words for the calling thread's last error: what was tried, on what, why it failed and what
 * to do about it. There are words, too, for the last event that it took, if that is a completion
 * that is no success, a connection that did not come about or broke, or an asynchronous error:
 * with the peer, the first failure of the endpoint, until its reset, and what the transport says
 * of that. Never NULL, empty if there was no error yet; valid until the thread's next call. */
const char *dat_error_detail(void);

#ifdef __cplusplus
}
#endif

#endif
