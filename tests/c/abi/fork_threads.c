/*
 * A process forks while its threads are in calls that create and free objects: a child can use the
 * library on an adapter of its own, whatever the threads were doing.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../objects.h"

/* Number of children for each adapter; the argument overrides it, for valgrind, which is slow. */
#define CHILDREN 60

#ifdef DAT_1_2
#define PRIVILEGES DAT_MEM_PRIV_ALL_FLAG
#else
#define PRIVILEGES DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA
#endif

static char *name;
static volatile sig_atomic_t is_over;

static void *open_and_close(void *nothing)
{
    while (!is_over) {
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;

        MUST(dat_ia_open(name, 8, &async, &ia));
        MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    }
    return nothing;
}

/* Creates an object of most kinds, connects an endpoint to the adapter itself, and frees them. */
static void round_of(DAT_IA_HANDLE ia)
{
    DAT_EVD_FLAGS flags = DAT_EVD_CR_FLAG | DAT_EVD_CONNECTION_FLAG;
    DAT_REGION_DESCRIPTION bytes;
    DAT_CONN_QUAL qualifier;
    DAT_IA_ATTR attributes;
    DAT_LMR_CONTEXT context;
    DAT_EVD_HANDLE evd;
    DAT_LMR_HANDLE lmr;
    DAT_PSP_HANDLE psp;
    DAT_PZ_HANDLE pz;
    DAT_EP_HANDLE ep;
    DAT_EVENT event;
    DAT_COUNT more;

    MUST(dat_ia_query(ia, NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    MUST(dat_evd_create(ia, 8, DAT_HANDLE_NULL, flags, &evd));
    MUST(dat_pz_create(ia, &pz));
    bytes.for_va = memory;
    MUST(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, bytes, sizeof memory, pz, PRIVILEGES, &lmr,
                        &context, NULL, NULL, NULL));
    MUST(dat_psp_create_any(ia, &qualifier, evd, DAT_PSP_CONSUMER_FLAG, &psp));
    MUST(dat_ep_create(ia, pz, DAT_HANDLE_NULL, DAT_HANDLE_NULL, evd, NULL, &ep));
    MUST(dat_ep_connect(ep, attributes.ia_address_ptr, qualifier, 60000000, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    MUST(dat_evd_wait(evd, 60000000, 1, &event, &more));
    CHECK(event.event_number == DAT_CONNECTION_REQUEST_EVENT, "event %#x",
          (unsigned)event.event_number);
#ifdef DAT_1_2
    MUST(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle));
#else
    MUST(dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
#endif
    MUST(dat_evd_wait(evd, 60000000, 1, &event, &more));
    MUST(dat_ep_free(ep));
    MUST(dat_psp_free(psp));
    MUST(dat_lmr_free(lmr));
    MUST(dat_pz_free(pz));
    MUST(dat_evd_free(evd));
}

static void *create_and_free(void *nothing)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;

    MUST(dat_ia_open(name, 8, &async, &ia));
    while (!is_over)
        round_of(ia);
    MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    return nothing;
}

/* In the child. */
static void use(void)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;

    MUST(dat_ia_open(name, 8, &async, &ia));
    round_of(ia);
    MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void fork_with_threads(int children)
{
    pthread_t threads[3];
    int child, thread;

    is_over = 0;
    CHECK(!pthread_create(&threads[0], NULL, open_and_close, NULL), "no thread");
    CHECK(!pthread_create(&threads[1], NULL, create_and_free, NULL), "no thread");
    CHECK(!pthread_create(&threads[2], NULL, create_and_free, NULL), "no thread");
    for (child = 0; child < children; child++) {
        int status = -1;
        pid_t process = fork();

        if (process == 0) {
            /* Ends a child that hangs. */
            alarm(60);
            checks = failures = 0;
            use();
            _exit(failures != 0);
        }
        CHECK(process > 0 && waitpid(process, &status, 0) == process, "%s: no child", name);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: child %d %s: %#x", name, child,
              WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "hung" : "failed",
              (unsigned)status);
        if (status != 0)
            break;
    }
    is_over = 1;
    for (thread = 0; thread < 3; thread++)
        pthread_join(threads[thread], NULL);
}

int main(int argc, char **argv)
{
    static char names[][16] = {"loopback", "tcp-lo", "shm", "auto"};
    int children = argc > 1 ? atoi(argv[1]) : CHILDREN;
    size_t each;

    for (each = 0; each < sizeof names / sizeof *names; each++) {
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;

        name = names[each];
        if (dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS) {
            printf("without %s: %s\n", name, dat_error_detail());
            continue;
        }
        MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
        fork_with_threads(children);
    }
    return verdict();
}
