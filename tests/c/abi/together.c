/*
 * Both libraries in one process, each used by a shared object that was linked with it: neither
 * affects the other, whether the objects are loaded RTLD_LOCAL or RTLD_GLOBAL.
 *
 *     together ONE_WITH_LIBDAT ONE_WITH_LIBDAT2
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*step)(void);

static step find(void *object, const char *name)
{
    void *address = dlsym(object, name);
    step found;

    if (address == NULL) {
        printf("no %s: %s\n", name, dlerror());
        exit(1);
    }
    memcpy(&found, &address, sizeof found); /* C has no other way from an object to a function */
    return found;
}

static int run(char **paths, int flags)
{
    static const char *const order[] = {"begin", "look", "look", "end", "begin", "look", "end"};
    void *objects[2];
    int failures = 0;

    for (int i = 0; i < 2; i++) {
        objects[i] = dlopen(paths[i], RTLD_NOW | flags);
        if (objects[i] == NULL) {
            printf("%s\n", dlerror());
            exit(1);
        }
    }
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        for (int j = 0; j < 2; j++)
            failures += find(objects[j], order[i])();
    }
    /* One of them alone, after the other was unloaded. */
    failures += find(objects[0], "begin")();
    failures += find(objects[1], "begin")();
    failures += find(objects[0], "end")();
    dlclose(objects[0]);
    failures += find(objects[1], "look")();
    failures += find(objects[1], "end")();
    dlclose(objects[1]);
    return failures;
}

int main(int argc, char **argv)
{
    int failures;

    if (argc != 3)
        return 2;
    failures = run(argv + 1, RTLD_LOCAL);
    failures += run(argv + 1, RTLD_GLOBAL);
    printf("%d failed\n", failures);
    return failures != 0;
}
