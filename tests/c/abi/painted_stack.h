/*
 * How much of its stack a thread uses, with the frames and the thread-local storage that the C library places there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* More than any call may use, so that one that uses more is found by its name. */
#define STACK (256 * 1024)
#define PAINT 0xa5

/* Calls a function in a thread with a painted stack; returns how many bytes of the stack were written. */
static size_t stack_used(void *(*function)(void *), void *argument)
{
    unsigned char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    size_t unused = 0;

    if (stack == MAP_FAILED)
        exit(1);
    memset(stack, PAINT, STACK);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, STACK);
    if (pthread_create(&thread, &attributes, function, argument) != 0)
        exit(1);
    pthread_join(thread, NULL);
    while (unused < STACK && stack[unused] == PAINT)
        unused++;
    munmap(stack, STACK);
    return STACK - unused;
}
