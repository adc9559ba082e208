/*
 * What the parts of the client have in common.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef CLIENT_H
#define CLIENT_H

#include <stdio.h>
#include <string.h>

#include "api.h"

/* Checks that failed. */
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

/* What the loaded provider has seen. */
extern struct record *record;

/* Opens a name as a program of the headers does; the library's record is then at hand. */
DAT_RETURN open_name(const char *name, DAT_IA_HANDLE *ia);

/* Whether a file is mapped into the process. */
int is_loaded(const char *file);

/* The tests, a noun each. */
void test_adapter(void);
void test_arguments(void);
void test_handles(void);
void test_failures(void);
void test_registration(void);
void test_threads(void);

#endif
