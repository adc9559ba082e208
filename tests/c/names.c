/*
 * Names of RDMA adapters, as C programs see them: names EXPECTED [NAME]...
 *
 * Opening an adapter loads only what it needs: libibverbs and librdmacm are loaded with the first
 * RDMA adapter and not with "loopback", whatever devices the machine has. EXPECTED, which no file
 * names, is listed; it and each NAME open, by lines of dat.conf as in other DAT libraries, and have
 * an address and a zone. Without arguments there are only loopback and TCP; loopback must not load them.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _POSIX_C_SOURCE 200112L

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
#include <dat2/dat_registry.h>
#include <dat2/udat.h>
#endif

#define MOST 256

static int failures;

static void fail(const char *what, const char *name)
{
    printf("FAILED: %s: %s: %s\n", name, what, dat_error_detail());
    failures++;
}

static int is_loaded(const char *library)
{
    char line[512];
    FILE *maps = fopen("/proc/self/maps", "r");
    int found = 0;

    if (maps == NULL) {
        perror("/proc/self/maps");
        exit(2);
    }
    while (fgets(line, sizeof line, maps) != NULL)
        found |= strstr(line, library) != NULL;
    fclose(maps);
    return found;
}

static void must_load(int wanted, const char *after)
{
    static const char *const libraries[] = {"/libibverbs.so", "/librdmacm.so"};

    for (int i = 0; i < 2; i++)
        if (is_loaded(libraries[i]) != wanted) {
            printf("FAILED: after %s: %s is %sloaded\n", after, libraries[i], wanted ? "not " : "");
            failures++;
        }
}

static void try_open(char *name)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    DAT_IA_ATTR attributes;
    DAT_PZ_HANDLE pz;

    if (dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS) {
        fail("does not open", name);
        return;
    }
    if (dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL) != DAT_SUCCESS)
        fail("is not queried", name);
    else if (((struct sockaddr *)attributes.ia_address_ptr)->sa_family != AF_INET)
        fail("has no address", name);
    if (dat_pz_create(ia, &pz) != DAT_SUCCESS || dat_pz_free(pz) != DAT_SUCCESS)
        fail("makes no zone", name);
    if (dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG) != DAT_SUCCESS)
        fail("does not close", name);
}

static int times_listed(const char *name)
{
    static DAT_PROVIDER_INFO entries[MOST];
    DAT_PROVIDER_INFO *list[MOST];
    DAT_COUNT number = 0;
    int found = 0;

    for (int i = 0; i < MOST; i++)
        list[i] = &entries[i];
    if (dat_registry_list_providers(MOST, &number, list) != DAT_SUCCESS)
        fail("no list", name);
    for (int i = 0; i < number; i++)
        found += strcmp(entries[i].ia_name, name) == 0;
    return found;
}

int main(int argc, char **argv)
{
    char loopback[] = "loopback", tcp[] = "tcp-lo", absent[] = "absent-1";
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;

    if (argc < 2 && setenv("DAT_OVERRIDE", "/dev/null", 1) != 0)
        return 2;
    try_open(loopback);
    must_load(0, "opening loopback");
    if (argc < 2) {
        if (times_listed(tcp) != 1)
            fail("is not listed once", tcp);
        if (times_listed(loopback) != 0)
            fail("is listed next to a TCP adapter, and no line names it", loopback);
        printf("%d failed\n", failures);
        return failures != 0;
    }
    try_open(argv[1]);
    must_load(1, argv[1]);
    for (int i = 2; i < argc; i++)
        try_open(argv[i]);
    if (times_listed(argv[1]) != 1)
        fail("is not listed once", argv[1]);
    if (times_listed(loopback) != 0)
        fail("is listed next to an RDMA adapter, and no line names it", loopback);
    if (dat_ia_open(absent, 8, &async, &ia) == DAT_SUCCESS)
        fail("opens", absent);
    else if (strstr(dat_error_detail(), argv[1]) == NULL)
        fail("the error does not name the adapter that is there", absent);
    printf("%d names, %d failed\n", argc - 1, failures);
    return failures != 0;
}
