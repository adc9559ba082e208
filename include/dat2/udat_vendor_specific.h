/*
 * What vendors add for programs: nothing.
 *
 * Part of DAT 2.0. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT2_UDAT_VENDOR_SPECIFIC_H
#define DAT2_UDAT_VENDOR_SPECIFIC_H

#include <dat2/dat_vendor_specific.h>

#endif
