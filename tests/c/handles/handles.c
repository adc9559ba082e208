/*
 * Passes every call each handle and pointer that it cannot use: NULL, made up, of another kind,
 * freed, and of an adapter that was closed. Each call returns its code and a text that names it, and
 * does nothing else: the destinations of results are unchanged. calls.h has the calls. For DAT 1.2 if DAT_1_2 is defined.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "table.h"

/* One object of each kind: live, freed, and of a closed adapter. */
static DAT_HANDLE live[KINDS], freed[KINDS], gone[KINDS];

/* The contents of result memory before a call: not a handle that a call could accept. */
static const unsigned char before = 0x5a;

static int result_is_untouched(void)
{
    const unsigned char *bytes = (const unsigned char *)result;

    for (size_t i = 0; i < sizeof result; i++) {
        if (bytes[i] != before)
            return 0;
    }
    return 1;
}

/* Returns whether a text begins with the name of the call, as programs write it. */
static int names(const char *text, const char *call)
{
    if (strcmp(call, "dat_ia_openv") == 0)
        call = "dat_ia_open";
    if (strcmp(call, "dat_extension_op") == 0)
        call = "dat_ib_post_fetch_and_add";
    return strncmp(text, call, strlen(call)) == 0 && strchr(" :", text[strlen(call)]) != NULL;
}

/* Makes a call with one argument that it cannot use. */
static void expect(const struct call *call, int bad, void *value, const char *what,
                   DAT_RETURN expected)
{
    uintptr_t a[MOST] = {0};
    DAT_RETURN code;

    for (int i = 0; i < MOST; i++) {
        const struct argument *argument = &call->arguments[i];
        switch (argument->is) {
        case IS_HANDLE:
            a[i] = (uintptr_t)live[argument->kind == KIND_ANY ? KIND_EP : argument->kind];
            break;
        case IS_POINTER:
            a[i] = (uintptr_t)argument->pointer;
            break;
        case IS_VALUE:
            a[i] = argument->value;
            break;
        case NOTHING:
            break;
        }
    }
    a[bad] = (uintptr_t)value;
    memset(result, before, sizeof result);
    code = call->make(a);
    checks++;
    if (code != expected || !names(dat_error_detail(), call->name)) {
        failures++;
        printf("NOT OK: %s: argument %d is %s (%p): %#x instead of %#x: %s\n", call->name, bad + 1,
               what, value, (unsigned)code, (unsigned)expected, dat_error_detail());
    }
    if (!result_is_untouched()) {
        failures++;
        printf("NOT OK: %s: argument %d is %s (%p): a result was written\n", call->name, bad + 1,
               what, value);
    }
}

static void try_handle(const struct call *call, int index)
{
    const struct argument *argument = &call->arguments[index];
    DAT_RETURN expected = DAT_CLASS_ERROR | DAT_INVALID_HANDLE | argument->subtype;
    enum kind kind = argument->kind;
    static uint64_t words[16];
    static const uintptr_t made_up[] = {
        16, 4096, 0xdeadbeef, 0x5a5a5a5a5a5a5a58, 0x7fffffffffffffe0, UINTPTR_MAX, UINTPTR_MAX - 31
    };

    if (!argument->may_be_null)
        expect(call, index, DAT_HANDLE_NULL, "NULL", expected);
    for (size_t i = 0; i < sizeof made_up / sizeof *made_up; i++)
        expect(call, index, (void *)made_up[i], "made up", expected);
    expect(call, index, words, "the address of a variable", expected);
    expect(call, index, (void *)(uintptr_t)dat_ia_close, "the address of a function", expected);
    for (int other = 0; other < KINDS; other++) {
        if (kind != KIND_ANY && other != (int)kind && live[other] != DAT_HANDLE_NULL)
            expect(call, index, live[other], kind_names[other], expected);
        if (kind != KIND_ANY && other != (int)kind)
            continue;
        if (live[other] == DAT_HANDLE_NULL)
            continue;
        expect(call, index, freed[other], "freed", expected);
        expect(call, index, gone[other], "of a closed adapter", expected);
        if (other != KIND_IA) {
            expect(call, index, (char *)live[other] + 1, "misaligned", expected);
            expect(call, index, (char *)live[other] + 8, "inside of one", expected);
        }
    }
}

static void try_pointer(const struct call *call, int index)
{
    const struct argument *argument = &call->arguments[index];
    int number = argument->number ? argument->number : index + 1;
    DAT_RETURN expected = DAT_CLASS_ERROR | DAT_INVALID_PARAMETER |
                          (DAT_RETURN)(DAT_INVALID_ARG1 + number - 1);

    if (!argument->may_be_null)
        expect(call, index, NULL, "NULL", expected);
    expect(call, index, (void *)(uintptr_t)1, "in the first page", expected);
    expect(call, index, (void *)(UINTPTR_MAX - 63), "beyond all addresses", expected);
    for (size_t off = 1; argument->is_table && off < argument->alignment; off *= 2)
        expect(call, index, (char *)argument->pointer + off, "misaligned", expected);
}

int main(int argc, char **argv)
{
    DAT_HANDLE third[KINDS] = {0};

    if (argc > 1 && strcmp(argv[1], "list") == 0) {
        for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
            puts(calls[i].name);
        return 0;
    }
    software_event.event_number = DAT_SOFTWARE_EVENT;
    open_adapter(live);
    open_adapter(gone);
    open_adapter(third);
    make(gone);
    MUST(dat_ia_close(gone[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    freed[KIND_IA] = live[KIND_IA];
    make(freed);
    destroy(freed);
    freed[KIND_IA] = third[KIND_IA];
    MUST(dat_ia_close(third[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    make(live);
    ep_param.pz_handle = live[KIND_PZ];

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int index = 0; index < MOST; index++) {
            if (calls[i].arguments[index].is == IS_HANDLE)
                try_handle(&calls[i], index);
            if (calls[i].arguments[index].is == IS_POINTER)
                try_pointer(&calls[i], index);
        }
    }

    MUST(dat_ia_close(live[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    printf("%zu calls, %d bad arguments, %d not answered as they should be\n",
           sizeof calls / sizeof *calls, checks, failures);
    return failures != 0;
}
