/*
 * The calls of calls.h as a table, with the values of their arguments. For DAT 1.2 if DAT_1_2 is
 * defined.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

/* The arguments of the calls in the table. */
static char byte;
static DAT_EVD_HANDLE no_evd;
static DAT_CONTEXT context;
static DAT_RMR_TRIPLET remote;
static DAT_EVENT software_event;
static DAT_EP_PARAM ep_param;
static DAT_PROVIDER provider;
static DAT_COUNT provider_count;
static DAT_PROVIDER_INFO provider_info, provider_place;
static DAT_PROVIDER_INFO *provider_list[] = {&provider_place};
static uint64_t result[256]; /* more than any struct needs */

/* An argument of a call. */
struct argument {
    enum { NOTHING, IS_HANDLE, IS_POINTER, IS_VALUE } is;
    int may_be_null;
    enum kind kind;
    unsigned subtype;
    int number; /* in the prototype, where arguments before it are passed in another way */
    int is_table;
    size_t size, alignment;
    void *pointer;
    uintptr_t value;
};

#define MOST 14
struct call {
    const char *name;
    DAT_RETURN (*make)(const uintptr_t *a);
    struct argument arguments[MOST];
};

#define HANDLE(kind_, subtype_) {.is = IS_HANDLE, .kind = kind_, .subtype = subtype_}
#define MAYBE(kind_, subtype_) \
    {.is = IS_HANDLE, .kind = kind_, .subtype = subtype_, .may_be_null = 1}
#define POINTER(null, number_, type, address)                                                  \
    {.is = IS_POINTER, .may_be_null = null, .number = number_, .size = sizeof(type),           \
     .alignment = _Alignof(type), .pointer = (void *)(address)}
#define RESULT(type) POINTER(0, 0, type, result)
#define RESULT_AS(number, type) POINTER(0, number, type, result)
#define RESULT_MAYBE(type) POINTER(1, 0, type, result)
#define RESULT_MAYBE_AS(number, type) POINTER(1, number, type, result)
#define GIVEN(type, address) POINTER(0, 0, type, address)
#define GIVEN_AS(number, type, address) POINTER(0, number, type, address)
#define GIVEN_MAYBE(type, address) POINTER(1, 0, type, address)
#define TABLE(address)                                                                          \
    {.is = IS_POINTER, .is_table = 1, .size = sizeof(DAT_PROVIDER),                            \
     .alignment = _Alignof(DAT_PROVIDER), .pointer = (void *)(address)}
#define VALUE(v) {.is = IS_VALUE, .value = (uintptr_t)(v)}
#define P(i) ((void *)a[i])
#define V(i) (a[i])

#define CALL(name, passed, ...) \
    static DAT_RETURN make_##name(const uintptr_t *a) { return name passed; }
#include "calls.h"
#undef CALL
#define CALL(name, passed, ...) {#name, make_##name, {__VA_ARGS__}},
static const struct call calls[] = {
#include "calls.h"
};
