/*
 * A library to preload: an allocator that refuses the requests that the page says.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <errno.h>
#include <stddef.h>

#include "page.h"

/* The names under which the C library has its own functions. */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t align, size_t size);

static struct page *page;

static __attribute__((constructor)) void begin(void)
{
    page = find_page();
}

static int refuses(void)
{
    if (!is_refused(page))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return refuses() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return refuses() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return refuses() ? NULL : __libc_realloc(memory, size);
}

void *memalign(size_t align, size_t size)
{
    return refuses() ? NULL : __libc_memalign(align, size);
}

void *aligned_alloc(size_t align, size_t size)
{
    return refuses() ? NULL : __libc_memalign(align, size);
}

int posix_memalign(void **memory, size_t align, size_t size)
{
    *memory = refuses() ? NULL : __libc_memalign(align, size);
    return *memory == NULL ? ENOMEM : 0;
}
