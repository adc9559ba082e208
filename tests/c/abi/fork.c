/*
 * A process that used the library and forks: its child can exit, and can use the library again on
 * its own adapter, whatever the parent had open; the parent continues. A call of the child on an
 * object of its parent returns at once and says which process owns the adapter.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _POSIX_C_SOURCE 200809L

#include <sys/wait.h>
#include <unistd.h>

#include "../objects.h"

/* Runs a function in a child, which must exit by itself with success. */
static void in_child(const char *what, void (*run)(void), void (*leave)(int))
{
    int status = -1;
    pid_t child;

    fflush(stdout);
    child = fork();
    if (child == 0) {
        checks = failures = 0;
        run();
        fflush(stdout);
        leave(failures != 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child, "%s: no child", what);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: status %#x", what, (unsigned)status);
}

static void nothing(void)
{
}

/* An adapter with an endpoint that requests a connection; returns the dispatcher for the outcome. */
static DAT_EVD_HANDLE begin(DAT_HANDLE *set, DAT_TIMEOUT timeout)
{
    DAT_IA_ATTR attributes;
    DAT_CONN_QUAL qualifier;
    DAT_EVD_HANDLE answers;

    open_adapter(set);
    MUST(dat_ia_query(set[KIND_IA], NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    MUST(dat_pz_create(set[KIND_IA], &set[KIND_PZ]));
    MUST(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &set[KIND_EVD]));
    MUST(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &answers));
    MUST(dat_psp_create_any(set[KIND_IA], &qualifier, set[KIND_EVD], DAT_PSP_CONSUMER_FLAG,
                            &set[KIND_PSP]));
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], DAT_HANDLE_NULL, DAT_HANDLE_NULL, answers, NULL,
                       &set[KIND_EP]));
    MUST(dat_ep_connect(set[KIND_EP], attributes.ia_address_ptr, qualifier, timeout, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    return answers;
}

/* A request arrives and is rejected. */
static void use(void)
{
    DAT_HANDLE set[KINDS];
    DAT_EVD_HANDLE answers = begin(set, DAT_TIMEOUT_INFINITE);
    DAT_EVENT event;
    DAT_COUNT more;

    MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
    set[KIND_CR] = event.event_data.cr_arrival_event_data.cr_handle;
#ifdef DAT_1_2
    MUST(dat_cr_reject(set[KIND_CR]));
#else
    MUST(dat_cr_reject(set[KIND_CR], 0, NULL));
#endif
    MUST(dat_evd_wait(answers, 10000000, 1, &event, &more));
    CHECK(event.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED, "event %#x",
          (unsigned)event.event_number);
    CHECK(DAT_GET_TYPE(dat_evd_wait(answers, 1000, 1, &event, &more)) == DAT_TIMEOUT_EXPIRED,
          "an event from nowhere");
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
}

/* A request that is not answered in time: it needs the timer thread. */
static void use_clock(void)
{
    DAT_HANDLE set[KINDS];
    DAT_EVD_HANDLE answers = begin(set, 1000);
    DAT_EVENT event;
    DAT_COUNT more;

    MUST(dat_evd_wait(answers, 10000000, 1, &event, &more));
    CHECK(event.event_number == DAT_CONNECTION_EVENT_TIMED_OUT, "event %#x",
          (unsigned)event.event_number);
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
}

/* The objects of the parent, and its process. */
static DAT_HANDLE inherited[KINDS];
static DAT_EVD_HANDLE answers;
static char owner[64];

/* Checks that a call was refused, and that its text names the parent and the cure. */
static void refused(DAT_RETURN code, const char *call)
{
    const char *text = dat_error_detail();

    CHECK(DAT_GET_TYPE(code) == DAT_INVALID_STATE, "%s: %#x", call, (unsigned)code);
    CHECK(strstr(text, owner) && strstr(text, "open the adapter in this process"), "%s: %s", call,
          text);
}
#define REFUSED(call) refused(call, #call)

static void use_inherited(void)
{
    DAT_HANDLE *set = inherited, made;
    DAT_CONN_QUAL qualifier;
    DAT_EP_PARAM param;
    DAT_DTO_COOKIE cookie = {0};
    DAT_HANDLE_TYPE type;
    DAT_CONTEXT context;
    DAT_IA_ATTR attributes;
    DAT_EP_STATE state;
    DAT_EVENT event;
    DAT_COUNT more;

    /* Ends a child that hangs. */
    alarm(30);
    REFUSED(dat_pz_create(set[KIND_IA], &made));
    REFUSED(dat_cno_create(set[KIND_IA], DAT_OS_WAIT_PROXY_AGENT_NULL, &made));
    REFUSED(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &made));
    REFUSED(dat_ep_create(set[KIND_IA], set[KIND_PZ], DAT_HANDLE_NULL, DAT_HANDLE_NULL, answers,
                          NULL, &made));
    REFUSED(dat_psp_create_any(set[KIND_IA], &qualifier, set[KIND_EVD], DAT_PSP_CONSUMER_FLAG,
                               &made));
    REFUSED(dat_evd_wait(answers, DAT_TIMEOUT_INFINITE, 1, &event, &more));
    REFUSED(dat_cno_wait(set[KIND_CNO], DAT_TIMEOUT_INFINITE, &made));
    REFUSED(dat_ep_connect(set[KIND_EP], (DAT_IA_ADDRESS_PTR)&address, 7, DAT_TIMEOUT_INFINITE, 0,
                           NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    REFUSED(dat_ep_post_recv(set[KIND_EP], 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
    REFUSED(dat_ep_post_send(set[KIND_EP], 0, NULL, cookie, DAT_COMPLETION_DEFAULT_FLAG));
    REFUSED(dat_evd_dequeue(answers, &event));
    REFUSED(dat_ep_get_status(set[KIND_EP], &state, NULL, NULL));
    REFUSED(dat_get_handle_type(set[KIND_EP], &type));
    REFUSED(dat_get_consumer_context(set[KIND_EP], &context));
    REFUSED(dat_ia_query(set[KIND_IA], NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    REFUSED(dat_ep_disconnect(set[KIND_EP], DAT_CLOSE_ABRUPT_FLAG));
    REFUSED(dat_ep_query(set[KIND_EP], DAT_EP_FIELD_ALL, &param));
    REFUSED(dat_ep_reset(set[KIND_EP]));
    REFUSED(dat_ep_free(set[KIND_EP]));
    REFUSED(dat_psp_free(set[KIND_PSP]));
    REFUSED(dat_evd_free(answers));
    REFUSED(dat_cno_free(set[KIND_CNO]));
    REFUSED(dat_pz_free(set[KIND_PZ]));
    REFUSED(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    REFUSED(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
}

/* Returns whether the adapter can be opened here. */
static int is_there(char *name)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;

    if (dat_ia_open(name, 8, &async, &ia) != DAT_SUCCESS) {
        printf("without %s: %s\n", name, dat_error_detail());
        return 0;
    }
    MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    return 1;
}

/* A child uses the objects of its parent; then they work in the parent as before. */
static void inherit(char *name)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_HANDLE *set = inherited;
    DAT_IA_ATTR attributes;
    DAT_CONN_QUAL qualifier;
    DAT_EVENT event;
    DAT_COUNT more;

    MUST(dat_ia_open(name, 8, &async, &set[KIND_IA]));
    MUST(dat_ia_query(set[KIND_IA], NULL, DAT_IA_FIELD_ALL, &attributes, 0, NULL));
    memcpy(&address, attributes.ia_address_ptr, sizeof(struct sockaddr));
    MUST(dat_pz_create(set[KIND_IA], &set[KIND_PZ]));
    MUST(dat_cno_create(set[KIND_IA], DAT_OS_WAIT_PROXY_AGENT_NULL, &set[KIND_CNO]));
    MUST(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &set[KIND_EVD]));
    MUST(dat_evd_create(set[KIND_IA], 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &answers));
    MUST(dat_psp_create_any(set[KIND_IA], &qualifier, set[KIND_EVD], DAT_PSP_CONSUMER_FLAG,
                            &set[KIND_PSP]));
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], DAT_HANDLE_NULL, DAT_HANDLE_NULL, answers, NULL,
                       &set[KIND_EP]));
    sprintf(owner, "belongs to process %ld,", (long)getpid());
    in_child(name, use_inherited, exit);
    MUST(dat_ep_connect(set[KIND_EP], (DAT_IA_ADDRESS_PTR)&address, qualifier, 10000000, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
    MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
}

int main(void)
{
    static char names[][16] = {"loopback", "tcp-lo", "shm", "auto"};
    DAT_HANDLE set[KINDS];
    size_t name;

    for (name = 0; name < sizeof names / sizeof *names; name++)
        if (name == 0 || is_there(names[name]))
            inherit(names[name]);
    open_adapter(set);
    make(set);
    in_child("a child that exits", nothing, exit);
    in_child("a child that leaves at once", nothing, _exit);
    in_child("a child with an adapter of its own", use, exit);
    in_child("a child with a clock of its own", use_clock, exit);
    use_clock();
    in_child("a child of a process with a clock", use, exit);
    in_child("a child with a clock of its own, of a process with one", use_clock, exit);
    use();
    destroy(set);
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_GRACEFUL_FLAG));
    return verdict();
}
