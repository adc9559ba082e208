/*
 * Two sides of a benchmark, see session.h.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include "session.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAIL 4096

struct session {
    pthread_barrier_t barrier;
    char mail[2][MAIL];
    struct {
        _Alignas(128) _Atomic unsigned long runs; /* that have ended */
    } ended[2];
    _Alignas(4096) char memory[SESSION_MEMORY];
};

static struct session *session;
static int processes;
static cpu_set_t all; /* the processors that the program may use */
static void (*both)(enum side);

void fail(const char *what)
{
    perror(what);
    exit(1);
}

double seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *run_far(void *unused)
{
    both(FAR);
    return unused;
}

static void run_processes(void)
{
    int status;
    pid_t child = fork();

    if (child < 0)
        fail("fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        both(FAR);
        exit(0);
    }
    both(NEAR);
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("the other process failed");
}

static void run_threads(void)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, run_far, NULL) != 0)
        fail("pthread_create");
    both(NEAR);
    pthread_join(thread, NULL);
}

void session_run(int in_processes, void (*run)(enum side))
{
    pthread_barrierattr_t attributes;

    session = mmap(NULL, sizeof *session, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (session == MAP_FAILED)
        fail("mmap");
    pthread_barrierattr_init(&attributes);
    pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&session->barrier, &attributes, 2);
    if (sched_getaffinity(0, sizeof all, &all) != 0)
        fail("sched_getaffinity");
    processes = in_processes;
    both = run;
    fflush(stdout);
    if (processes)
        run_processes();
    else
        run_threads();
    munmap(session, sizeof *session);
}

int session_has_processes(void)
{
    return processes;
}

void session_meet(void)
{
    pthread_barrier_wait(&session->barrier);
}

void session_exchange(enum side me, const void *mine, void *its, size_t length)
{
    if (length > MAIL)
        fail("too much is exchanged");
    memcpy(session->mail[me], mine, length);
    session_meet();
    memcpy(its, session->mail[!me], length);
    session_meet();
}

void session_end_run(enum side me)
{
    atomic_fetch_add(&session->ended[me].runs, 1);
}

int session_peer_ended(enum side me)
{
    unsigned long mine = atomic_load_explicit(&session->ended[me].runs, memory_order_relaxed);

    return atomic_load_explicit(&session->ended[!me].runs, memory_order_acquire) > mine;
}

void session_pin(enum side me, int pinned)
{
    cpu_set_t one;
    int left = me;

    CPU_ZERO(&one);
    for (int at = 0; at < CPU_SETSIZE; at++)
        if (CPU_ISSET(at, &all) && left-- == 0)
            CPU_SET(at, &one);
    if (pinned && CPU_COUNT(&one) == 0) {
        fprintf(stderr, "two processors are needed to pin the sides\n");
        exit(1);
    }
    if (pthread_setaffinity_np(pthread_self(), sizeof one, pinned ? &one : &all) != 0)
        fail("pthread_setaffinity_np");
}

void *session_memory(void)
{
    return session->memory;
}
