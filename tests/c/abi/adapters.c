/*
 * Opening: handles are small numbers; names, versions and thread safety are matched; and the
 * dispatcher of asynchronous errors is created, reused or omitted as dat_ia_open(3DAT) says.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

static DAT_IA_HANDLE open_one(void)
{
    DAT_HANDLE set[KINDS];

    open_adapter(set);
    return set[KIND_IA];
}

/* The lowest free number is used first, starting with 1. */
static void try_numbers(void)
{
    DAT_IA_HANDLE ia[5];

    for (uintptr_t i = 0; i < 5; i++) {
        ia[i] = open_one();
        CHECK(ia[i] == (DAT_IA_HANDLE)(i + 1), "adapter %d is %p", (int)i + 1, ia[i]);
    }
    MUST(dat_ia_close(ia[3], DAT_CLOSE_ABRUPT_FLAG));
    MUST(dat_ia_close(ia[1], DAT_CLOSE_ABRUPT_FLAG));
    CHECK(open_one() == ia[1] && open_one() == ia[3], "the lowest free number is not used again");
    for (int i = 0; i < 5; i++)
        MUST(dat_ia_close(ia[i], DAT_CLOSE_ABRUPT_FLAG));
    CHECK(open_one() == ia[0], "the numbers do not begin again");
    MUST(dat_ia_close(ia[0], DAT_CLOSE_GRACEFUL_FLAG));
}

static void refuse_handle(DAT_IA_HANDLE handle)
{
    DAT_RETURN code;
    DAT_IA_HANDLE other = &code;

    code = dats_get_ia_handle(handle, &other);
    CHECK(code == (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA),
          "dats_get_ia_handle(%p): %#x", handle, (unsigned)code);
    CHECK(other == (DAT_IA_HANDLE)&code, "dats_get_ia_handle(%p) writes a result", handle);
}

/* Converts the number of an adapter to its provider's address, whose first word is the function
 * table, and back. */
static void try_both_ways(void)
{
    DAT_IA_HANDLE first = open_one(), second = open_one(), address, other, back;
    DAT_EVD_HANDLE evd;
    DAT_EVD_PARAM param;

    MUST(dats_get_ia_handle(first, &address));
    MUST(dats_get_ia_handle(second, &other));
    CHECK(address != first && address != other, "two adapters are %p", address);
    MUST(dats_get_ia_handle(address, &back));
    CHECK(back == first, "%p instead of %p", back, first);
    MUST(dats_get_ia_handle(other, &back));
    CHECK(back == second, "%p instead of %p", back, second);

    /* An object created through the table refers to the adapter by the number that the program
     * knows. */
    MUST(DAT_HANDLE_TO_PROVIDER(address)->evd_create_func(address, 8, DAT_HANDLE_NULL,
                                                          DAT_EVD_DTO_FLAG, &evd));
    MUST(dat_evd_query(evd, DAT_EVD_FIELD_ALL, &param));
    CHECK(param.ia_handle == first, "the dispatcher's adapter is %p", param.ia_handle);

    refuse_handle(DAT_HANDLE_NULL);
    refuse_handle((DAT_IA_HANDLE)3);
    refuse_handle((DAT_IA_HANDLE)UINTPTR_MAX);
    refuse_handle(evd);
    MUST(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG));
    refuse_handle(first);
    refuse_handle(address);
    MUST(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
}

#define NO_NAME (DAT_PROVIDER_NOT_FOUND | DAT_NAME_NOT_REGISTERED)
#define NO_MAJOR (DAT_PROVIDER_NOT_FOUND | DAT_MAJOR_NOT_FOUND)
#define NO_MINOR (DAT_PROVIDER_NOT_FOUND | DAT_MINOR_NOT_FOUND)
#define BAD_NAME (DAT_INVALID_PARAMETER | DAT_INVALID_ARG1)

/* The result of an open that must fail: a code, and a text that names what was requested. */
static void refuse_open(char *name, DAT_UINT32 major, DAT_UINT32 minor, DAT_RETURN expected,
                        const char *word)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_IA_HANDLE ia = &async;
    DAT_RETURN code = dat_ia_openv(name, 8, &async, &ia, major, minor, DAT_TRUE);

    CHECK(code == (DAT_CLASS_ERROR | expected), "%.99s %u.%u: %#x", name, (unsigned)major,
          (unsigned)minor, (unsigned)code);
    CHECK(ia == (DAT_IA_HANDLE)&async && async == DAT_HANDLE_NULL, "a failing open has results");
    CHECK(strstr(dat_error_detail(), word) != NULL, "no \"%s\" in \"%s\"", word,
          dat_error_detail());
}

static void try_versions(void)
{
    char nobody[] = "no-such-adapter", empty[] = "", odd[] = "\xff\xfe";
    char longest[DAT_NAME_MAX_LENGTH + 2];
    char asked[32];

    snprintf(asked, sizeof asked, "%d.%d", DAT_VERSION_MAJOR + 1, DAT_VERSION_MINOR);
    refuse_open(adapter, DAT_VERSION_MAJOR + 1, DAT_VERSION_MINOR, NO_MAJOR, asked);
    snprintf(asked, sizeof asked, "%d.%d", DAT_VERSION_MAJOR, DAT_VERSION_MINOR + 1);
    refuse_open(adapter, DAT_VERSION_MAJOR, DAT_VERSION_MINOR + 1, NO_MINOR, asked);
    refuse_open(adapter, 0, 0, NO_MAJOR, "0.0");
    refuse_open(adapter, UINT32_MAX, UINT32_MAX, NO_MAJOR, "4294967295");
    refuse_open(nobody, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, NO_NAME, nobody);
    refuse_open(empty, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, BAD_NAME, "");
    refuse_open(odd, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, NO_NAME, "");
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    refuse_open(longest, DAT_VERSION_MAJOR, DAT_VERSION_MINOR, BAD_NAME, "");
}

/* A thread-safe adapter serves programs that require thread safety and those that do not. */
static void try_thread_safety(void)
{
    static const DAT_BOOLEAN flags[] = {DAT_FALSE, DAT_TRUE, DAT_THREADSAFE, (DAT_BOOLEAN)2};

    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;
        DAT_PROVIDER_ATTR provider;

        MUST(dat_ia_openv(adapter, 8, &async, &ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
                          flags[i]));
        MUST(dat_ia_query(ia, NULL, 0, NULL, DAT_PROVIDER_FIELD_ALL, &provider));
        CHECK(provider.is_thread_safe == DAT_TRUE, "not safe for threads");
        MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    }
}

static void try_async(void)
{
    DAT_EVD_HANDLE made = DAT_HANDLE_NULL, exists = DAT_EVD_ASYNC_EXISTS, given, shown;
    DAT_EVD_HANDLE wrong, bad;
    DAT_IA_HANDLE first, second, third, none = &made;
    DAT_EVD_PARAM param;

    /* NULL: one is created, at least as long as requested. */
    MUST(dat_ia_open(adapter, 20, &made, &first));
    CHECK(made != DAT_HANDLE_NULL, "no dispatcher of asynchronous errors was made");
    MUST(dat_evd_query(made, DAT_EVD_FIELD_ALL, &param));
    CHECK(param.evd_qlen >= 20, "it holds %d events", (int)param.evd_qlen);
    CHECK(param.evd_flags & DAT_EVD_ASYNC_FLAG, "its flags are %#x", (unsigned)param.evd_flags);
    CHECK(param.ia_handle == first, "it belongs to %p", param.ia_handle);
    MUST(dat_ia_query(first, &shown, 0, NULL, 0, NULL));
    CHECK(shown == made, "the adapter shows %p instead of %p", shown, made);

    /* An existing one: that of another open of the adapter. */
    given = made;
    MUST(dat_ia_open(adapter, 0, &given, &second));
    CHECK(given == made, "%p instead of the dispatcher that was given", given);
    MUST(dat_ia_query(second, &shown, 0, NULL, 0, NULL));
    CHECK(shown == made, "the adapter shows %p instead of %p", shown, made);

    /* DAT_EVD_ASYNC_EXISTS: there is one that this program does not know. */
    MUST(dat_ia_open(adapter, 0, &exists, &third));
    CHECK(exists == DAT_EVD_OUT_OF_SCOPE, "%p instead of DAT_EVD_OUT_OF_SCOPE", exists);
    MUST(dat_ia_query(third, &shown, 0, NULL, 0, NULL));
    CHECK(shown == DAT_EVD_OUT_OF_SCOPE, "%p instead of DAT_EVD_OUT_OF_SCOPE", shown);

    /* Anything else is not a dispatcher. */
    MUST(dat_pz_create(first, &wrong));
    for (int i = 0; i < 2; i++) {
        DAT_RETURN code;

        bad = i == 0 ? wrong : (DAT_EVD_HANDLE)0xdeadbee8;
        code = dat_ia_open(adapter, 8, &bad, &none);
        CHECK(code == (DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_EVD_ASYNC),
              "%p as dispatcher: %#x", bad, (unsigned)code);
        CHECK(none == (DAT_IA_HANDLE)&made, "a failing open has a result");
    }
    MUST(dat_ia_close(third, DAT_CLOSE_ABRUPT_FLAG));
    MUST(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
    MUST(dat_ia_close(first, DAT_CLOSE_ABRUPT_FLAG));
}

int main(void)
{
    try_numbers();
    try_both_ways();
    try_versions();
    try_thread_safety();
    try_async();
    return verdict();
}
