/*
 * Connects that fail for a cause on this side: the call says so, and does not blame the peer.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef DAT_1_2
#include <dat/dat_detail.h>
#else
#include <dat2/dat_detail.h>
#endif

#include "../examples/end.h"
#include "forbid.h"

#define MOST 1024

static int failures;

static DAT_RETURN connect_end(struct end *end)
{
    return dat_ep_connect(end->ep, end->address, QUALIFIER, DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
                          DAT_CONNECT_DEFAULT_FLAG);
}

/* The endpoint cannot connect, and the text has both parts of the cause. */
static void refused(struct end *end, const char *adapter, const char *what, const char *advice)
{
    DAT_RETURN code = connect_end(end);
    const char *text = dat_error_detail();

    if (DAT_GET_TYPE(code) != DAT_INSUFFICIENT_RESOURCES || !strstr(text, what) || !strstr(text, advice)) {
        printf("%s: %#x: %s\n", adapter, (unsigned)code, text);
        failures++;
    }
}

int main(void)
{
    static char names[][8] = {"shm", "tcp-lo", "auto"};
    static char buffers[3][128];
    static int filled[MOST];
    struct rlimit limit;
    struct end ends[3];
    DAT_PSP_HANDLE psp;
    DAT_EVENT event;
    DAT_COUNT more;
    int i, count = 0;

    for (i = 0; i < 3; i++)
        end_open(&ends[i], names[i], buffers[i], sizeof buffers[i]);
    CHECK(dat_psp_create(ends[0].ia, QUALIFIER, ends[0].request_evd, DAT_PSP_CONSUMER_FLAG, &psp));
    /* A socket is enough for this one. */
    CHECK(dat_psp_create(ends[2].ia, QUALIFIER, ends[2].request_evd, DAT_PSP_CONSUMER_FLAG, &psp));

    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = MOST;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (count < MOST && (filled[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    for (i = 0; i < 3; i++)
        refused(&ends[i], names[i], strerror(EMFILE), "ulimit -n");
    while (count > 0)
        close(filled[--count]);

    forbid(SYS_memfd_create);
    refused(&ends[0], names[0], "memory file", "security profile");
    CHECK(connect_end(&ends[2]));
    CHECK(dat_evd_wait(ends[2].request_evd, TEN_SECONDS, 1, &event, &more));

    for (i = 0; i < 3; i++)
        CHECK(dat_ia_close(ends[i].ia, DAT_CLOSE_ABRUPT_FLAG));
    return failures != 0;
}
