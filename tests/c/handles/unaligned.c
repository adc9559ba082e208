/*
 * Makes every call with each pointer argument at every offset of a word: a structure of a program
 * may be packed, or lie inside of a message. The code, what is read and what is written are the same
 * as at an aligned address, and no byte next to a result changes. calls.h has the calls. For DAT 1.2
 * if DAT_1_2 is defined.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "table.h"

#define ROOM 2048
#define BEFORE 0x5a

/* Memory for each argument, larger than any structure, and the memory after a call at offset 0. */
static uint64_t places[MOST][ROOM / sizeof(uint64_t)];
static unsigned char aligned[MOST][ROOM];
/* What the pointer under test had before a call, and before the one at offset 0. */
static unsigned char given[ROOM], given_aligned[ROOM];

static DAT_HANDLE live[KINDS];

/* Opens the adapter, with one object of each kind and one event on the dispatcher. */
static void begin(void)
{
    memset(live, 0, sizeof live);
    open_adapter(live);
    make(live);
    MUST(dat_ep_query(live[KIND_EP], DAT_EP_FIELD_ALL, &ep_param));
    MUST(dat_evd_post_se(live[KIND_EVD], &software_event));
}

static void end(void)
{
    dat_registry_remove_provider(&provider, &provider_info);
    MUST(dat_ia_close(live[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
}

/* Makes a call with one of its pointers at an offset. */
static DAT_RETURN call_at(const struct call *call, int moved, size_t offset)
{
    uintptr_t a[MOST] = {0};
    DAT_IA_HANDLE opened;
    DAT_RETURN code;

    for (int i = 0; i < MOST; i++) {
        const struct argument *argument = &call->arguments[i];
        unsigned char *place = (unsigned char *)places[i] + (i == moved ? offset : 0);

        memset(places[i], BEFORE, ROOM);
        if (argument->is == IS_HANDLE)
            a[i] = (uintptr_t)live[argument->kind == KIND_ANY ? KIND_EP : argument->kind];
        if (argument->is == IS_VALUE)
            a[i] = argument->value;
        if (argument->is != IS_POINTER)
            continue;
        a[i] = (uintptr_t)(argument->is_table || argument->alignment == 1 ? argument->pointer : place);
        if (argument->pointer == result && strcmp(call->name, "dat_ia_openv") == 0)
            memset(place, 0, argument->size);
        else if (argument->pointer != result)
            memcpy(place, argument->pointer, argument->size);
        if (i == moved)
            memcpy(given, place, argument->size);
    }
    code = call->make(a);
    if (strcmp(call->name, "dat_ia_openv") == 0 && code == DAT_SUCCESS) {
        memcpy(&opened, (void *)a[3], sizeof opened);
        MUST(dat_ia_close(opened, DAT_CLOSE_ABRUPT_FLAG));
    }
    return code;
}

/* Returns whether two calls wrote the same word. Handles, contexts and addresses differ between objects. */
static int is_same(const unsigned char *one, const unsigned char *other)
{
    static const unsigned char unwritten[4] = {BEFORE, BEFORE, BEFORE, BEFORE};
    static const unsigned char zero[4];

    if (memcmp(one, other, 4) == 0)
        return 1;
    return memcmp(one, unwritten, 4) && memcmp(other, unwritten, 4) && memcmp(one, zero, 4) &&
           memcmp(other, zero, 4);
}

/* Padding of structures, where nothing says what is written. */
#define END(type, member) (offsetof(type, member) + sizeof((type *)0)->member)
#define GAP(call, type, member, next) {#call, END(type, member), offsetof(type, next)}
#define TAIL(call, type, member) {#call, END(type, member), sizeof(type)}
static const struct padding {
    const char *call;
    size_t begin, end;
} paddings[] = {
    GAP(dat_ep_query, DAT_EP_PARAM, ep_attr.service_type, ep_attr.max_message_size),
    GAP(dat_ep_query, DAT_EP_PARAM, ep_attr.ep_provider_specific_count, ep_attr.ep_provider_specific),
    GAP(dat_lmr_query, DAT_LMR_PARAM, mem_type, region_desc),
    GAP(dat_lmr_query, DAT_LMR_PARAM, rmr_context, registered_size),
    GAP(dat_srq_query, DAT_SRQ_PARAM, srq_state, pz_handle),
    TAIL(dat_srq_query, DAT_SRQ_PARAM, outstanding_dto_count),
    TAIL(dat_evd_query, DAT_EVD_PARAM, evd_flags),
    TAIL(dat_psp_query, DAT_PSP_PARAM, psp_flags),
};

/* Returns whether a word of the result of a call is padding. */
static int is_padding(const char *call, size_t at)
{
    for (size_t i = 0; i < sizeof paddings / sizeof *paddings; i++)
        if (strcmp(call, paddings[i].call) == 0 && at >= paddings[i].begin && at < paddings[i].end)
            return 1;
    return 0;
}

static void try_pointer(const struct call *call, int index)
{
    const struct argument *argument = &call->arguments[index];
    DAT_RETURN expected, code;

    begin();
    expected = call_at(call, index, 0);
    memcpy(aligned[index], places[index], ROOM);
    memcpy(given_aligned, given, ROOM);
    end();
    for (size_t offset = 1; offset < sizeof(uint64_t); offset++) {
        unsigned char *bytes = (unsigned char *)places[index];
        size_t outside = 0, wrong = 0, last = 0;

        begin();
        code = call_at(call, index, offset);
        CHECK(code == expected, "%s: argument %d at %zu: %#x instead of %#x: %s", call->name,
              index + 1, offset, (unsigned)code, (unsigned)expected, dat_error_detail());
        for (size_t at = 0; at < offset; at++)
            outside += bytes[at] != BEFORE;
        for (size_t at = argument->size + offset; at < ROOM; at++)
            outside += bytes[at] != BEFORE;
        for (size_t at = 0; at + 4 <= argument->size; at += 4) {
            /* What came from an earlier query has padding, in which each query may leave something else. */
            int is_unchanged = memcmp(bytes + offset + at, given + at, 4) == 0 &&
                               memcmp(aligned[index] + at, given_aligned + at, 4) == 0;
            if (is_unchanged || is_same(bytes + offset + at, aligned[index] + at) || is_padding(call->name, at))
                continue;
            wrong++;
            last = at;
        }
        CHECK(outside == 0, "%s: argument %d at %zu: %zu bytes next to it changed", call->name,
              index + 1, offset, outside);
        CHECK(wrong == 0, "%s: argument %d at %zu: %zu words differ, the last one at %zu", call->name,
              index + 1, offset, wrong, last);
        end();
    }
}

/* A list of providers at an odd address, whose entries are at odd addresses. */
static void list_providers(void)
{
    enum { LENGTH = 256 }; /* more than any dat.conf of the tests lists */
    static unsigned char list[1 + LENGTH * sizeof(DAT_PROVIDER_INFO *)];
    static unsigned char entries[1 + LENGTH * sizeof(DAT_PROVIDER_INFO)];
    DAT_PROVIDER_INFO info;
    DAT_COUNT number;

    for (int i = 0; i < LENGTH; i++) {
        DAT_PROVIDER_INFO *entry = (void *)(entries + 1 + i * sizeof info);
        memcpy(list + 1 + i * sizeof entry, &entry, sizeof entry);
    }
    MUST(dat_registry_list_providers(LENGTH, &number, (DAT_PROVIDER_INFO **)(void *)(list + 1)));
    CHECK(number > 0, "%d providers", number);
    memcpy(&info, entries + 1, sizeof info);
    CHECK(info.dapl_version_major == DAT_VERSION_MAJOR, "version %u", info.dapl_version_major);
    CHECK(info.ia_name[0] != '\0', "no name");
}

/* Takes the next event at an odd address, by a dequeue or by a wait. */
static DAT_EVENT next(int waits)
{
    static unsigned char raw[1 + sizeof(DAT_EVENT)], more[1 + sizeof(DAT_COUNT)];
    DAT_EVENT event, *place = (void *)(raw + 1);
    DAT_RETURN code = DAT_QUEUE_EMPTY;

    if (waits)
        MUST(dat_evd_wait(live[KIND_EVD], 10000000, 1, place, (void *)(more + 1)));
    else
        while (DAT_GET_TYPE(code) == DAT_QUEUE_EMPTY)
            code = dat_evd_dequeue(live[KIND_EVD], place);
    memcpy(&event, place, sizeof event);
    return event;
}

/* Checks that the next two events are completions, of these lengths in either order. */
static void completions(int waits, const char *what, uint64_t one, uint64_t other)
{
    uint64_t sum = 0;

    for (int i = 0; i < (other ? 2 : 1); i++) {
        DAT_EVENT event = next(waits);
        DAT_DTO_COMPLETION_EVENT_DATA done = event.event_data.dto_completion_event_data;

        CHECK(event.event_number == DAT_DTO_COMPLETION_EVENT && done.status == DAT_DTO_SUCCESS,
              "%s: event %#x, status %d", what, event.event_number, done.status);
        sum += done.transfered_length;
    }
    CHECK(sum == one + other, "%s: %llu bytes", what, (unsigned long long)sum);
}

/* Transfers with segments at every offset, one and several of them. */
static void transfer(size_t offset, int waits)
{
    static unsigned char here[3 * sizeof segment + 8], there[3 * sizeof segment + 8];
    static unsigned char far[sizeof remote + 8];
    DAT_LMR_TRIPLET *from = (void *)(here + offset), *to = (void *)(there + offset);
    DAT_RMR_TRIPLET *target = (void *)(far + offset);
    DAT_LMR_PARAM param;
    DAT_LMR_TRIPLET part = segment;
    DAT_DTO_COOKIE cookie = {.as_64 = 1};

    MUST(dat_lmr_query(live[KIND_LMR], DAT_LMR_FIELD_ALL, &param));
    for (int i = 0; i < 2; i++) {
        part.segment_length = 4;
        part.virtual_address = (DAT_VADDR)(uintptr_t)(memory + 4 * i);
        memcpy(here + offset + i * sizeof part, &part, sizeof part);
        part.virtual_address = (DAT_VADDR)(uintptr_t)(memory + 16 + 4 * i);
        memcpy(there + offset + i * sizeof part, &part, sizeof part);
    }
    for (int count = 1; count <= 2; count++) {
        memcpy(memory, "unalignd\0\0\0\0\0\0\0", 16);
        memset(memory + 16, 0, sizeof memory - 16);
        MUST(dat_ep_post_recv(live[KIND_EP], count, to, cookie, DAT_COMPLETION_DEFAULT_FLAG));
        MUST(dat_ep_post_send(asking, count, from, cookie, DAT_COMPLETION_DEFAULT_FLAG));
        completions(waits, "send", 4 * count, 4 * count);
        CHECK(memcmp(memory + 16, memory, 4 * count) == 0, "a send of %d segments", count);

        memset(&remote, 0, sizeof remote);
        remote.rmr_context = param.rmr_context;
        remote.segment_length = 4 * count;
#ifdef DAT_1_2
        remote.target_address = (DAT_VADDR)(uintptr_t)(memory + 32);
#else
        remote.virtual_address = (DAT_VADDR)(uintptr_t)(memory + 32);
#endif
        memcpy(far + offset, &remote, sizeof remote);
        MUST(dat_ep_post_rdma_write(asking, count, from, cookie, target, DAT_COMPLETION_DEFAULT_FLAG));
        completions(waits, "write", 4 * count, 0);
        CHECK(memcmp(memory + 32, memory, 4 * count) == 0, "a write of %d segments", count);
        memset(memory, 0, 8);
        MUST(dat_ep_post_rdma_read(asking, count, from, cookie, target, DAT_COMPLETION_DEFAULT_FLAG));
        completions(waits, "read", 4 * count, 0);
        CHECK(memcmp(memory, "unalignd", 4 * count) == 0, "a read of %d segments", count);
    }
}

int main(void)
{
    DAT_EVENT event;
    DAT_COUNT more;

    software_event.event_number = DAT_SOFTWARE_EVENT;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        for (int index = 0; index < MOST; index++) {
            const struct argument *argument = &calls[i].arguments[index];

            if (argument->is == IS_POINTER && !argument->is_table && argument->alignment > 1)
                try_pointer(&calls[i], index);
        }
    }
    list_providers();

    memset(live, 0, sizeof live);
    open_adapter(live);
    make(live);
    MUST(dat_rsp_free(live[KIND_RSP]));
    MUST(dat_cr_accept(live[KIND_CR], live[KIND_EP], 0, NULL));
    for (int i = 0; i < 2; i++)
        MUST(dat_evd_wait(live[KIND_EVD], 10000000, 1, &event, &more));
    for (size_t offset = 1; offset < sizeof(uint64_t); offset++) {
        transfer(offset, 0);
        transfer(offset, 1);
    }
    end();
    return verdict();
}
