/*
 * One of two libraries in a process, for together.c: compiled as a shared object for each version.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

static DAT_HANDLE set[KINDS];

/* Creates one object of each kind; returns 0, or the number of failed checks. */
int begin(void);
/* Checks that all objects are unchanged and work. */
int look(void);
/* Frees and closes everything. */
int end(void);

static DAT_UINT64 word(int kind)
{
    return (DAT_UINT64)DAT_VERSION_MAJOR << 32 | (DAT_UINT64)kind;
}

int begin(void)
{
    open_adapter(set);
    CHECK(set[KIND_IA] == (DAT_IA_HANDLE)1, "the first adapter is %p", set[KIND_IA]);
    make(set);
    for (int kind = 0; kind < KINDS; kind++) {
        DAT_CONTEXT context = {.as_64 = word(kind)};

        if (set[kind] != DAT_HANDLE_NULL)
            MUST(dat_set_consumer_context(set[kind], context));
    }
    return failures;
}

int look(void)
{
    DAT_EVENT event, taken;
    DAT_PROVIDER_ATTR provider;

    for (int kind = 0; kind < KINDS; kind++) {
        DAT_CONTEXT context;

        if (set[kind] == DAT_HANDLE_NULL)
            continue;
        MUST(dat_get_consumer_context(set[kind], &context));
        CHECK(context.as_64 == word(kind), "%s is another", kind_names[kind]);
    }
    MUST(dat_ia_query(set[KIND_IA], NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider));
    CHECK(provider.dapl_version_major == DAT_VERSION_MAJOR, "DAT %u instead of %d",
          (unsigned)provider.dapl_version_major, DAT_VERSION_MAJOR);
    memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    event.event_data.software_event_data.pointer = set;
    MUST(dat_evd_post_se(set[KIND_EVD], &event));
    MUST(DAT_EVD_DEQUEUE(set[KIND_EVD], &taken));
    CHECK(taken.event_data.software_event_data.pointer == set, "another event");
    CHECK(DAT_GET_TYPE(dat_pz_free(set[KIND_EP])) == DAT_INVALID_HANDLE, "an endpoint is a zone");
    CHECK(*dat_error_detail() != '\0', "no words");
    return failures;
}

int end(void)
{
    destroy(set);
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    return failures;
}
