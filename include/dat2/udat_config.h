/*
 * Which DAT this is.
 *
 * Part of DAT 2.0. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT2_UDAT_CONFIG_H
#define DAT2_UDAT_CONFIG_H

#include <dat2/dat_platform_specific.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Configuration. ---- */

#define DAT_THREADSAFE DAT_FALSE
#define DAT_VERSION_MAJOR 2
#define DAT_VERSION_MINOR 0

/* ---- Extensions. ---- */

#define DAT_EXTENSIONS 1

#ifdef __cplusplus
}
#endif

#endif
