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

/* What is refused: allocations, system calls for a lack of something, those of them that send or end a connection, or
 * system calls that a profile forbids. Nothing is refused if the program forks during a system call. */
enum kind { MEMORY, CALLS_LACKING, CALLS_SENDING, CALLS_FORBIDDEN, FORKS };

/* Of a fork that the runner requests. */
enum fork_state { NO_FORK, FORK_REQUESTED, FORK_DONE, FORK_BAD };

/* Of the requests of a loop that repeats one call, one in this many is the first that is refused. */
#define STRIDE 16

/* What a program has. */
struct holdings {
    int descriptors, threads, mappings, allocations;
};

struct page {
    /* Requests are counted only while the program is between its begin and its end. */
    atomic_int active;
    enum kind kind;
    /* The number of the first request that is refused, and how many are refused from there on. */
    atomic_int first, count;
    atomic_int seen, refused;
    /* The requests that the program makes in such a loop: from the first number on, below the second one. */
    atomic_int loop_begin, loop_end;
    /* The error of the last system call that was refused, and its name. */
    atomic_int error;
    char what[32];
    _Atomic enum fork_state fork;
    /* Counted by the allocator. */
    atomic_int allocations;
    /* The number of threads that the program has when its adapter is closed; 0 if it is not known yet. */
    atomic_int threads;
    /* What is left after the last life of the program, and after the one before. */
    struct holdings left, left_before;
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

    if (!atomic_load(&page->active))
        return 0;
    number = atomic_fetch_add(&page->seen, 1);
    if (number < atomic_load(&page->first) ||
        number >= atomic_load(&page->first) + atomic_load(&page->count))
        return 0;
    atomic_fetch_add(&page->refused, 1);
    return 1;
}

#endif
