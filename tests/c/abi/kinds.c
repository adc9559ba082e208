/*
 * What objects of all kinds have: a type, a consumer context, and a first word that is the address
 * of their provider's functions, which act on the same objects.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

static const DAT_HANDLE_TYPE types[KINDS] = {
    [KIND_IA] = DAT_HANDLE_TYPE_IA,   [KIND_PZ] = DAT_HANDLE_TYPE_PZ,
    [KIND_LMR] = DAT_HANDLE_TYPE_LMR, [KIND_RMR] = DAT_HANDLE_TYPE_RMR,
    [KIND_EVD] = DAT_HANDLE_TYPE_EVD, [KIND_CNO] = DAT_HANDLE_TYPE_CNO,
    [KIND_EP] = DAT_HANDLE_TYPE_EP,   [KIND_PSP] = DAT_HANDLE_TYPE_PSP,
    [KIND_RSP] = DAT_HANDLE_TYPE_RSP, [KIND_CR] = DAT_HANDLE_TYPE_CR,
    [KIND_SRQ] = DAT_HANDLE_TYPE_SRQ,
#ifndef DAT_1_2
    [KIND_CSP] = DAT_HANDLE_TYPE_CSP,
#endif
};

static DAT_HANDLE set[KINDS];

/* A word whose bytes all differ, different for each kind. */
static DAT_UINT64 word(int kind)
{
    return UINT64_C(0xf1e2d3c4b5a69708) + (DAT_UINT64)kind;
}

static void try_words(void)
{
    DAT_CONTEXT context;
    DAT_HANDLE_TYPE type;

    for (int kind = 0; kind < KINDS; kind++) {
        if (set[kind] == DAT_HANDLE_NULL)
            continue;
        MUST(dat_get_handle_type(set[kind], &type));
        CHECK(type == types[kind], "%s has type %d", kind_names[kind], (int)type);
        MUST(dat_get_consumer_context(set[kind], &context));
        CHECK(context.as_64 == 0, "%s begins with a word", kind_names[kind]);
        context.as_64 = word(kind);
        MUST(dat_set_consumer_context(set[kind], context));
    }
    for (int kind = 0; kind < KINDS; kind++) {
        if (set[kind] == DAT_HANDLE_NULL)
            continue;
        MUST(dat_get_consumer_context(set[kind], &context));
        CHECK(context.as_64 == word(kind), "%s has the word %#llx", kind_names[kind],
              (unsigned long long)context.as_64);
    }
}

/* The same through the table at the first word: that of an adapter is found through its number. */
static void try_table(void)
{
    DAT_IA_HANDLE ia;
    const struct dat_provider *table;

    MUST(dats_get_ia_handle(set[KIND_IA], &ia));
    table = DAT_HANDLE_TO_PROVIDER(ia);
    CHECK(strcmp(table->device_name, adapter) == 0, "the device is called \"%.99s\"",
          table->device_name);
    for (int kind = 0; kind < KINDS; kind++) {
        DAT_HANDLE handle = kind == KIND_IA ? ia : set[kind];
        DAT_HANDLE_TYPE type;
        DAT_CONTEXT context;

        if (handle == DAT_HANDLE_NULL)
            continue;
        CHECK(DAT_HANDLE_TO_PROVIDER(handle) == table, "%s has another table", kind_names[kind]);
        table = DAT_HANDLE_TO_PROVIDER(handle);
        MUST(table->get_handle_type_func(handle, &type));
        CHECK(type == types[kind], "%s has type %d in the table", kind_names[kind], (int)type);
        MUST(table->get_consumer_context_func(handle, &context));
        CHECK(context.as_64 == word(kind), "%s has another word in the table", kind_names[kind]);
        context.as_64 = ~word(kind);
        MUST(table->set_consumer_context_func(handle, context));
        MUST(dat_get_consumer_context(set[kind], &context));
        CHECK(context.as_64 == ~word(kind), "%s does not have the word of the table",
              kind_names[kind]);
    }
}

/* The macros of dat_redirection.h and the functions see the same events and objects. */
static void try_calls(void)
{
    DAT_EVD_HANDLE evd = set[KIND_EVD];
    DAT_IA_HANDLE ia;
    DAT_PZ_HANDLE pz;
    DAT_PZ_PARAM zone;
    DAT_EVENT event, taken;
    DAT_EVD_PARAM param;
    DAT_IA_ATTR attributes;
    DAT_COUNT more;
    int here;

    MUST(dats_get_ia_handle(set[KIND_IA], &ia));
    memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    event.event_data.software_event_data.pointer = &here;
    MUST(dat_evd_post_se(evd, &event));
    MUST(DAT_EVD_DEQUEUE(evd, &taken));
    CHECK(taken.event_data.software_event_data.pointer == &here, "another event by the table");
    CHECK(taken.evd_handle == evd, "another dispatcher by the table");
    MUST(DAT_EVD_POST_SE(evd, &event));
    MUST(dat_evd_dequeue(evd, &taken));
    CHECK(taken.event_data.software_event_data.pointer == &here, "another event of the table's");
    CHECK(DAT_GET_TYPE(DAT_EVD_WAIT(evd, 0, 1, &taken, &more)) == DAT_TIMEOUT_EXPIRED,
          "an event more by the table");
    MUST(DAT_EVD_QUERY(evd, DAT_EVD_FIELD_ALL, &param));
    CHECK(param.ia_handle == set[KIND_IA] || param.ia_handle == ia, "another adapter: %p",
          param.ia_handle);
    MUST(DAT_IA_QUERY(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    CHECK(strcmp(attributes.adapter_name, adapter) == 0, "the adapter is another by the table");

    MUST(DAT_PZ_CREATE(ia, &pz));
    MUST(dat_pz_query(pz, DAT_PZ_FIELD_ALL, &zone));
    CHECK(zone.ia_handle == set[KIND_IA], "a zone of the table's belongs to %p", zone.ia_handle);
    MUST(DAT_PZ_FREE(pz));
    CHECK(DAT_GET_TYPE(dat_pz_free(pz)) == DAT_INVALID_HANDLE, "a zone freed twice");
}

int main(void)
{
    open_adapter(set);
    make(set);
    try_words();
    try_table();
    try_calls();
    destroy(set);
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    return verdict();
}
