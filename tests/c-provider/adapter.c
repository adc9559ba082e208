/*
 * An adapter of the provider: how it is loaded, opened, closed and unloaded.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <stdlib.h>

#include "client.h"

/* Exported, and declared by no header: providers declare it themselves. */
extern DAT_RETURN dats_get_ia_handle(DAT_IA_HANDLE handle, DAT_IA_HANDLE *ia_handle);

static int finis(void)
{
    const char *count = getenv("C_PROVIDER_FINIS");
    return count == NULL ? 0 : atoi(count);
}

/* How often the registry lists a name with this thread safety. */
static int listed(const char *name, DAT_BOOLEAN thread_safe)
{
    static DAT_PROVIDER_INFO infos[64];
    DAT_PROVIDER_INFO *list[64];
    DAT_COUNT count = 0;
    int i, found = 0;

    for (i = 0; i < 64; i++)
        list[i] = &infos[i];
    CHECK(dat_registry_list_providers(64, &count, list) == DAT_SUCCESS);
    for (i = 0; i < count; i++)
        found += strcmp(infos[i].ia_name, name) == 0 && infos[i].is_thread_safe == thread_safe &&
                 infos[i].dapl_version_major == DAT_VERSION_MAJOR &&
                 infos[i].dapl_version_minor == DAT_VERSION_MINOR;
    return found;
}

static void lists(void)
{
    DAT_PROVIDER_INFO info;
    DAT_PROVIDER_INFO *list[1];
    DAT_COUNT all = -1, some = -1;

    list[0] = &info;
    /* Each name is listed once, with the thread safety that opens it. A thread-safe provider also
     * serves programs that need no thread safety. */
    CHECK(listed("good", DAT_FALSE) == 1 && listed("good", DAT_TRUE) == 0);
    CHECK(listed("safe", DAT_FALSE) == 0 && listed("safe", DAT_TRUE) == 1);
    CHECK(listed("other-version", DAT_FALSE) == 0);
    /* Only if there is nothing else, since it does not leave the process. */
    CHECK(listed("loopback", DAT_FALSE) == 0 && listed("loopback", DAT_TRUE) == 0);
    /* A list that is too short is refused, and the number of entries is returned. */
    CHECK(TYPE(dat_registry_list_providers(0, &all, NULL)) == DAT_INVALID_PARAMETER && all > 4);
    CHECK(TYPE(dat_registry_list_providers(9, &some, NULL)) == DAT_INVALID_PARAMETER &&
          some == all);
    some = -1;
    CHECK(TYPE(dat_registry_list_providers(1, &some, list)) == DAT_INVALID_PARAMETER &&
          some == all);
    CHECK(TYPE(dat_registry_list_providers(1, NULL, list)) == DAT_INVALID_PARAMETER);
}

static void opens_and_closes(void)
{
    DAT_IA_HANDLE first, second, own, provider_s;
    DAT_EVD_HANDLE evd = (DAT_EVD_HANDLE)(WORD)0x5150;
    int before = finis();

    CHECK(!is_loaded("provider.so"));
    CHECK(open_name("good", &first) == DAT_SUCCESS);
    CHECK((WORD)first >= 1 && (WORD)first < 64);
    CHECK(is_loaded("provider.so"));
    CHECK(record->inits == 1);
    CHECK(strcmp(record->info.ia_name, "good") == 0);
    CHECK(record->info.dapl_version_major == DAT_VERSION_MAJOR);
    CHECK(record->info.dapl_version_minor == DAT_VERSION_MINOR);
    CHECK(record->info.is_thread_safe == DAT_FALSE);
    CHECK(strcmp(record->instance_data, "plain \"quoted\"") == 0);
    CHECK(strcmp(record->name, "good") == 0 && record->qlen == 8 && record->evd == NULL);

    /* A dispatcher that the program passes reaches the provider unchanged. */
    CHECK(dat_ia_open("good", 9, &evd, &second) == DAT_SUCCESS && second != first);
    CHECK(record->evd == (DAT_EVD_HANDLE)(WORD)0x5150 && record->evd == evd);
    CHECK(record->inits == 1 && record->calls[2] == 2);
    evd = DAT_HANDLE_NULL;
    CHECK(dat_ia_open("loopback", 8, &evd, &own) == DAT_SUCCESS && evd != DAT_HANDLE_NULL);

    /* The handle translates to the provider's own address of its adapter, and back. */
    CHECK(dats_get_ia_handle(first, &provider_s) == DAT_SUCCESS);
    CHECK(dat_ia_query(first, NULL, 0, NULL, 0, NULL) == DAT_SUCCESS);
    CHECK(record->words[0] == (WORD)provider_s);
#if API == 2
    CHECK(dats_get_ia_handle(provider_s, &provider_s) == DAT_SUCCESS && provider_s == first);
#endif

    /* The library stays loaded until the second adapter is closed. */
    CHECK(dat_ia_close(first, DAT_CLOSE_GRACEFUL_FLAG) == DAT_SUCCESS);
    CHECK(record->close_flags == DAT_CLOSE_GRACEFUL_FLAG);
    CHECK(TYPE(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG)) == DAT_INVALID_HANDLE);
    CHECK(is_loaded("provider.so") && finis() == before);
    CHECK(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    CHECK(!is_loaded("provider.so") && finis() == before + 1);
    CHECK(dat_ia_close(own, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);

    /* It is loaded again. */
    CHECK(open_name("good", &first) == DAT_SUCCESS && record->inits == 1);
    CHECK(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    CHECK(!is_loaded("provider.so") && finis() == before + 2);

    /* Registrations that a provider forgets to remove disappear with its library. */
    CHECK(open_name("forgetful", &first) == DAT_SUCCESS);
    CHECK(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    CHECK(open_name("forgetful", &first) == DAT_SUCCESS);
    CHECK(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

static void makes_a_dispatcher(void)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;

    CHECK(dat_ia_open("good", 8, &evd, &ia) == DAT_SUCCESS && evd == MADE_EVD);
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

static void refuses_to_close(void)
{
    DAT_IA_HANDLE ia;
    DAT_RETURN busy = DAT_CLASS_ERROR | DAT_INVALID_STATE | DAT_INVALID_STATE_IA_IN_USE;

    CHECK(open_name("busy", &ia) == DAT_SUCCESS);
    CHECK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) == busy);
    CHECK(is_loaded("provider.so"));
    CHECK(dat_ia_query(ia, NULL, 0, NULL, 0, NULL) == DAT_SUCCESS);
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    CHECK(!is_loaded("provider.so"));
}

/* Thread safety is part of the name. A program that requests less is served, too. */
static void matches_thread_safety(void)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    DAT_RETURN code;

    code = dat_ia_openv("good", 8, &evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_TRUE);
    CHECK(TYPE(code) == DAT_PROVIDER_NOT_FOUND && strstr(dat_error_detail(), "nonthreadsafe"));
    CHECK(dat_ia_openv("safe", 8, &evd, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, DAT_TRUE) ==
          DAT_SUCCESS);
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    CHECK(open_name("safe", &ia) == DAT_SUCCESS && record->info.is_thread_safe == DAT_TRUE);
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}

void test_adapter(void)
{
    lists();
    opens_and_closes();
    makes_a_dispatcher();
    refuses_to_close();
    matches_thread_safety();
}
