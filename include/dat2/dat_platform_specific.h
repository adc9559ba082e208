/*
 * Numbers and addresses, in the terms of the platform.
 *
 * Part of DAT 2.0. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT2_DAT_PLATFORM_SPECIFIC_H
#define DAT2_DAT_PLATFORM_SPECIFIC_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Who writes an argument: words for the reader, nothing to the compiler. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#define DAT_API
#define DAT_EXPORT extern

/* The handle of an adapter is a small number. */
#define DAT_IA_HANDLE_TO_UL(handle) ((unsigned long)(handle))
#define DAT_UL_TO_IA_HANDLE(number) ((DAT_IA_HANDLE)(number))

/* ---- Numbers and names. ---- */

/* Room for a name, its final zero included. */
#define DAT_NAME_MAX_LENGTH 256

typedef uint32_t DAT_UINT32;
#define DAT_OPTIMAL_ALIGNMENT 256

/* False is zero, anything else is true. */
typedef enum dat_boolean {
    DAT_FALSE = 0,
    DAT_TRUE = 1
} DAT_BOOLEAN;

/* A time-out in microseconds. */
typedef DAT_UINT32 DAT_TIMEOUT;

/* Never gives up. */
#define DAT_TIMEOUT_INFINITE 0xffffffffu

typedef uint64_t DAT_UINT64;

__extension__ typedef unsigned long long DAT_UVERYLONG;

typedef void *DAT_PVOID;

/* A number of things, signed. */
typedef int DAT_COUNT;

/* A physical address; carried, never used. */
typedef DAT_UINT64 DAT_PADDR;

/* The name of an adapter. */
typedef char *DAT_NAME_PTR;

/* An attribute that has a name: two strings. */
typedef struct dat_named_attr {
    const char *name;
    const char *value;
} DAT_NAMED_ATTR;

/* A word that belongs to the consumer. */
typedef union dat_context {
    DAT_PVOID as_ptr;
    DAT_UINT64 as_64;
    DAT_UVERYLONG as_index;
} DAT_CONTEXT;

/* A length of memory in bytes. */
typedef DAT_UINT64 DAT_VLEN;

/* An address in memory. */
typedef DAT_UINT64 DAT_VADDR;

/* The length of a segment in bytes. */
typedef DAT_UINT32 DAT_SEG_LENGTH;

/* ---- Socket addresses. ---- */

#define DAT_AF_INET AF_INET
#define DAT_AF_INET6 AF_INET6

/* A socket address of any family. */
typedef struct sockaddr DAT_SOCK_ADDR;

/* A socket address of IPv6. */
typedef struct sockaddr_in6 DAT_SOCK_ADDR6;

#ifdef __cplusplus
}
#endif

#endif
