/*
 * Memory that the program unmaps although it is registered: operations fail, and the process lives. Faults of the
 * program go to its own handler. The arguments are adapters; the default is loopback.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../examples/end.h"

#define LONGEST (1 << 20)

static sigjmp_buf before_fault;
static void *volatile fault_address;
static volatile sig_atomic_t is_expected;

static void handler(int signal, siginfo_t *info, void *context)
{
    (void)signal;
    (void)context;
    if (!is_expected)
        _exit(1);
    fault_address = info->si_addr;
    siglongjmp(before_fault, 1);
}

static void require(int is_so, const char *adapter, const char *what, size_t length)
{
    if (!is_so) {
        fprintf(stderr, "%s: %s, %zu bytes\n", adapter, what, length);
        exit(1);
    }
}

static DAT_DTO_COMPLETION_STATUS status(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;

    end_wait(evd, DAT_DTO_COMPLETION_EVENT, &event);
    return event.event_data.dto_completion_event_data.status;
}

static void connect_ends(struct end *from, struct end *to)
{
    DAT_PSP_HANDLE listener;
    DAT_EVENT event;

    CHECK(dat_psp_create(to->ia, QUALIFIER, to->request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    CHECK(dat_ep_connect(from->ep, to->address, QUALIFIER, TEN_SECONDS, 0, NULL, DAT_QOS_BEST_EFFORT,
                         DAT_CONNECT_DEFAULT_FLAG));
    end_accept(to, NULL, 0);
    end_wait(from->connect_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);
    CHECK(dat_psp_free(listener));
}

/* Both ends see the end of the connection. */
static void end_broken(struct end *end)
{
    DAT_EVENT event;
    DAT_COUNT more;

    CHECK(dat_evd_wait(end->connect_evd, TEN_SECONDS, 1, &event, &more));
    CHECK(dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG));
}

static void lose(DAT_NAME_PTR adapter, size_t length)
{
    static char memory[LONGEST];
    int is_send;

    for (is_send = 0; is_send < 2; is_send++) {
        struct end owner, peer;
        DAT_RMR_TRIPLET remote;
        DAT_LMR_TRIPLET local;
        /* Where nothing else is mapped. */
        char *lost = mmap((void *)(uintptr_t)0x060000000000, length, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

        require(lost != MAP_FAILED, adapter, "no mapping", length);
        end_open(&owner, adapter, lost, length);
        end_open(&peer, adapter, memory, length);
        connect_ends(&peer, &owner);
        require(munmap(lost, length) == 0, adapter, "still mapped", length);
        if (is_send) {
            end_post_recv(&peer, 0, length, 1);
            end_post_send(&owner, 0, length, 2);
            require(status(owner.send_evd) == DAT_DTO_ERR_LOCAL_PROTECTION, adapter, "a send", length);
            require(status(peer.recv_evd) == DAT_DTO_ERR_FLUSHED, adapter, "its receive", length);
        } else {
            memset(&remote, 0, sizeof remote);
            remote.rmr_context = owner.rmr_context;
#ifdef DAT_1_2
            remote.target_address = (DAT_VADDR)(uintptr_t)lost;
#else
            remote.virtual_address = (DAT_VADDR)(uintptr_t)lost;
#endif
            remote.segment_length = length;
            local = end_part(&peer, 0, length);
            CHECK(dat_ep_post_rdma_write(peer.ep, 1, &local, cookie_of(3), &remote,
                                         DAT_COMPLETION_DEFAULT_FLAG));
            require(status(peer.send_evd) == DAT_DTO_ERR_REMOTE_ACCESS, adapter, "a write", length);
        }
        end_broken(&owner);
        end_broken(&peer);
    }
}

/* Returns whether the handler of the program gets a fault of the program. */
static int faults(void)
{
    char *volatile nowhere = (char *)(uintptr_t)0x050000000000;

    fault_address = NULL;
    if (sigsetjmp(before_fault, 1) == 0) {
        is_expected = 1;
        *nowhere = 1;
    }
    is_expected = 0;
    return fault_address == nowhere;
}

int main(int argc, char **argv)
{
    static char loopback[] = "loopback";
    static char *adapters[] = {NULL, loopback, NULL};
    static const size_t lengths[] = {8, 64, 4096, LONGEST};
    char **adapter = argc > 1 ? argv : adapters;
    struct sigaction action;
    size_t at;

    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGSEGV, &action, NULL);
    while (*++adapter) {
        for (at = 0; at < sizeof lengths / sizeof *lengths; at++) {
            lose(*adapter, lengths[at]);
            require(faults(), *adapter, "a fault of the program", lengths[at]);
        }
    }
    puts("lost memory is an error");
    return 0;
}
