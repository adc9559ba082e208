/*
 * A proxy agent that does not return: an exception of C++ that leaves it, or the end of its thread,
 * ends the process with words about it (docs/moving.md). One that catches what it throws is fine,
 * and a cancellation of the thread that runs an agent waits until the agent has returned.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef DAT_1_2
#include <dat/udat.h>
#else
#include <dat2/udat.h>
#endif

#define CHECK(call) check((call), #call)

static void check(DAT_RETURN result, const char *call)
{
    if (result == DAT_SUCCESS)
        return;
    std::printf("%s: %#x\n", call, static_cast<unsigned>(result));
    std::exit(1);
}

enum Way { CATCHES, THROWS, EXITS, IS_CANCELLED };

static int runs;

static void agent(DAT_PVOID data, DAT_EVD_HANDLE)
{
    runs++;
    switch (*static_cast<Way *>(data)) {
    case CATCHES:
        try {
            throw 1;
        } catch (int) {
        }
        break;
    case THROWS:
        throw 2;
    case EXITS:
        pthread_exit(nullptr);
    case IS_CANCELLED:
        pthread_testcancel();
        break;
    }
}

static DAT_IA_HANDLE ia;
static DAT_CNO_HANDLE cno;
static DAT_EVD_HANDLE evd;

/* Triggers the notification object, whose agent runs in this thread. */
static void *trigger(void *way)
{
    DAT_EVENT event;

    std::memset(&event, 0, sizeof event);
    event.event_number = DAT_SOFTWARE_EVENT;
    if (*static_cast<Way *>(way) == IS_CANCELLED)
        pthread_cancel(pthread_self());
    CHECK(dat_evd_post_se(evd, &event));
    CHECK(dat_evd_dequeue(evd, &event));
    runs += 10;
    pthread_testcancel();
    return nullptr;
}

static void *run(Way way)
{
    char adapter[] = "loopback";
    DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
    DAT_OS_WAIT_PROXY_AGENT proxy;
    pthread_t thread;
    void *result = nullptr;

    proxy.instance_data = &way;
    proxy.proxy_agent_func = agent;
    CHECK(dat_ia_open(adapter, 8, &async_evd, &ia));
    CHECK(dat_cno_create(ia, proxy, &cno));
    CHECK(dat_evd_create(ia, 8, cno, DAT_EVD_SOFTWARE_FLAG, &evd));
    if (pthread_create(&thread, nullptr, trigger, &way) != 0 ||
        pthread_join(thread, &result) != 0 || runs != 11) {
        std::printf("it came to %d\n", runs);
        std::exit(1);
    }
    CHECK(dat_evd_free(evd));
    proxy.proxy_agent_func = nullptr;
    CHECK(dat_cno_modify_agent(cno, proxy));
    CHECK(dat_cno_free(cno));
    CHECK(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    return result;
}

/* Runs one way in a process of its own: how it ended, and its words. */
static int in_child(Way way, char *words, size_t size)
{
    int status = 0, ends[2];
    size_t got = 0;
    ssize_t more;

    if (pipe(ends) != 0)
        std::exit(2);
    pid_t child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        std::_Exit(run(way) == PTHREAD_CANCELED ? 7 : 0);
    }
    close(ends[1]);
    while (got < size - 1 && (more = read(ends[0], words + got, size - 1 - got)) > 0)
        got += static_cast<size_t>(more);
    words[got] = 0;
    close(ends[0]);
    waitpid(child, &status, 0);
    return status;
}

int main()
{
    static const struct {
        const char *name;
        Way way;
        int aborts, status;
    } ways[] = {
        {"an exception that the agent catches", CATCHES, 0, 0},
        {"an exception that leaves the agent", THROWS, 1, 0},
        {"pthread_exit in the agent", EXITS, 1, 0},
        {"a cancellation while the agent runs", IS_CANCELLED, 0, 7},
    };
    int failures = 0;

    for (const auto &it : ways) {
        char words[1024];
        int status = in_child(it.way, words, sizeof words);
        bool as_told = it.aborts ? WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT &&
                                       std::strstr(words, "a proxy agent was left") != nullptr
                                 : WIFEXITED(status) && WEXITSTATUS(status) == it.status;

        if (!as_told) {
            std::printf("%s: status %#x: %s\n", it.name, static_cast<unsigned>(status), words);
            failures++;
        }
    }
    std::printf("%d failures\n", failures);
    return failures != 0;
}
