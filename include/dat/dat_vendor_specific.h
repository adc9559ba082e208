/*
 * What vendors add for all users: nothing.
 *
 * Part of DAT 1.2. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT_DAT_VENDOR_SPECIFIC_H
#define DAT_DAT_VENDOR_SPECIFIC_H

#include <dat/dat_platform_specific.h>

#endif
