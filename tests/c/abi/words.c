/*
 * Descriptions of errors: dat_strerror has one for every code of the tables and for no other, and
 * dat_error_detail for the last error of each thread. "codes" generates codes.h from the tables.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>

#include "../objects.h"

struct code {
    const char *name;
    DAT_RETURN value;
};

#define RETURN_TYPE(name, value) {#name, (DAT_RETURN)value},
#define RETURN_SUBTYPE(name, value)
static const struct code types[] = {
#include "codes.h"
};
#undef RETURN_TYPE
#undef RETURN_SUBTYPE
#define RETURN_TYPE(name, value)
#define RETURN_SUBTYPE(name, value) {#name, (DAT_RETURN)value},
static const struct code subtypes[] = {
#include "codes.h"
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The initial value of the results. */
static const char untouched[] = "untouched";

static void expect(DAT_RETURN value, const struct code *type, const struct code *subtype)
{
    const char *major = untouched, *minor = untouched;
    DAT_RETURN code = dat_strerror(value, &major, &minor);

    CHECK(code == DAT_SUCCESS && strcmp(major, type->name) == 0 &&
              strcmp(minor, subtype->name) == 0,
          "%#x, which is %s, %s: %#x, \"%s\", \"%s\"", (unsigned)value, type->name, subtype->name,
          (unsigned)code, major, minor);
}

static void try_known(void)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        if (types[i].value & DAT_CLASS_ERROR) { /* in 1.2 one type has the class in it */
            expect(types[i].value, &types[i], &subtypes[0]);
            continue;
        }
        for (size_t j = 0; j < COUNT(subtypes); j++) {
            DAT_RETURN value = types[i].value | subtypes[j].value;

            expect(value, &types[i], &subtypes[j]);
            expect(DAT_CLASS_ERROR | value, &types[i], &subtypes[j]);
        }
    }
}

static int is_known(DAT_RETURN type)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        if (DAT_GET_TYPE(types[i].value) == type)
            return 1;
    }
    return 0;
}

static void refuse(DAT_RETURN value)
{
    const char *major = untouched, *minor = untouched;
    DAT_RETURN code = dat_strerror(value, &major, &minor);

    CHECK(code == (DAT_CLASS_ERROR | DAT_INVALID_PARAMETER | DAT_INVALID_ARG1), "%#x: %#x",
          (unsigned)value, (unsigned)code);
    CHECK(major == untouched && minor == untouched, "%#x: results for an invalid code",
          (unsigned)value);
}

static void try_unknown(void)
{
    for (DAT_RETURN type = 0; type <= DAT_TYPE_MASK; type += 0x10000) {
        if (!is_known(type))
            refuse(DAT_CLASS_ERROR | type);
    }
    for (DAT_RETURN subtype = (DAT_RETURN)COUNT(subtypes); subtype <= 0xffff; subtype += 97)
        refuse(DAT_CLASS_ERROR | DAT_INVALID_HANDLE | subtype);
}

/* Each thread has its own last error, and none before its first. */
static pthread_barrier_t barrier;

static void *other_thread(void *argument)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    char name[] = "the-other-thread";

    (void)argument;
    CHECK(*dat_error_detail() == '\0', "a thread begins with \"%s\"", dat_error_detail());
    CHECK(dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS, "an unknown adapter opened");
    pthread_barrier_wait(&barrier); /* both have failed */
    CHECK(strstr(dat_error_detail(), name) != NULL, "the error of another: \"%s\"",
          dat_error_detail());
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void try_threads(void)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    pthread_t thread;
    char name[] = "the-first-thread";
    const char *words;

    CHECK(dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS, "an unknown adapter opened");
    words = dat_error_detail();
    pthread_barrier_init(&barrier, NULL, 2);
    if (pthread_create(&thread, NULL, other_thread, NULL) != 0)
        exit(1);
    pthread_barrier_wait(&barrier);
    CHECK(strstr(words, name) != NULL, "the error of another: \"%s\"", words);
    CHECK(dat_error_detail() == words, "the words moved without another error");
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    CHECK(strstr(dat_error_detail(), name) != NULL, "the error of another: \"%s\"",
          dat_error_detail());
    pthread_barrier_destroy(&barrier);
}

int main(void)
{
    DAT_HANDLE set[KINDS];

    CHECK(*dat_error_detail() == '\0', "a program begins with \"%s\"", dat_error_detail());
    open_adapter(set);
    try_known();
    try_unknown();
    try_threads();
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    return verdict();
}
