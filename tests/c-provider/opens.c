/*
 * Opens a name whose device is missing: `opens NAME`, where NAME.so.2 is the provider. Prints the
 * reason, and succeeds if the provider was loaded, called and unloaded.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <dlfcn.h>
#include <stdio.h>

#include <dat2/udat.h>
#include <dat2/dat_detail.h>

int main(int argc, char **argv)
{
    char library[300];
    DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;

    if (argc != 2)
        return 2;
    if (dat_ia_open(argv[1], 8, &evd, &ia) == DAT_SUCCESS) {
        printf("%s opened, without a device\n", argv[1]);
        return 1;
    }
    printf("%s\n", dat_error_detail());
    snprintf(library, sizeof library, "%s.so.2", argv[1]);
    if (dlopen(library, RTLD_NOW | RTLD_NOLOAD) != NULL) {
        printf("%s is still loaded\n", library);
        return 1;
    }
    return 0;
}
