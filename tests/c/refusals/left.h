/*
 * What this process has: descriptors, threads, mappings and allocations. Counting it needs no memory.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "page.h"

/* Number of entries of a folder of this process. */
static int entries(const char *folder)
{
    char bytes[4096];
    int count = 0, fd = open(folder, O_RDONLY | O_DIRECTORY);
    long length, at;

    while ((length = syscall(SYS_getdents64, fd, bytes, sizeof bytes)) > 0)
        for (at = 0; at < length; count++)
            at += *(unsigned short *)(bytes + at + 16);
    close(fd);
    return count;
}

/* Number of mappings of this process. */
static int mappings(void)
{
    char bytes[4096];
    int count = 0, fd = open("/proc/self/maps", O_RDONLY);
    long length, at;

    while ((length = read(fd, bytes, sizeof bytes)) > 0)
        for (at = 0; at < length; at++)
            count += bytes[at] == '\n';
    close(fd);
    return count;
}

static struct holdings holdings(struct page *page)
{
    struct holdings now;

    now.threads = entries("/proc/self/task");
    now.descriptors = entries("/proc/self/fd");
    now.mappings = mappings();
    now.allocations = atomic_load(&page->allocations);
    return now;
}

static int has_more(const struct holdings *now, const struct holdings *before)
{
    return now->threads > before->threads || now->descriptors > before->descriptors ||
           now->mappings > before->mappings || now->allocations > before->allocations;
}

static int has_same(const struct holdings *now, const struct holdings *before)
{
    return !has_more(now, before) && !has_more(before, now);
}
