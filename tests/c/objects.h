/*
 * For the programs of these folders: one object of each kind, on the adapter "loopback". For DAT
 * 1.2 if DAT_1_2 is defined. Counts checks and failures.
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

/* Declared by no header: providers declare it themselves. */
DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);

enum kind {
    KIND_IA, KIND_PZ, KIND_LMR, KIND_RMR, KIND_EVD, KIND_CNO, KIND_EP, KIND_PSP, KIND_RSP,
    KIND_CR, KIND_SRQ, KIND_CSP, KINDS, KIND_ANY = KINDS
};

static const char *const kind_names[KINDS] = {
    "IA", "PZ", "LMR", "RMR", "EVD", "CNO", "EP", "PSP", "RSP", "CR", "SRQ", "CSP"
};

/* The parameters of the objects. */
static char adapter[] = "loopback";
static char memory[64];
static struct sockaddr_storage address;
static DAT_OS_WAIT_PROXY_AGENT no_agent;
static DAT_REGION_DESCRIPTION region;
static DAT_LMR_TRIPLET segment;
static DAT_SRQ_ATTR srq_attr = {4, 1, 0};
#ifndef DAT_1_2
static DAT_COMM comm;
#endif

/* The endpoint that sent the most recent request. */
static DAT_EP_HANDLE asking;
static int checks, failures;

static inline void must(DAT_RETURN code, const char *what)
{
    if (code != DAT_SUCCESS) {
        printf("can't begin: %s: %#x: %s\n", what, (unsigned)code, dat_error_detail());
        exit(1);
    }
}
#define MUST(call) must(call, #call)

/* Sends a connection request. */
static inline DAT_CR_HANDLE ask(const DAT_HANDLE *set, DAT_CONN_QUAL qualifier)
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

/* Creates one object of each kind except the adapter. */
static inline void make(DAT_HANDLE *set)
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

/* Frees one object of each kind except the adapter, each after those that use it. */
static inline void destroy(DAT_HANDLE *set)
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

static inline void open_adapter(DAT_HANDLE *set)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;

    MUST(dat_ia_open(adapter, 8, &async, &set[KIND_IA]));
}

/* Checks a condition; if it is false, prints a message with the format of printf. */
#define CHECK(condition, ...)                          \
    do {                                               \
        checks++;                                      \
        if (!(condition)) {                            \
            failures++;                                \
            printf("NOT OK: %s:%d: ", __FILE__, __LINE__); \
            printf(__VA_ARGS__);                       \
            putchar('\n');                             \
        }                                              \
    } while (0)

/* Prints the result and returns the exit status. */
static inline int verdict(void)
{
    printf("%d checks, %d failed\n", checks, failures);
    return failures != 0;
}
