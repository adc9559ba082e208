/*
 * Cases of the differential test and their output, including that of cases that crash or hang.
 *
 * A group of cases runs in a child process. If a case kills the child, the parent prints that and
 * runs the group again: earlier cases are repeated silently, and the deadly one is left out. Each
 * line is "KEY = VALUE", and no value depends on addresses or times.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* A case that takes longer counts as hanging. */
#define CASE_SECONDS 15
#define MOST_DEADLY 256

/* Shared by parent and child. */
static struct progress {
    unsigned current, said, deadly[MOST_DEADLY], deaths;
    char group[32], name[128];
} *progress;

/* Counted in each child. */
static unsigned case_number;

/* Begins a case. Returns whether to run it; its output has its name. */
__attribute__((format(printf, 1, 2))) static int begins(const char *name, ...)
{
    va_list list;
    unsigned number = ++case_number;

    if (progress->said + 1 < number)
        progress->said = number - 1;
    for (unsigned i = 0; i < progress->deaths; i++)
        if (progress->deadly[i] == number)
            return 0;
    progress->current = number;
    va_start(list, name);
    vsnprintf(progress->name, sizeof progress->name, name, list);
    va_end(list);
    alarm(CASE_SECONDS);
    return 1;
}

/* Prints a line of the current case; PART is the part of the case, or "". */
__attribute__((format(printf, 2, 3))) static void say(const char *part, const char *value, ...)
{
    char line[1024];
    va_list list;
    int length;

    if (progress->current <= progress->said)
        return;
    length = snprintf(line, sizeof line, "%s: %s%s%s = ", progress->group, progress->name,
                      *part ? ", " : "", part);
    va_start(list, value);
    length += vsnprintf(line + length, sizeof line - length - 1, value, list);
    va_end(list);
    if (length > (int)sizeof line - 2)
        length = sizeof line - 2;
    line[length++] = '\n';
    if (write(STDOUT_FILENO, line, length) != length)
        _exit(3);
}

struct word {
    uint32_t value;
    const char *name;
};

static const char *word(const struct word *words, uint32_t value)
{
    static char unknown[4][16];
    static int turn;

    for (; words->name != NULL; words++)
        if (words->value == value)
            return words->name;
    turn = (turn + 1) % 4;
    snprintf(unknown[turn], sizeof unknown[turn], "%#x", (unsigned)value);
    return unknown[turn];
}

static void run_group(const char *name, void (*group)(void))
{
    int status;
    pid_t child;

    memset(progress, 0, sizeof *progress);
    snprintf(progress->group, sizeof progress->group, "%s", name);
    for (;;) {
        fflush(stdout);
        child = fork();
        if (child == 0) {
            group();
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        if (WIFSIGNALED(status))
            say("ends", "%s", WTERMSIG(status) == SIGALRM ? "hangs" : strsignal(WTERMSIG(status)));
        else
            say("ends", "exit status %d", WEXITSTATUS(status));
        if (progress->deaths == MOST_DEADLY || progress->current == 0) {
            printf("%s: can't go on = it ended too often\n", name);
            return;
        }
        progress->deadly[progress->deaths++] = progress->current;
        /* It may be an earlier case than the one that died last. */
        if (progress->said < progress->current)
            progress->said = progress->current;
    }
}

/* A group of cases. */
struct cases {
    const char *name;
    void (*run)(void);
};

/* Runs COUNT groups: those that WANTED, which a NULL ends, names, or all if it names none. NEXT, unless it is NULL, is
 * called after each group, also after those that are not run. Returns the exit status. */
static int run_groups(const struct cases *groups, unsigned count, char **wanted, void (*next)(void))
{
    progress = mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        return 2;
    for (unsigned i = 0; i < count; i++) {
        int is_wanted = *wanted == NULL;

        for (char **name = wanted; *name != NULL; name++)
            is_wanted |= strcmp(*name, groups[i].name) == 0;
        if (is_wanted)
            run_group(groups[i].name, groups[i].run);
        if (next != NULL)
            next();
    }
    return 0;
}
