/*
 * System calls that connections and registrations must not make. Unless a time-out is earlier than
 * all before, connecting makes none and does not wake the timer thread; an earlier one is kept.
 * Freeing a region needs no membarrier if only one thread uses the endpoints.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../objects.h"

#define CYCLES 1000
#define REGIONS 100
#define LONG 600000000
#define SHORT 1000

static DAT_HANDLE set[KINDS];
static DAT_EVD_HANDLE requests, connections;
static DAT_EP_HANDLE active, passive;
static DAT_PSP_HANDLE listener;
static DAT_CONN_QUAL qualifier;
static volatile sig_atomic_t system_calls, fences;

static void open_ends(void)
{
    DAT_IA_ATTR attributes;

    open_adapter(set);
    MUST(dat_ia_query(set[KIND_IA], NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    memcpy(&address, attributes.ia_address_ptr, sizeof(struct sockaddr));
    MUST(dat_pz_create(set[KIND_IA], &set[KIND_PZ]));
    MUST(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &requests));
    MUST(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &connections));
    MUST(dat_psp_create_any(set[KIND_IA], &qualifier, requests, DAT_PSP_CONSUMER_FLAG, &listener));
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], DAT_HANDLE_NULL, DAT_HANDLE_NULL, connections,
                       NULL, &active));
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], DAT_HANDLE_NULL, DAT_HANDLE_NULL, connections,
                       NULL, &passive));
}

static void expect(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
    MUST(dat_evd_dequeue(evd, event));
    CHECK(event->event_number == number, "event %#x, not %#x", (unsigned)event->event_number,
          (unsigned)number);
}

static void begin(DAT_TIMEOUT timeout, DAT_EVENT *event)
{
    MUST(dat_ep_connect(active, (DAT_IA_ADDRESS_PTR)&address, qualifier, timeout, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    expect(requests, DAT_CONNECTION_REQUEST_EVENT, event);
}

static void cycle(DAT_TIMEOUT timeout)
{
    DAT_EVENT event;

    begin(timeout, &event);
    MUST(dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle, passive, 0, NULL));
    expect(connections, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    expect(connections, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    MUST(dat_ep_disconnect(active, DAT_CLOSE_ABRUPT_FLAG));
    expect(connections, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    expect(connections, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    MUST(dat_ep_reset(active));
    MUST(dat_ep_reset(passive));
}

/* Registers memory and frees the region. */
static void cycle_region(void)
{
    DAT_LMR_CONTEXT context;
    DAT_LMR_HANDLE lmr;

    region.for_va = memory;
#ifdef DAT_1_2
    MUST(dat_lmr_create(set[KIND_IA], DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, set[KIND_PZ],
                        DAT_MEM_PRIV_ALL_FLAG, &lmr, &context, NULL, NULL, NULL));
#else
    MUST(dat_lmr_create(set[KIND_IA], DAT_MEM_TYPE_VIRTUAL, region, sizeof memory, set[KIND_PZ],
                        DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &lmr, &context, NULL, NULL, NULL));
#endif
    MUST(dat_lmr_free(lmr));
}

/* Returns whether a file of a thread of this process begins with a text; writes the rest to `rest`. */
static int thread_says(const char *thread, const char *file, const char *text, char *rest, size_t size)
{
    char path[300], line[300];
    int found = 0;
    FILE *stream;

    snprintf(path, sizeof path, "/proc/self/task/%s/%s", thread, file);
    stream = fopen(path, "r");
    while (stream != NULL && !found && fgets(line, sizeof line, stream) != NULL) {
        found = strncmp(line, text, strlen(text)) == 0;
        if (found)
            snprintf(rest, size, "%s", line + strlen(text));
    }
    if (stream != NULL)
        fclose(stream);
    return found;
}

/* Finds the timer thread. */
static int find_clock(char *name, size_t size)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;
    char rest[300];
    int found = 0;

    while (tasks != NULL && !found && (task = readdir(tasks)) != NULL) {
        found = thread_says(task->d_name, "comm", "dat-timer", rest, sizeof rest);
        snprintf(name, size, "%.30s", task->d_name);
    }
    if (tasks != NULL)
        closedir(tasks);
    return found;
}

/* The number of times that the timer thread went to sleep, once it has its name and sleeps. */
static long sleeps(void)
{
    char name[32] = "", rest[300];
    struct timespec moment = {0, 1000000};

    while (!find_clock(name, sizeof name))
        nanosleep(&moment, NULL);
    while (thread_says(name, "status", "State:", rest, sizeof rest) && strchr(rest, 'S') == NULL)
        nanosleep(&moment, NULL);
    if (!thread_says(name, "status", "voluntary_ctxt_switches:", rest, sizeof rest))
        return -1;
    return atol(rest);
}

static void count_system_call(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    if (info->si_syscall == SYS_membarrier)
        fences++;
    else
        system_calls++;
}

/* From now on this thread's calls of getpid, futex and membarrier are counted, and fail. */
static void count_system_calls(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpid, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_futex, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = {sizeof rules / sizeof rules[0], rules};
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = count_system_call;
    action.sa_flags = SA_SIGINFO;
    CHECK(sigaction(SIGSYS, &action, NULL) == 0, "handler: errno %d", errno);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no new privileges: errno %d", errno);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0, "filter: errno %d", errno);
    syscall(SYS_getpid);
    CHECK(system_calls == 1, "system calls are not counted");
    system_calls = 0;
}

int main(void)
{
    const char *preloaded = getenv("LD_PRELOAD");
    DAT_EVENT event;
    DAT_COUNT more;
    long before;
    int number;

    open_ends();
    cycle(LONG);
    before = sleeps();
    for (number = 0; number < CYCLES; number++)
        cycle(LONG);
    CHECK(sleeps() - before < CYCLES / 100, "%d connections woke the clock %ld times", CYCLES,
          sleeps() - before);

    /* While the thread sleeps until a late deadline, an earlier one is added. */
    begin(SHORT, &event);
    MUST(dat_evd_wait(connections, 10000000, 1, &event, &more));
    CHECK(event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT, "event %#x",
          (unsigned)event.event_number);
    MUST(dat_ep_reset(active));

    /* Valgrind itself makes such system calls. */
    if (preloaded == NULL || strstr(preloaded, "vgpreload") == NULL) {
        cycle(LONG);
        sleeps();
        count_system_calls();
        for (number = 0; number < CYCLES; number++)
            cycle(LONG);
        /* A sample of the monitor may hold a lock of an endpoint at that moment: a wait, and a wake-up. */
        CHECK(system_calls <= 2, "%d connections made %d system calls", CYCLES, (int)system_calls);
        /* Handles are reclaimed from time to time, which needs a membarrier. */
        fences = 0;
        for (number = 0; number < REGIONS; number++)
            cycle_region();
        CHECK(fences < REGIONS / 10, "%d regions were freed with %d fences", REGIONS, (int)fences);
    }
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    return verdict();
}
