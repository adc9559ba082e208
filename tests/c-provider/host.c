/*
 * A program without DAT that loads the client as a plugin with RTLD_LOCAL, so that the symbols of
 * the DAT library are not visible to the providers.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *plugin = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*run)(int, char **);

    if (plugin == NULL) {
        fprintf(stderr, "%s\n", argc > 1 ? dlerror() : "a plugin is needed");
        return 2;
    }
    if (dlsym(RTLD_DEFAULT, "dat_registry_add_provider") != NULL) {
        fprintf(stderr, "the DAT library is in sight already: this proves nothing\n");
        return 2;
    }
    *(void **)&run = dlsym(plugin, "client");
    return run == NULL ? 2 : run(argc - 1, argv + 1);
}
