/*
 * A provider that fails, by IA parameters: each creation in turn fails once, leaves its result and
 * everything that it would have used unchanged, and succeeds when it is tried again.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

static DAT_HANDLE set[KINDS];

static DAT_RETURN create(enum kind kind, DAT_HANDLE *made)
{
    DAT_IA_HANDLE ia = set[KIND_IA];
    DAT_EVD_HANDLE evd = set[KIND_EVD];
    DAT_CONN_QUAL qualifier;

    switch (kind) {
    case KIND_PZ:
        return dat_pz_create(ia, made);
    case KIND_CNO:
        return dat_cno_create(ia, no_agent, made);
    case KIND_EVD:
        return dat_evd_create(ia, 8, set[KIND_CNO],
                              DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, made);
    case KIND_SRQ:
        return dat_srq_create(ia, set[KIND_PZ], &srq_attr, made);
    case KIND_EP:
        return dat_ep_create_with_srq(ia, set[KIND_PZ], evd, evd, evd, set[KIND_SRQ], NULL, made);
    default:
        return dat_psp_create_any(ia, &qualifier, evd, DAT_PSP_CONSUMER_FLAG, made);
    }
}

static const enum kind order[] = {KIND_PZ, KIND_CNO, KIND_EVD, KIND_SRQ, KIND_EP, KIND_PSP};
#define STEPS (sizeof order / sizeof *order)

/* Returns whether the N-th creation, if there is one, failed as it should. */
static int nth_fails(int nth)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    char name[64];
    int failed = 0;
    DAT_RETURN code;

    snprintf(name, sizeof name, "%s?fault.create_nth=%d", adapter, nth);
    set[KIND_IA] = &failed;
    code = dat_ia_open(name, 8, &async, &set[KIND_IA]);
    if (code != DAT_SUCCESS) {
        CHECK(DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES, "open: %#x", (unsigned)code);
        CHECK(set[KIND_IA] == (DAT_IA_HANDLE)&failed, "a failing open has a result");
        return 1;
    }
    for (size_t i = 0; i < STEPS; i++) {
        DAT_HANDLE *made = &set[order[i]];

        *made = &failed;
        code = create(order[i], made);
        if (code == DAT_SUCCESS)
            continue;
        failed++;
        CHECK(DAT_GET_TYPE(code) == DAT_INSUFFICIENT_RESOURCES, "%s: %#x: %s",
              kind_names[order[i]], (unsigned)code, dat_error_detail());
        CHECK(*made == (DAT_HANDLE)&failed, "%s: a result though it failed", kind_names[order[i]]);
        MUST(create(order[i], made));
    }
    CHECK(failed <= 1, "%d creations failed", failed);
    /* A use that a failed call had left behind would prevent one of these frees. */
    MUST(dat_psp_free(set[KIND_PSP]));
    MUST(dat_ep_free(set[KIND_EP]));
    MUST(dat_srq_free(set[KIND_SRQ]));
    MUST(dat_evd_free(set[KIND_EVD]));
    MUST(dat_cno_free(set[KIND_CNO]));
    MUST(dat_pz_free(set[KIND_PZ]));
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    return failed;
}

int main(void)
{
    int nth = 1;

    while (nth_fails(nth))
        nth++;
    CHECK(nth > 4, "only %d creations can fail", nth - 1);
    return verdict();
}
