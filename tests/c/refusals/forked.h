/*
 * Children that the program forks while another of its threads is in a system call.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../examples/end.h"
#include "page.h"

/* The descriptors with which the program began. */
static char is_own[1024];

static struct page *fork_page;
static char *fork_adapter;

/* Returns whether a descriptor may be there in a child: no file, one that was there before, a copy of /dev/null, or one
 * that is closed at once and has no peer: a file of the system, or the socket with which the C library lists the interfaces. */
static int is_harmless(int fd)
{
    static const char *const folders[] = {"/dev/null", "/proc/", "/sys/", "/etc/"};
    char path[64], file[256];
    socklen_t size = sizeof(int);
    int domain = 0;
    size_t at;
    long length;

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    length = readlink(path, file, sizeof file - 1);
    if (length <= 0 || is_own[fd])
        return 1;
    file[length] = '\0';
    for (at = 0; at < sizeof folders / sizeof *folders; at++)
        if (strncmp(file, folders[at], strlen(folders[at])) == 0)
            return 1;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0 && domain == AF_NETLINK)
        return 1;
    dprintf(2, "a child has %s\n", file);
    return 0;
}

/* In a child: it has no descriptor of the library, and can open the adapter. */
static int is_right_in_child(char *name)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE own;
    int fd, bad = 0;

    alarm(15);
    for (fd = 0; fd < (int)sizeof is_own; fd++)
        bad += !is_harmless(fd);
    if (dat_ia_open(name, 8, &async, &own) != DAT_SUCCESS ||
        dat_ia_close(own, DAT_CLOSE_ABRUPT_FLAG) != DAT_SUCCESS)
        bad += dprintf(2, "a child cannot open the adapter: %s\n", dat_error_detail()) > 0;
    return bad == 0;
}

/* Forks when the runner says so. */
static void *fork_on_request(void *nothing)
{
    struct timespec moment = {0, 200000};
    int status;
    pid_t child;

    for (;;) {
        while (atomic_load(&fork_page->fork) != FORK_REQUESTED)
            nanosleep(&moment, NULL);
        child = fork();
        if (child == 0)
            _exit(!is_right_in_child(fork_adapter));
        if (waitpid(child, &status, 0) != child || status != 0)
            atomic_store(&fork_page->fork, FORK_BAD);
        else
            atomic_store(&fork_page->fork, FORK_DONE);
    }
    return nothing;
}

/* From now on, the program forks when the runner says so. */
static void fork_when_requested(struct page *page, char *adapter)
{
    pthread_t thread;
    int fd;

    fork_page = page;
    fork_adapter = adapter;
    for (fd = 0; fd < (int)sizeof is_own; fd++)
        is_own[fd] = fcntl(fd, F_GETFD) >= 0;
    if (pthread_create(&thread, NULL, fork_on_request, NULL) != 0)
        exit(2);
}

/* Waits until no fork is requested. */
static void end_forks(void)
{
    while (fork_page != NULL && atomic_load(&fork_page->fork) == FORK_REQUESTED)
        usleep(1000);
}
