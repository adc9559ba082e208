/*
 * Opens the provider in provider.c by name and uses it: `client`, or `client open NAME` to print
 * the result of an open. It is built as a plugin, too.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include "client.h"

int failures;
struct record *record;

int is_loaded(const char *file)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, file) != NULL;
    if (maps != NULL)
        fclose(maps);
    return found;
}

DAT_RETURN open_name(const char *name, DAT_IA_HANDLE *ia)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_RETURN code = dat_ia_open((DAT_NAME_PTR)name, 8, &evd, ia);
    void *library;

    if (code == DAT_SUCCESS) {
        /* The provider was loaded with RTLD_LOCAL, so it is looked up by its file. */
        library = dlopen(getenv("C_PROVIDER"), RTLD_NOW | RTLD_NOLOAD);
        record = library == NULL ? NULL : dlsym(library, "record");
        if (library != NULL)
            dlclose(library);
        if (record == NULL) {
            printf("NOT OK: %s opened, and its library is not %s\n", name, getenv("C_PROVIDER"));
            exit(1);
        }
    }
    return code;
}

static int show_open(const char *name)
{
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    const char *major, *minor;
    DAT_RETURN code = dat_ia_open((DAT_NAME_PTR)name, 8, &evd, &ia);

    if (dat_strerror(code, &major, &minor) == DAT_SUCCESS)
        printf("%s %s\n", major, minor);
    if (code == DAT_SUCCESS)
        return dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS;
    printf("%s\n", dat_error_detail());
    return 1;
}

int client(int argc, char **argv);

int client(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "open") == 0)
        return show_open(argv[2]);
    test_adapter();
    test_arguments();
    test_handles();
    test_failures();
    test_registration();
    test_threads();
    /* Whenever a library was finalized, its provider was no longer in use. */
    CHECK(getenv("C_PROVIDER_STAYS") == NULL);
    if (failures != 0)
        printf("%d checks failed\n", failures);
    return failures != 0;
}

#ifndef PLUGIN
int main(int argc, char **argv) { return client(argc, argv); }
#endif
