/*
 * A library to preload: an allocator that refuses the requests that the page says, and counts the allocations that
 * are left.
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
void __libc_free(void *memory);

static struct page *page;
static atomic_int allocations;

static __attribute__((constructor)) void begin(void)
{
    page = find_page();
}

/* Counts, for the page if there is one already. */
static void count(int change)
{
    int now = atomic_fetch_add(&allocations, change) + change;

    if (page != NULL)
        atomic_store(&page->allocations, now);
}

static void *counted(void *memory)
{
    if (memory != NULL)
        count(1);
    return memory;
}

static int refuses(void)
{
    if (page == NULL || page->kind != MEMORY || !is_refused(page))
        return 0;
    errno = ENOMEM;
    return 1;
}

void *malloc(size_t size)
{
    return refuses() ? NULL : counted(__libc_malloc(size));
}

void *calloc(size_t number, size_t size)
{
    return refuses() ? NULL : counted(__libc_calloc(number, size));
}

void *realloc(void *memory, size_t size)
{
    void *moved = refuses() ? NULL : __libc_realloc(memory, size);

    return memory == NULL ? counted(moved) : moved;
}

void free(void *memory)
{
    if (memory != NULL)
        count(-1);
    __libc_free(memory);
}

void *memalign(size_t align, size_t size)
{
    return refuses() ? NULL : counted(__libc_memalign(align, size));
}

void *aligned_alloc(size_t align, size_t size)
{
    return memalign(align, size);
}

int posix_memalign(void **memory, size_t align, size_t size)
{
    *memory = memalign(align, size);
    return *memory == NULL ? ENOMEM : 0;
}
