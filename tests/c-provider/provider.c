/*
 * A C provider for tests. It opens adapters and creates zones; every other slot of its table
 * records its arguments. The instance data of its dat.conf line selects how it misbehaves.
 *
 * It is not linked with a DAT library; existing providers are not, either.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "api.h"

/* The linker for riscv64 exports the variables of a program, of which one has this name. */
__attribute__((visibility("protected"))) struct record record;

/* What every handle points at. */
struct object {
    const DAT_PROVIDER *provider;
};

static DAT_PROVIDER table;
static char behaviour[256];

static int is(const char *word) { return strcmp(behaviour, word) == 0; }

/* Each object has a page of its own, so that using a freed one crashes. */
static void *make_object(void)
{
    struct object *object = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (object == MAP_FAILED)
        return NULL;
    object->provider = &table;
    return object;
}

static DAT_RETURN ia_open(DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
                          DAT_IA_HANDLE *ia)
{
    static WORD not_a_table[2];

    record.calls[2]++;
    snprintf(record.name, sizeof record.name, "%s", name);
    record.qlen = qlen;
    record.evd = *evd;
    if (is("refuse"))
        return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
    if (is("null")) {
        *ia = NULL;
        return DAT_SUCCESS;
    }
    if (is("garbage")) {
        not_a_table[0] = 0x10;
        *ia = not_a_table;
        return DAT_SUCCESS;
    }
    *ia = make_object();
    if (*ia == NULL)
        return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
    if (*evd == DAT_HANDLE_NULL)
        *evd = MADE_EVD;
    return DAT_SUCCESS;
}

static DAT_RETURN ia_query(DAT_IA_HANDLE ia, DAT_EVD_HANDLE *evd, DAT_IA_ATTR_MASK ia_mask,
                           DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask,
                           DAT_PROVIDER_ATTR *attr)
{
    (void)ia;
    (void)attr;
    record.calls[3]++;
    record.words[0] = (WORD)ia;
    record.words[1] = (WORD)evd;
    record.words[2] = ia_mask;
    record.words[3] = mask;
    if (ia_mask != 0) {
        memset(ia_attr, 0, sizeof *ia_attr);
        snprintf(ia_attr->adapter_name, sizeof ia_attr->adapter_name, "a provider in C");
#if API == 2
        ia_attr->extension_supported = is("extended") ? DAT_EXTENSION_IB : DAT_EXTENSION_NONE;
#endif
    }
    return DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
    record.calls[4]++;
    record.close_flags = flags;
    /* Like an adapter with objects on it. */
    if (is("busy") && flags == DAT_CLOSE_GRACEFUL_FLAG)
        return DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE;
    munmap(ia, 4096);
    return DAT_SUCCESS;
}

static DAT_RETURN pz_create(DAT_IA_HANDLE ia, DAT_PZ_HANDLE *pz)
{
    record.calls[52]++;
    record.words[0] = (WORD)ia;
    record.words[1] = (WORD)pz;
    *pz = make_object();
    return DAT_SUCCESS;
}

static DAT_RETURN pz_free(DAT_PZ_HANDLE pz)
{
    record.calls[54]++;
    munmap(pz, 4096);
    return DAT_SUCCESS;
}

static DAT_RETURN recorded(int slot, const WORD words[WORDS])
{
    record.calls[slot]++;
    memcpy(record.words, words, sizeof record.words);
    return ANSWER(slot);
}

/* One function per slot, which takes as many words as the longest call. Words that a shorter call
 * leaves undefined are recorded, too, but not compared. */
#define RECORDER(slot)                                                                      \
    static DAT_RETURN slot_##slot(WORD a, WORD b, WORD c, WORD d, WORD e, WORD f, WORD g,   \
                                  WORD h, WORD i, WORD j, WORD k, WORD l, WORD m)           \
    {                                                                                       \
        const WORD words[WORDS] = {a, b, c, d, e, f, g, h, i, j, k, l, m};                  \
        return recorded(slot, words);                                                       \
    }
#define TEN(of, n) \
    of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5) of(n##6) of(n##7) of(n##8) of(n##9)
#define ALL(of) \
    of(5) of(6) of(7) of(8) of(9) TEN(of, 1) TEN(of, 2) TEN(of, 3) TEN(of, 4) TEN(of, 5) \
    TEN(of, 6)
#define ALL_2(of) TEN(of, 7) of(80)
ALL(RECORDER)
#if API == 2
ALL_2(RECORDER)
#endif

#if API == 2
/* Queries are opened by name and closed by the provider's address; other operations are
 * recorded. */
static DAT_RETURN extended(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
    if (op == DAT_OPEN_EXTENSION_BASE) {
        DAT_HANDLE *look = va_arg(args, DAT_HANDLE *);

        record.calls[80]++;
        record.words[0] = (WORD)va_arg(args, DAT_IA_ATTR_MASK);
        snprintf(record.name, sizeof record.name, "%s", (const char *)handle);
        *look = make_object();
        return DAT_SUCCESS;
    }
    if (op == DAT_CLOSE_EXTENSION_BASE) {
        record.calls[80]++;
        munmap(handle, 4096);
        return DAT_SUCCESS;
    }
    return slot_80((WORD)handle, (WORD)op, (WORD)va_arg(args, void *), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
}
#endif

static void fill_table(const char *name)
{
    void **slots = (void **)&table;
#define FILL(slot) slots[slot] = (void *)slot_##slot;
    ALL(FILL)
#if API == 2
    ALL_2(FILL)
#endif
    table.device_name = name;
    table.ia_open_func = ia_open;
    table.ia_query_func = ia_query;
    table.ia_close_func = ia_close;
    table.pz_create_func = pz_create;
    table.pz_free_func = pz_free;
#if API == 2
    table.handle_extendedop_func = extended;
#endif
}

static void enter(const char *name)
{
    DAT_PROVIDER_INFO info = record.info;
    snprintf(info.ia_name, sizeof info.ia_name, "%s", name);
    dat_registry_add_provider(&table, &info);
}

void dat_provider_init(const DAT_PROVIDER_INFO *info, const char *instance_data)
{
    record.inits++;
    record.info = *info;
    snprintf(record.instance_data, sizeof record.instance_data, "%s", instance_data);
    snprintf(behaviour, sizeof behaviour, "%s", instance_data);
    fill_table(record.info.ia_name);
    if (is("silent"))
        return;
    if (is("other")) {
        enter("another");
        return;
    }
    enter(info->ia_name);
    if (is("again"))
        enter(info->ia_name);
    if (is("two"))
        enter("the-second");
    if (is("gone"))
        dat_registry_remove_provider(&table, info);
}

void dat_provider_fini(const DAT_PROVIDER_INFO *info)
{
    const char *before = getenv("C_PROVIDER_FINIS");
    char after[16];

    /* The environment outlives the library. */
    snprintf(after, sizeof after, "%d", (before ? atoi(before) : 0) + 1);
    setenv("C_PROVIDER_FINIS", after, 1);
    if (is("forgetful") || is("silent") || is("other") || is("gone"))
        return;
    if (dat_registry_remove_provider(&table, info) != DAT_SUCCESS)
        setenv("C_PROVIDER_STAYS", record.info.ia_name, 1);
}
