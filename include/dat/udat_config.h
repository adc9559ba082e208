/*
 * Which DAT this is.
 *
 * Part of DAT 1.2. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT_UDAT_CONFIG_H
#define DAT_UDAT_CONFIG_H

#include <dat/dat_platform_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Configuration. ---- */

#define DAT_THREADSAFE DAT_FALSE
#define DAT_VERSION_MAJOR 1
#define DAT_VERSION_MINOR 2

#ifdef __cplusplus
}
#endif

#endif
