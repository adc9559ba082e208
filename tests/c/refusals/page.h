/*
 * What the runner, the preloaded allocator and the program share: a page at the inherited descriptor
 * that REFUSALS_FD names.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef PAGE_H
#define PAGE_H

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

struct page {
    /* Requests are counted only while the program is between its begin and its end. */
    atomic_int active;
    /* The number of the first request that is refused, and how many are refused from there on. */
    atomic_int first, count;
    atomic_int seen, refused;
    /* What the program had open at its end: file descriptors and threads. */
    atomic_int descriptors, threads;
};

/* The page; NULL if the program runs on its own. */
static inline struct page *find_page(void)
{
    const char *descriptor = getenv("REFUSALS_FD");
    void *page;

    if (descriptor == NULL)
        return NULL;
    page = mmap(NULL, sizeof(struct page), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(descriptor), 0);
    return page == MAP_FAILED ? NULL : page;
}

/* Counts a request; returns whether to refuse it. */
static inline int is_refused(struct page *page)
{
    int number;

    if (page == NULL || !atomic_load(&page->active))
        return 0;
    number = atomic_fetch_add(&page->seen, 1);
    if (number < atomic_load(&page->first) ||
        number >= atomic_load(&page->first) + atomic_load(&page->count))
        return 0;
    atomic_fetch_add(&page->refused, 1);
    return 1;
}

#endif
