/*
 * Every call in a thread with the smallest stack (PTHREAD_STACK_MIN, 16 KiB): whether it succeeds or fails, it leaves a
 * quarter of it unused. The calls that list the interfaces of the machine need more.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#define _GNU_SOURCE

#include "table.h"

#include "../abi/painted_stack.h"

/* The smallest stack of arm64 has 128 KiB. */
#ifdef __aarch64__
#define LIMIT (13 * 1024)
#else
#define LIMIT (12 * 1024)
#endif
#define LIMIT_OF_LISTING (18 * 1024)

static DAT_HANDLE live[KINDS];

struct made {
    const struct call *call;
    uintptr_t arguments[MOST];
    DAT_RETURN code;
};

static void *make_call(void *argument)
{
    struct made *made = argument;

    made->code = made->call->make(made->arguments);
    (void)dat_error_detail();
    return NULL;
}

static size_t limit_of(const struct call *call)
{
    int lists = strcmp(call->name, "dat_ia_openv") == 0 || strcmp(call->name, "dat_registry_list_providers") == 0;

    return lists ? LIMIT_OF_LISTING : LIMIT;
}

/* Makes a call with valid arguments, or with an invalid one; returns whether it uses little of the stack. */
static int uses_little(const struct call *call, int is_valid)
{
    struct made made = {call, {0}, DAT_SUCCESS};
    size_t used;

    for (int i = 0; i < MOST; i++) {
        const struct argument *argument = &call->arguments[i];

        if (argument->is == IS_HANDLE && is_valid)
            made.arguments[i] = (uintptr_t)live[argument->kind == KIND_ANY ? KIND_EP : argument->kind];
        else if (argument->is == IS_POINTER)
            made.arguments[i] = (uintptr_t)argument->pointer;
        else if (argument->is == IS_VALUE)
            made.arguments[i] = argument->value;
    }
    used = stack_used(make_call, &made);
    checks++;
    if (used > limit_of(call))
        printf("NOT OK: %s, result %#x: %zu bytes of the stack\n", call->name, (unsigned)made.code, used);
    return used <= limit_of(call);
}

int main(void)
{
    software_event.event_number = DAT_SOFTWARE_EVENT;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        open_adapter(live);
        make(live);
        ep_param.pz_handle = live[KIND_PZ];
        failures += !uses_little(&calls[i], 0);
        failures += !uses_little(&calls[i], 1);
        (void)dat_ia_close(live[KIND_IA], DAT_CLOSE_ABRUPT_FLAG);
    }
    return verdict();
}
