/*
 * Hands every call each handle and pointer that it can't use: NULL, made up, misaligned, of
 * another kind, freed, and of an adapter that was closed. Each gives its code, and nothing else
 * happens. calls.h has the calls. For DAT 1.2 when DAT_1_2 is defined.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#ifdef DAT_1_2
#include <dat/dat_detail.h>
#include <dat/dat_registry.h>
#include <dat/udat.h>
#else
#include <dat2/dat_detail.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#include <dat2/udat.h>
#endif

/* No header declares it: providers do. */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);

enum kind {
    KIND_IA, KIND_PZ, KIND_LMR, KIND_RMR, KIND_EVD, KIND_CNO, KIND_EP, KIND_PSP, KIND_RSP,
    KIND_CR, KIND_SRQ, KIND_CSP, KINDS, KIND_ANY = KINDS
};

static const char *const kind_names[KINDS] = {
    "IA", "PZ", "LMR", "RMR", "EVD", "CNO", "EP", "PSP", "RSP", "CR", "SRQ", "CSP"
};

/* What the calls of the table are given. */
static char adapter[] = "loopback";
static char memory[64], byte;
static struct sockaddr_storage address;
static DAT_EVD_HANDLE no_evd;
static DAT_CONTEXT context;
static DAT_OS_WAIT_PROXY_AGENT no_agent;
static DAT_REGION_DESCRIPTION region;
static DAT_LMR_TRIPLET segment;
static DAT_RMR_TRIPLET remote;
static DAT_EVENT software_event;
static DAT_EP_PARAM ep_param;
static DAT_SRQ_ATTR srq_attr = {4, 1, 0};
static DAT_PROVIDER provider;
static DAT_PROVIDER_INFO provider_info, provider_place;
static DAT_PROVIDER_INFO *provider_list[] = {&provider_place};
static uint64_t result[256]; /* more than any struct needs */
#ifndef DAT_1_2
static DAT_COMM comm;
#endif

/* An argument of a call. */
struct argument {
    enum { NOTHING, IS_HANDLE, IS_POINTER, IS_VALUE } is;
    int may_be_null;
    enum kind kind;
    unsigned subtype;
    int number; /* in the prototype, where arguments before it are passed in another way */
    size_t alignment;
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
    {.is = IS_POINTER, .may_be_null = null, .number = number_, .alignment = _Alignof(type),    \
     .pointer = (void *)(address)}
#define RESULT(type) POINTER(0, 0, type, result)
#define RESULT_AS(number, type) POINTER(0, number, type, result)
#define RESULT_MAYBE(type) POINTER(1, 0, type, result)
#define RESULT_MAYBE_AS(number, type) POINTER(1, number, type, result)
#define GIVEN(type, address) POINTER(0, 0, type, address)
#define GIVEN_AS(number, type, address) POINTER(0, number, type, address)
#define GIVEN_MAYBE(type, address) POINTER(1, 0, type, address)
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

/* One object of each kind: live, freed, and of an adapter that is closed. */
static DAT_HANDLE live[KINDS], freed[KINDS], gone[KINDS];
/* Asked for the connection that is the last request made. */
static DAT_EP_HANDLE asking;
static int checks, failures;

static void must(DAT_RETURN code, const char *what)
{
    if (code != DAT_SUCCESS) {
        printf("can't begin: %s: %#x: %s\n", what, (unsigned)code, dat_error_detail());
        exit(1);
    }
}
#define MUST(call) must(call, #call)

/* Makes a request for a connection. */
static DAT_CR_HANDLE ask(const DAT_HANDLE *set, DAT_CONN_QUAL qualifier)
{
    DAT_EVENT event;
    DAT_COUNT more;

    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                       NULL, &asking));
    MUST(dat_ep_connect(asking, (DAT_IA_ADDRESS_PTR)&address, qualifier, DAT_TIMEOUT_INFINITE, 0,
                        NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
    return event.event_data.cr_arrival_event_data.cr_handle;
}

/* Makes one object of each kind but the adapter. */
static void make(DAT_HANDLE *set)
{
    DAT_IA_HANDLE ia = set[KIND_IA];
    DAT_IA_ATTR attributes;
    DAT_CONN_QUAL qualifier;
    DAT_EVD_FLAGS flags =
        DAT_EVD_SOFTWARE_FLAG | DAT_EVD_CR_FLAG | DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG;

    MUST(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    memcpy(&address, attributes.ia_address_ptr, sizeof(struct sockaddr));
    MUST(dat_cno_create(ia, no_agent, &set[KIND_CNO]));
    MUST(dat_evd_create(ia, 16, DAT_HANDLE_NULL, flags, &set[KIND_EVD]));
    MUST(dat_pz_create(ia, &set[KIND_PZ]));
    MUST(dat_ep_create(ia, set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD], NULL,
                       &set[KIND_EP]));
    MUST(dat_srq_create(ia, set[KIND_PZ], &srq_attr, &set[KIND_SRQ]));
    MUST(dat_rmr_create(set[KIND_PZ], &set[KIND_RMR]));
    region.for_va = memory;
#ifdef DAT_1_2
    MUST(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, set[KIND_PZ],
                        DAT_MEM_PRIV_ALL_FLAG, &set[KIND_LMR], &segment.lmr_context, NULL, NULL,
                        NULL));
#else
    MUST(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, set[KIND_PZ],
                        DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &set[KIND_LMR],
                        &segment.lmr_context, NULL, NULL, NULL));
    comm.domain = AF_INET;
    comm.type = SOCK_STREAM;
    MUST(dat_csp_create(ia, &comm, (DAT_IA_ADDRESS_PTR)&address, set[KIND_EVD], &set[KIND_CSP]));
#endif
    segment.virtual_address = (DAT_VADDR)(uintptr_t)memory;
    segment.segment_length = sizeof memory;
    MUST(dat_rsp_create(ia, 4790, set[KIND_EP], set[KIND_EVD], &set[KIND_RSP]));
    MUST(dat_psp_create_any(ia, &qualifier, set[KIND_EVD], DAT_PSP_CONSUMER_FLAG,
                            &set[KIND_PSP]));
    set[KIND_CR] = ask(set, qualifier);
}

/* Frees one object of each kind but the adapter, each after what uses it. */
static void destroy(DAT_HANDLE *set)
{
#ifdef DAT_1_2
    MUST(dat_cr_reject(set[KIND_CR]));
#else
    MUST(dat_cr_reject(set[KIND_CR], 0, NULL));
    MUST(dat_csp_free(set[KIND_CSP]));
#endif
    MUST(dat_psp_free(set[KIND_PSP]));
    MUST(dat_rsp_free(set[KIND_RSP]));
    MUST(dat_lmr_free(set[KIND_LMR]));
    MUST(dat_rmr_free(set[KIND_RMR]));
    MUST(dat_srq_free(set[KIND_SRQ]));
    MUST(dat_ep_free(asking));
    MUST(dat_ep_free(set[KIND_EP]));
    MUST(dat_pz_free(set[KIND_PZ]));
    MUST(dat_evd_free(set[KIND_EVD]));
    MUST(dat_cno_free(set[KIND_CNO]));
}

static void open_adapter(DAT_HANDLE *set)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

    MUST(dat_ia_open(adapter, 8, &async, &set[KIND_IA]));
}

/* Makes a call with one argument that it can't use. */
static void expect(const struct call *call, int bad, void *value, const char *what,
                   DAT_RETURN expected)
{
    uintptr_t a[MOST] = {0};
    DAT_RETURN code;

    for (int i = 0; i < MOST; i++) {
        const struct argument *argument = &call->arguments[i];
        switch (argument->is) {
        case IS_HANDLE:
            a[i] = (uintptr_t)live[argument->kind == KIND_ANY ? KIND_EP : argument->kind];
            break;
        case IS_POINTER:
            a[i] = (uintptr_t)argument->pointer;
            break;
        case IS_VALUE:
            a[i] = argument->value;
            break;
        case NOTHING:
            break;
        }
    }
    a[bad] = (uintptr_t)value;
    code = call->make(a);
    checks++;
    if (code != expected || *dat_error_detail() == '\0') {
        failures++;
        printf("NOT OK: %s: argument %d is %s (%p): %#x instead of %#x: %s\n", call->name, bad + 1,
               what, value, (unsigned)code, (unsigned)expected, dat_error_detail());
    }
}

static void try_handle(const struct call *call, int index)
{
    const struct argument *argument = &call->arguments[index];
    DAT_RETURN expected = DAT_CLASS_ERROR | DAT_INVALID_HANDLE | argument->subtype;
    enum kind kind = argument->kind;
    static uint64_t words[16];
    static const uintptr_t made_up[] = {
        16, 4096, 0xdeadbeef, 0x5a5a5a5a5a5a5a58, 0x7fffffffffffffe0, UINTPTR_MAX, UINTPTR_MAX - 31
    };

    if (!argument->may_be_null)
        expect(call, index, DAT_HANDLE_NULL, "NULL", expected);
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        expect(call, index, (void *)made_up[i], "made up", expected);
    expect(call, index, words, "the address of a variable", expected);
    expect(call, index, (void *)(uintptr_t)dat_ia_close, "the address of a function", expected);
    for (int other = 0; other < KINDS; other++) {
        if (kind != KIND_ANY && other != (int)kind && live[other] != DAT_HANDLE_NULL)
            expect(call, index, live[other], kind_names[other], expected);
        if (kind != KIND_ANY && other != (int)kind)
            continue;
        if (live[other] == DAT_HANDLE_NULL)
            continue;
        expect(call, index, freed[other], "freed", expected);
        expect(call, index, gone[other], "of a closed adapter", expected);
        if (other != KIND_IA) {
            expect(call, index, (char *)live[other] + 1, "misaligned", expected);
            expect(call, index, (char *)live[other] + 8, "inside of one", expected);
        }
    }
}

static void try_pointer(const struct call *call, int index)
{
    const struct argument *argument = &call->arguments[index];
    int number = argument->number ? argument->number : index + 1;
    DAT_RETURN expected = DAT_CLASS_ERROR | DAT_INVALID_PARAMETER |
                          (DAT_RETURN)(DAT_INVALID_ARG1 + number - 1);
    char *somewhere = argument->pointer ? argument->pointer : (void *)result;

    if (!argument->may_be_null)
        expect(call, index, NULL, "NULL", expected);
    expect(call, index, (void *)(uintptr_t)argument->alignment, "in the first page", expected);
    expect(call, index, (void *)(UINTPTR_MAX - 63), "beyond all addresses", expected);
    for (size_t off = 1; off < argument->alignment; off *= 2)
        expect(call, index, somewhere + off, "misaligned", expected);
}

int main(int argc, char **argv)
{
    DAT_HANDLE third[KINDS] = {0};

    if (argc > 1 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            puts(calls[i].name);
        return 0;
    }
    software_event.event_number = DAT_SOFTWARE_EVENT;
    open_adapter(live);
    open_adapter(gone);
    open_adapter(third);
    make(gone);
    MUST(dat_ia_close(gone[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    freed[KIND_IA] = live[KIND_IA];
    make(freed);
    destroy(freed);
    freed[KIND_IA] = third[KIND_IA];
    MUST(dat_ia_close(third[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    make(live);
    ep_param.pz_handle = live[KIND_PZ];

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int index = 0; index < MOST; index++) {
            if (calls[i].arguments[index].is == IS_HANDLE)
                try_handle(&calls[i], index);
            if (calls[i].arguments[index].is == IS_POINTER)
                try_pointer(&calls[i], index);
        }
    }

    MUST(dat_ia_close(live[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    printf("%zu calls, %d bad arguments, %d not answered as they should be\n",
           sizeof calls / sizeof *calls, checks, failures);
    return failures != 0;
}
