/*
 * The threads of the library take no signal from the program, and nothing of the scheduling of the thread that
 * calls: after each call they have the same signal mask, policy and processors, whatever those of the caller are.
 * A program that blocks a signal in all of its own threads gets it when it asks for it.
 *
 *     threads [ADAPTER]    over that adapter; loopback without an argument
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../examples/end.h"
#include "second_address.h"

#ifdef DAT_1_2
#define REMOTE_ADDRESS target_address
#else
#define REMOTE_ADDRESS virtual_address
#endif

static char adapter[256] = "loopback";
static char here[64], there[64];
static struct end near_end, far_end;
static DAT_PSP_HANDLE listener;
static atomic_int failures, threads;
static volatile sig_atomic_t struck;
/* The processors of the control group. */
static cpu_set_t all;
/* Valgrind blocks signals in its own way, and runs all threads in turn. */
static int under_valgrind;

#define EXPECT(condition, ...)                     \
    do {                                           \
        if (!(condition)) {                        \
            printf("line %d: ", __LINE__);         \
            printf(__VA_ARGS__);                   \
            putchar('\n');                         \
            failures++;                            \
        }                                          \
    } while (0)

/* The signals that the kernel raises for an instruction or a call of the thread itself. */
static int is_synchronous(int number)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
           number == SIGTRAP || number == SIGSYS;
}

/* Returns whether a program can block a signal. The C library keeps some for itself: two of glibc, three of musl. */
static int can_be_blocked(int number)
{
    sigset_t every;

    sigfillset(&every);
    return number != SIGKILL && number != SIGSTOP && sigismember(&every, number) == 1;
}

/* The mask of a thread that has not made its first step: the C library blocks even its own signals then. */
#define NOT_BEGUN 0xfffffffffffbfeffULL
/* The mask of a thread that the C library ends: it blocks all signals but one of its own. */
#define ENDING 0xfffffffefffbfeffULL
/* The mask of a thread that musl creates or ends: it blocks all signals but its own. */
#define MUSL_BETWEEN 0xfffffffc7ffbfeffULL

/* The mask that threads of the library must have, as /proc shows masks. */
static unsigned long long wanted_mask(void)
{
    unsigned long long mask = 0;

    for (int number = 1; number <= 64; number++)
        if (can_be_blocked(number) && !is_synchronous(number))
            mask |= 1ULL << (number - 1);
    return mask;
}

/* Checks a thread of the library by its number. */
static void inspect(const char *when, pid_t thread)
{
    char path[64], line[256], name[64] = "";
    unsigned long long mask = 0;
    cpu_set_t processors;
    FILE *status;
    int policy;

    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    status = fopen(path, "r");
    if (status == NULL)
        return; /* it has ended */
    while (fgets(line, sizeof line, status) != NULL) {
        sscanf(line, "Name: %63s", name);
        sscanf(line, "SigBlk: %llx", &mask);
    }
    fclose(status);
    /* The functions of musl for policies always fail. */
    policy = syscall(SYS_sched_getscheduler, thread);
    if (policy < 0)
        return; /* it has ended */
    EXPECT(mask == wanted_mask() || mask == NOT_BEGUN ||
               ((mask == ENDING || mask == MUSL_BETWEEN) && thread != gettid()),
           "%s: %s blocks %llx", when, name, mask);
    EXPECT(policy == SCHED_OTHER, "%s: %s has the policy %d", when, name, policy);
    /* While all processors are busy, dat-progress runs on those of the thread that opened the adapter. */
    if (strcmp(name, "dat-progress") != 0 && sched_getaffinity(thread, sizeof processors, &processors) == 0)
        EXPECT(CPU_EQUAL(&processors, &all), "%s: %s may run on %d of %d processors", when, name,
               CPU_COUNT(&processors), CPU_COUNT(&all));
}

static void inspect_all(const char *when)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *task;

    while ((task = readdir(tasks)) != NULL)
        if (task->d_name[0] != '.' && atoi(task->d_name) != getpid() && !under_valgrind)
            inspect(when, atoi(task->d_name));
    closedir(tasks);
}

/* Makes a call, which must succeed, and checks the threads of the library afterwards. */
#define CALL(call)           \
    do {                     \
        CHECK(call);         \
        inspect_all(#call);  \
    } while (0)

struct body {
    void *(*run)(void *);
    void *argument;
};

/* Checks a thread before and after its own work, however short it is. */
static void *run_inspected(void *argument)
{
    struct body body = *(struct body *)argument;
    int open = 0;
    sigset_t mask;
    void *result;

    free(argument);
    threads++;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int number = 1; number <= 64; number++)
        open += can_be_blocked(number) && !is_synchronous(number) && !sigismember(&mask, number);
    EXPECT(open == 0, "a thread starts with %d open signals", open);
    result = body.run(body.argument);
    if (!under_valgrind)
        inspect("at its end", gettid());
    return result;
}

/* All threads of this process are created here, and all are those of the library. */
int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct body *body = malloc(sizeof *body);

    *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    body->run = run;
    body->argument = argument;
    return create(thread, attributes, run_inspected, body);
}

static void next_event(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER expected, DAT_EVENT *event)
{
    end_wait(evd, expected, event);
    inspect_all("dat_evd_wait");
}

/* Requests a connection to the listener at the other end. */
static DAT_CR_HANDLE request(DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qualifier, DAT_TIMEOUT timeout)
{
    DAT_EVENT event;

    CALL(dat_ep_connect(near_end.ep, address, qualifier, timeout, 0, NULL, DAT_QOS_BEST_EFFORT,
                        DAT_CONNECT_DEFAULT_FLAG));
    next_event(far_end.request_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
    return event.event_data.cr_arrival_event_data.cr_handle;
}

static void connect_and_transfer(DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qualifier)
{
    DAT_LMR_TRIPLET part = end_part(&near_end, 0, sizeof here);
    DAT_RMR_TRIPLET target;
    DAT_EVENT event;

    CALL(dat_cr_accept(request(address, qualifier, TEN_SECONDS), far_end.ep, 0, NULL));
    next_event(near_end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    next_event(far_end.connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    end_post_recv(&far_end, 0, sizeof there, 1);
    end_post_send(&near_end, 0, sizeof here, 2);
    end_wait_done(far_end.recv_evd, 1);
    end_wait_done(near_end.send_evd, 2);
    inspect_all("a send");
    memset(&target, 0, sizeof target);
    target.rmr_context = far_end.rmr_context;
    target.REMOTE_ADDRESS = (DAT_VADDR)(uintptr_t)there;
    target.segment_length = sizeof there;
    CALL(dat_ep_post_rdma_write(near_end.ep, 1, &part, cookie_of(3), &target, DAT_COMPLETION_DEFAULT_FLAG));
    end_wait_done(near_end.send_evd, 3);
    inspect_all("an RDMA write");
    CALL(dat_ep_disconnect(near_end.ep, DAT_CLOSE_GRACEFUL_FLAG));
    next_event(near_end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    next_event(far_end.connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    CALL(dat_ep_reset(near_end.ep));
    CALL(dat_ep_reset(far_end.ep));
}

static void time_out(DAT_IA_ADDRESS_PTR address, DAT_CONN_QUAL qualifier)
{
    DAT_CR_HANDLE late = request(address, qualifier, 1000);
    DAT_EVENT event;

    next_event(near_end.connect_evd, DAT_CONNECTION_EVENT_TIMED_OUT, &event);
#ifdef DAT_1_2
    CALL(dat_cr_reject(late));
#else
    CALL(dat_cr_reject(late, 0, NULL));
#endif
    CALL(dat_ep_reset(near_end.ep));
}

/* Uses every call after which a thread may exist. */
static void use(void)
{
    DAT_CONN_QUAL qualifier;
    DAT_EVENT event;
    DAT_COUNT more;

    end_open(&near_end, adapter, here, sizeof here);
    inspect_all("dat_ia_open");
    end_open(&far_end, adapter, there, sizeof there);
    CALL(dat_psp_create_any(far_end.ia, &qualifier, far_end.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    if (DAT_GET_TYPE(dat_evd_wait(near_end.recv_evd, 1000, 1, &event, &more)) != DAT_TIMEOUT_EXPIRED)
        EXPECT(0, "an event from nowhere");
    connect_and_transfer(far_end.address, qualifier);
    time_out(far_end.address, qualifier);
    CALL(dat_psp_free(listener));
    CALL(dat_ia_close(near_end.ia, DAT_CLOSE_ABRUPT_FLAG));
    CALL(dat_ia_close(far_end.ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void strike(int number)
{
    (void)number;
    struck = 1;
}

/* Every signal that can be caught, sent to the process, waits until its only thread asks for it. */
static void send_signals(const sigset_t *blocked)
{
    struct timespec now = {0, 0};
    sigset_t one;

    for (int number = 1; number <= 64; number++) {
        if (!can_be_blocked(number) || is_synchronous(number) || sigismember(blocked, number) != 1)
            continue;
        signal(number, strike);
        kill(getpid(), number);
        sigemptyset(&one);
        sigaddset(&one, number);
        EXPECT(sigtimedwait(&one, NULL, &now) == number && !struck, "signal %d went elsewhere", number);
        signal(number, SIG_DFL);
    }
}

int main(int argc, char **argv)
{
    const char *preloaded = getenv("LD_PRELOAD");
    struct sched_param none = {0};
    sigset_t open, blocked;
    cpu_set_t one;

    under_valgrind = preloaded != NULL && strstr(preloaded, "vgpreload") != NULL;
    if (argc > 1)
        snprintf(adapter, sizeof adapter, "%s", argv[1]);
    if (strstr(adapter, SECOND_ADDRESS) != NULL && !have_second_address()) {
        printf("NOT RUN: a second address needs CAP_NET_ADMIN and CAP_SYS_ADMIN\n");
        return 0;
    }
    sched_getaffinity(0, sizeof all, &all);
    CPU_ZERO(&one);
    for (int processor = 0; CPU_COUNT(&one) == 0; processor++)
        if (CPU_ISSET(processor, &all))
            CPU_SET(processor, &one);
    if (sched_setaffinity(0, sizeof one, &one) != 0 || syscall(SYS_sched_setscheduler, 0, SCHED_BATCH, &none) != 0) {
        printf("can't begin: errno %d\n", errno);
        return 1;
    }

    sigemptyset(&open);
    pthread_sigmask(SIG_SETMASK, &open, NULL);
    use();
    EXPECT(syscall(SYS_sched_getscheduler, 0) == SCHED_BATCH, "the caller has another policy");
    sched_getaffinity(0, sizeof all, &one);
    EXPECT(CPU_COUNT(&one) == 1, "the caller may run on %d processors", CPU_COUNT(&one));
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number <= 64; number++)
        EXPECT(sigismember(&blocked, number) != 1, "the caller blocks %d", number);

    sigfillset(&blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    use();
    end_open(&near_end, adapter, here, sizeof here);
    if (!under_valgrind)
        send_signals(&blocked);
    CALL(dat_ia_close(near_end.ia, DAT_CLOSE_ABRUPT_FLAG));

    EXPECT(threads > 0, "the library has no threads");
    printf("%d threads, %d failures\n", threads, failures);
    return failures != 0;
}
