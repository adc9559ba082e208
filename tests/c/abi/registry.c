/*
 * The list of adapters for programs: each name once, with a thread safety and a version that open
 * it; a list that is too short is refused with the number of entries. The refusal is printed as an error only if
 * the program passed a list: a length of 0 asks for the number.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _POSIX_C_SOURCE 200112L

#include <sys/wait.h>
#include <unistd.h>

#include "../objects.h"

#define MOST 64

static DAT_PROVIDER_INFO entries[MOST];
static DAT_PROVIDER_INFO *list[MOST];
static DAT_COUNT number;

static void try_list(void)
{
    CHECK(dat_registry_list_providers(MOST, &number, list) == DAT_SUCCESS, "no list: %s",
          dat_error_detail());
    CHECK(number > 0, "%d entries", number);
    for (int i = 0; i < number; i++) {
        const DAT_PROVIDER_INFO *entry = &entries[i];

        for (int j = 0; j < i; j++)
            CHECK(strcmp(entry->ia_name, entries[j].ia_name) != 0, "\"%s\" is there twice",
                  entry->ia_name);
        CHECK(entry->dapl_version_major == DAT_VERSION_MAJOR &&
                  entry->dapl_version_minor == DAT_VERSION_MINOR,
              "\"%s\" has version %u.%u", entry->ia_name, entry->dapl_version_major,
              entry->dapl_version_minor);
        CHECK(entry->is_thread_safe == DAT_TRUE, "\"%s\" is marked as not thread safe",
              entry->ia_name);
    }
}

static void try_lengths(void)
{
    static const DAT_PROVIDER_INFO blank;
    DAT_COUNT found = -1;

    for (DAT_COUNT most = 0; most < number; most++) {
        entries[0] = blank;
        found = -1;
        CHECK(DAT_GET_TYPE(dat_registry_list_providers(most, &found, list)) ==
                  DAT_INVALID_PARAMETER,
              "a list of %d entries is long enough for %d", most, number);
        CHECK(found == number, "%d entries, not %d", found, number);
    }
    found = -1;
    CHECK(DAT_GET_TYPE(dat_registry_list_providers(MOST, &found, NULL)) == DAT_INVALID_PARAMETER &&
              found == number,
          "no list: %d entries, not %d", found, number);
    found = -1;
    CHECK(dat_registry_list_providers(number, &found, list) == DAT_SUCCESS && found == number,
          "a list of the very length: %s", dat_error_detail());
}

/* The number of bytes that a child prints for a list of this length, with DAT_DBG_TYPE=1; -1 if anything fails. */
static long printed(DAT_COUNT most, DAT_PROVIDER_INFO **into)
{
    int ends[2], status;
    char text[4096];
    ssize_t length;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0)
        return -1;
    if (child == 0) {
        DAT_COUNT found = 0;

        if (dup2(ends[1], STDOUT_FILENO) < 0 || setenv("DAT_DBG_TYPE", "1", 1) != 0)
            _exit(2);
        _exit(DAT_GET_TYPE(dat_registry_list_providers(most, &found, into)) != DAT_INVALID_PARAMETER ||
              found < 1 || *dat_error_detail() == '\0');
    }
    close(ends[1]);
    length = read(ends[0], text, sizeof text);
    close(ends[0]);
    if (waitpid(child, &status, 0) != child || status != 0)
        return -1;
    return length;
}

/* The variable is read once a process: before any other call. */
static void try_printed(void)
{
    CHECK(printed(0, NULL) == 0, "asking for the number is an error, or is printed as one");
    CHECK(printed(-1, list) > 0, "an error is not printed");
}

static DAT_RETURN open_and_close(DAT_UINT32 major, DAT_UINT32 minor, DAT_BOOLEAN thread_safe)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia;
    DAT_RETURN code = dat_ia_openv(adapter, 8, &async, &ia, major, minor, thread_safe);

    if (code == DAT_SUCCESS)
        MUST(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
    return code;
}

/* Either thread safety opens a name, and so does a smaller minor version. */
static void try_openv(void)
{
    const DAT_RETURN not_found = DAT_CLASS_ERROR | DAT_PROVIDER_NOT_FOUND;
    const DAT_BOOLEAN words[] = {DAT_FALSE, DAT_TRUE};

    for (int i = 0; i < 2; i++) {
        DAT_UINT32 minor = DAT_VERSION_MINOR;

        for (;; minor--) {
            CHECK(open_and_close(DAT_VERSION_MAJOR, minor, words[i]) == DAT_SUCCESS,
                  "DAT %u.%u: %s", DAT_VERSION_MAJOR, minor, dat_error_detail());
            if (minor == 0)
                break;
        }
        CHECK(open_and_close(DAT_VERSION_MAJOR, DAT_VERSION_MINOR + 1, words[i]) ==
                  (not_found | DAT_MINOR_NOT_FOUND),
              "a larger minor version: %s", dat_error_detail());
        CHECK(open_and_close(DAT_VERSION_MAJOR + 1, 0, words[i]) ==
                  (not_found | DAT_MAJOR_NOT_FOUND),
              "a larger major version: %s", dat_error_detail());
    }
}

int main(void)
{
    /* Ignores the machine's file: only adapters that exist without a line. */
    if (setenv("DAT_OVERRIDE", "/dev/null", 1) != 0)
        return 2;
    for (int i = 0; i < MOST; i++)
        list[i] = &entries[i];
    try_printed();
    try_list();
    try_lengths();
    try_openv();
    return verdict();
}
