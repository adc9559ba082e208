/*
 * Every call with each handle NULL or of another kind, and each pointer NULL: ../c/handles/calls.h
 * has the calls.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

enum kind {
    KIND_IA, KIND_PZ, KIND_LMR, KIND_RMR, KIND_EVD, KIND_CNO, KIND_EP, KIND_PSP, KIND_RSP,
    KIND_CR, KIND_SRQ, KIND_CSP, KINDS, KIND_ANY = KINDS
};

static char byte, given_name[DAT_NAME_MAX_LENGTH];
static DAT_EVD_HANDLE no_evd;
static DAT_CONTEXT context;
static DAT_LMR_TRIPLET given_segment;
static DAT_RMR_TRIPLET given_remote;
static DAT_EVENT software_event;
static DAT_EP_PARAM ep_param;
static DAT_REGION_DESCRIPTION region;
static DAT_PROVIDER provider;
static DAT_COUNT provider_count;
static DAT_PROVIDER_INFO provider_info, provider_place;
static DAT_PROVIDER_INFO *provider_list[] = {&provider_place};
static DAT_SRQ_ATTR srq_attr = {4, 1, 0};
#ifndef DAT_1_2
static DAT_COMM comm;
#endif
/* Not declared in any header: providers declare it themselves. */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);
static uint64_t result[256]; /* more than any struct needs */

struct argument {
    enum { NOTHING, IS_HANDLE, IS_POINTER, IS_VALUE } is;
    enum kind kind;
    void *pointer;
    uintptr_t value;
};

#define MOST_ARGUMENTS 14
struct call {
    const char *name;
    DAT_RETURN (*make)(const uintptr_t *a);
    struct argument arguments[MOST_ARGUMENTS];
};

#define HANDLE(kind_, subtype_) {.is = IS_HANDLE, .kind = kind_}
#define MAYBE(kind_, subtype_) HANDLE(kind_, subtype_)
#define POINTER(address) {.is = IS_POINTER, .pointer = (void *)(address)}
#define RESULT(type) POINTER(result)
#define RESULT_AS(number, type) POINTER(result)
#define RESULT_MAYBE(type) POINTER(result)
#define RESULT_MAYBE_AS(number, type) POINTER(result)
#define GIVEN(type, address) POINTER(address)
#define GIVEN_AS(number, type, address) POINTER(address)
/* The default attributes of both libraries. */
#define GIVEN_MAYBE(type, address) POINTER(NULL)
#define TABLE(address) POINTER(address)
#define VALUE(v) {.is = IS_VALUE, .value = (uintptr_t)(v)}
#define P(i) ((void *)a[i])
#define V(i) (a[i])
/* In this program these are functions, and a pointer whose value is known only at run time. */
#define segment given_segment
#define remote given_remote
#define adapter given_name
#define CALL(name, passed, ...) \
    static DAT_RETURN make_##name(const uintptr_t *a) { return name passed; }
#include "../c/handles/calls.h"
#undef CALL
#define CALL(name, passed, ...) {#name, make_##name, {__VA_ARGS__}},
static const struct call calls[] = {
#include "../c/handles/calls.h"
};
#undef segment
#undef remote
#undef adapter

static DAT_HANDLE live[KINDS];

/* Creates a pending request. */
static void make_request(void)
{
    DAT_EVENT event;
    DAT_COUNT more;

    qualifier++;
    MUST(dat_psp_create(ia, qualifier, listening, DAT_PSP_CONSUMER_FLAG, &live[KIND_PSP]));
    active = endpoint(NULL);
    MUST(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, qualifier, DAT_TIMEOUT_INFINITE, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    MUST(dat_evd_wait(listening, 10000000, 1, &event, &more));
    live[KIND_CR] = event.event_data.cr_arrival_event_data.cr_handle;
}

static void call_with(const struct call *call, int bad, void *value, const char *what)
{
    uintptr_t a[MOST_ARGUMENTS] = {0};

    if (!begins("%s: argument %d %s", call->name, bad + 1, what))
        return;
    for (int i = 0; i < MOST_ARGUMENTS; i++) {
        const struct argument *argument = &call->arguments[i];

        if (argument->is == IS_HANDLE)
            a[i] = (uintptr_t)live[argument->kind == KIND_ANY ? KIND_EP : argument->kind];
        else
            a[i] = argument->is == IS_POINTER ? (uintptr_t)argument->pointer : argument->value;
    }
    a[bad] = (uintptr_t)value;
    memset(result, 0, sizeof result);
    said(call->make(a));
}

static void handles(void)
{
    make_objects();
    memset(&software_event, 0, sizeof software_event);
    software_event.event_number = DAT_SOFTWARE_EVENT;
    given_segment = segment(0, 64);
    given_remote = remote(4096, 64);
    region.for_va = memory;
    snprintf(given_name, sizeof given_name, "%s", adapter);
    live[KIND_IA] = ia;
    live[KIND_PZ] = pz;
    live[KIND_LMR] = lmr;
    live[KIND_EP] = endpoint(NULL);
    MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, DAT_EVD_SOFTWARE_FLAG, &live[KIND_EVD]));
    MUST(dat_cno_create(ia, no_agent, &live[KIND_CNO]));
    ep_param.pz_handle = pz;
    /* Objects that a library does not support stay NULL. */
    dat_rmr_create(pz, &live[KIND_RMR]);
    dat_srq_create(ia, pz, &srq_attr, &live[KIND_SRQ]);
    dat_rsp_create(ia, qualifier + 50, endpoint(NULL), listening, &live[KIND_RSP]);
#ifndef DAT_1_2
    comm.domain = AF_INET;
    comm.type = SOCK_STREAM;
    TRY(dat_csp_create(ia, &comm, (DAT_IA_ADDRESS_PTR)&address, listening, &live[KIND_CSP]), "dat_csp_create");
#endif
    make_request();
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int index = 0; index < MOST_ARGUMENTS; index++) {
            const struct argument *argument = &calls[i].arguments[index];

            if (argument->is == IS_HANDLE) {
                call_with(&calls[i], index, DAT_HANDLE_NULL, "NULL");
                if (argument->kind != KIND_ANY)
                    call_with(&calls[i], index, live[argument->kind == KIND_PZ ? KIND_LMR : KIND_PZ], "of another kind");
            } else if (argument->is == IS_POINTER && argument->pointer != NULL)
                call_with(&calls[i], index, NULL, "NULL");
        }
}
