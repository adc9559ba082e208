/*
 * What the parts of the client share.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef CLIENT_H
#define CLIENT_H

#include <stdio.h>
#include <string.h>

#include "api.h"

/* The number of checks that failed. */
extern int failures;

#define CHECK(condition)                                                            \
    do {                                                                            \
        if (!(condition)) {                                                         \
            printf("NOT OK: %s:%d: %s (last error: %s)\n", __FILE__, __LINE__, #condition, \
                   dat_error_detail());                                             \
            failures++;                                                             \
        }                                                                           \
    } while (0)

#define TYPE(code) ((code) & DAT_TYPE_MASK)

/* The record of the loaded provider. */
extern struct record *record;

/* Opens a name as a C program does, and looks up the record of its library. */
DAT_RETURN open_name(const char *name, DAT_IA_HANDLE *ia);

/* Returns whether a file is mapped into the process. */
int is_loaded(const char *file);

/* The groups of tests. */
void test_adapter(void);
void test_arguments(void);
void test_handles(void);
void test_failures(void);
void test_registration(void);
void test_threads(void);

#endif
