/*
 * Opens that fail, each with its own reason.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <stdlib.h>

#include "client.h"

static void fails(const char *name, DAT_RETURN type, const char *reason)
{
    DAT_IA_HANDLE ia;
    DAT_RETURN code = open_name(name, &ia);

    if (TYPE(code) != type || strstr(dat_error_detail(), reason) == NULL) {
        printf("NOT OK: %s: %#x, \"%s\" is not in: %s\n", name, code, reason,
               dat_error_detail());
        failures++;
    }
    if (is_loaded("provider.so")) {
        printf("NOT OK: %s: the library stays\n", name);
        failures++;
    }
}

void test_failures(void)
{
    static const char *const all[] = {"no-such-library.so", "it has no dat_provider_init",
                                      "undefined_symbol", "registered nothing",
                                      "another", "DAT_INSUFFICIENT_RESOURCES",
                                      "dat.conf:"};
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    size_t i;

    fails("missing", DAT_PROVIDER_NOT_FOUND, "no-such-library.so: cannot open shared object file");
    fails("no-entry", DAT_PROVIDER_NOT_FOUND, "it has no dat_provider_init");
    fails("undefined", DAT_PROVIDER_NOT_FOUND, "undefined symbol: undefined_symbol");
    fails("silent", DAT_PROVIDER_NOT_FOUND, "dat_provider_init registered nothing");
    fails("other", DAT_PROVIDER_NOT_FOUND, "registered provider \"another\"");
    fails("gone", DAT_PROVIDER_NOT_FOUND, "gone");
    fails("null", DAT_INTERNAL_ERROR, "returned an invalid adapter handle (0x0)");
    fails("garbage", DAT_INTERNAL_ERROR, "invalid adapter handle");
    fails("refuse", DAT_INSUFFICIENT_RESOURCES, "DAT_INSUFFICIENT_RESOURCES DAT_RESOURCE_MEMORY");
    fails("other-version", DAT_PROVIDER_NOT_FOUND, "requested u");
    fails("unknown", DAT_PROVIDER_NOT_FOUND, "no adapter has that name");
    fails("goood", DAT_PROVIDER_NOT_FOUND, "did you mean \"good\"?");
    fails("good?option=1", DAT_PROVIDER_NOT_FOUND, "does not accept parameters in the name");
    CHECK(TYPE(dat_ia_openv("good", 8, &evd, &ia, 7, 1, DAT_FALSE)) == DAT_PROVIDER_NOT_FOUND);

    /* If a name has several lines, each line is explained. */
    CHECK(open_name("many", &ia) ==
          (DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY));
    for (i = 0; i < sizeof all / sizeof *all; i++) {
        if (strstr(dat_error_detail(), all[i]) == NULL) {
            printf("NOT OK: many: \"%s\" is not in: %s\n", all[i], dat_error_detail());
            failures++;
        }
    }
    /* A library that can't be loaded, or that refuses, does not affect the others. */
    CHECK(open_name("rescued", &ia) == DAT_SUCCESS);
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);

    /* A provider that registers twice gets an error, but works. */
    CHECK(open_name("again", &ia) == DAT_SUCCESS);
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS);
}
