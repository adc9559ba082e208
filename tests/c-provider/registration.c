/*
 * Providers that a program registers, and additional names that a library registers.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "client.h"

static DAT_PROVIDER table;
static const DAT_PROVIDER *adapter = &table;
static DAT_PROVIDER_INFO info;

static DAT_RETURN ia_open(DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *evd,
                          DAT_IA_HANDLE *ia)
{
    (void)name;
    (void)qlen;
    (void)evd;
    *ia = &adapter;
    return DAT_SUCCESS;
}

static DAT_RETURN ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags)
{
    (void)flags;
    return ia == (DAT_IA_HANDLE)&adapter ? DAT_SUCCESS : DAT_INTERNAL_ERROR;
}

static void of_the_program(void)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    DAT_PZ_HANDLE pz;
    DAT_PROVIDER_INFO endless;
    DAT_RETURN code;

    table.device_name = "of the program";
    table.ia_open_func = ia_open;
    table.ia_close_func = ia_close;
    snprintf(info.ia_name, sizeof info.ia_name, "of-the-program");
    info.dapl_version_major = DAT_VERSION_MAJOR;
    info.dapl_version_minor = DAT_VERSION_MINOR;
    memset(&endless, 'x', sizeof endless);

    CHECK(TYPE(dat_registry_add_provider(NULL, &info)) == DAT_INVALID_PARAMETER);
    CHECK(TYPE(dat_registry_add_provider(&table, NULL)) == DAT_INVALID_PARAMETER);
    CHECK(TYPE(dat_registry_add_provider(&table, &endless)) == DAT_INVALID_PARAMETER);
    CHECK(TYPE(dat_registry_remove_provider(&table, &info)) == DAT_PROVIDER_NOT_FOUND);
    CHECK(dat_registry_add_provider(&table, &info) == DAT_SUCCESS);
    CHECK(TYPE(dat_registry_add_provider(&table, &info)) == DAT_PROVIDER_ALREADY_REGISTERED);

    CHECK(dat_ia_open("of-the-program", 8, &evd, &ia) == DAT_SUCCESS);
    CHECK(TYPE(dat_registry_remove_provider(&table, &info)) == DAT_PROVIDER_IN_USE);
    /* An empty slot yields an error and no crash. */
    code = dat_pz_create(ia, &pz);
    CHECK(TYPE(code) == DAT_MODEL_NOT_SUPPORTED);
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    CHECK(dat_registry_remove_provider(&table, &info) == DAT_SUCCESS);
    CHECK(TYPE(dat_ia_open("of-the-program", 8, &evd, &ia)) == DAT_PROVIDER_NOT_FOUND);
}

/* One library with two names: the second exists while the first is open, and keeps the library
   loaded. */
static void of_a_library(void)
{
    DAT_IA_HANDLE first, second;

    CHECK(open_name("the-second", &second) != DAT_SUCCESS);
    CHECK(open_name("two", &first) == DAT_SUCCESS);
    CHECK(open_name("the-second", &second) == DAT_SUCCESS);
    CHECK(TYPE(dat_registry_remove_provider(&table, &record->info)) == DAT_PROVIDER_IN_USE);
    CHECK(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    CHECK(is_loaded("provider.so"));
    CHECK(dat_ia_query(second, NULL, 0, NULL, 0, NULL) == DAT_SUCCESS);
    CHECK(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
    CHECK(!is_loaded("provider.so"));
    CHECK(open_name("the-second", &second) != DAT_SUCCESS);
}

#if API == 2
static DAT_HA_RELATIONSHIP relation(const char *one, const char *other)
{
    DAT_HA_RELATIONSHIP found = 99;
    CHECK(dat_registry_providers_related((DAT_NAME_PTR)one, (DAT_NAME_PTR)other, &found) ==
          DAT_SUCCESS);
    return found;
}

/* A C provider cannot be queried for this. */
static void related(void)
{
    DAT_HA_RELATIONSHIP found;

    CHECK(relation("good", "good") == DAT_HA_TRUE);
    CHECK(relation("good", "safe") == DAT_HA_UNKNOWN);
    CHECK(relation("good", "loopback") == DAT_HA_UNKNOWN);
    CHECK(TYPE(dat_registry_providers_related("good", "unknown", &found)) ==
          DAT_PROVIDER_NOT_FOUND);
    CHECK(!is_loaded("provider.so"));
}
#endif

void test_registration(void)
{
    of_the_program();
    of_a_library();
#if API == 2
    related();
#endif
}
