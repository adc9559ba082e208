/*
 * The rows through libdat2.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../c/examples/end.h"
#include "way.h"

#define EVENTS 256

struct side_state {
    struct end end;
    DAT_PSP_HANDLE listener;
    DAT_LMR_TRIPLET send[SLOTS], receive[SLOTS], whole;
    DAT_RMR_TRIPLET remote; /* the peer's incoming buffer */
    unsigned next, sending; /* slot of the next send; sends of round trips without completion */
    unsigned written, looks; /* writes whose completions were not taken; looks since the last stray poll */
    char *adapter;
};
static struct side_state states[2];

struct target {
    DAT_RMR_CONTEXT context;
    DAT_VADDR address;
};

/* Takes a completion if there is one. */
static int poll_done(DAT_EVD_HANDLE evd, DAT_UINT64 *cookie)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *done;
    DAT_EVENT event;
    DAT_RETURN result = dat_evd_dequeue(evd, &event);

    if (DAT_GET_TYPE(result) == DAT_QUEUE_EMPTY)
        return 0;
    CHECK(result);
    done = &event.event_data.dto_completion_event_data;
    if (event.event_number != DAT_DTO_COMPLETION_EVENT || done->status != DAT_DTO_SUCCESS)
        fail("an operation has failed");
    *cookie = done->user_cookie.as_64;
    return 1;
}

static DAT_UINT64 take_done(DAT_EVD_HANDLE evd, const struct row *row)
{
    const DAT_DTO_COMPLETION_EVENT_DATA *done;
    DAT_UINT64 cookie;
    DAT_EVENT event;
    DAT_COUNT more;

    if (!row->waiting) {
        while (!poll_done(evd, &cookie))
            ;
        return cookie;
    }
    CHECK(dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &event, &more));
    done = &event.event_data.dto_completion_event_data;
    if (event.event_number != DAT_DTO_COMPLETION_EVENT || done->status != DAT_DTO_SUCCESS)
        fail("an operation has failed");
    return done->user_cookie.as_64;
}

static void post_receive(struct side_state *my, DAT_UINT64 slot)
{
    CHECK(dat_ep_post_recv(my->end.ep, 1, &my->receive[slot], cookie_of(slot),
                           DAT_COMPLETION_DEFAULT_FLAG));
}

static void post_send(struct side_state *my, unsigned slot, DAT_COMPLETION_FLAGS flags)
{
    CHECK(dat_ep_post_send(my->end.ep, 1, &my->send[slot], cookie_of(slot), flags));
}

static void tell_target(enum side me, const struct row *row)
{
    struct side_state *my = &states[me];
    struct target mine = {my->end.rmr_context, (DAT_VADDR)(uintptr_t)buffers[me].incoming}, its;

    session_exchange(me, &mine, &its, sizeof mine);
    memset(&my->remote, 0, sizeof my->remote);
    my->remote.rmr_context = its.context;
    my->remote.virtual_address = its.address;
    my->remote.segment_length = row->size;
    my->whole = end_part(&my->end, 0, row->size);
}

static void dat_open(enum side me, const struct adapter *adapter, const struct row *row)
{
    struct side_state *my = &states[me];
    size_t step = row->size, receives = row->receives == 0 ? 2 : row->receives;
    char *name = adapter->name;
    char named[128];
    DAT_EVENT event;

    memset(my, 0, sizeof *my);
    my->adapter = adapter->name;
    if (row->task == OPEN)
        return;
    if (row->progress != NULL) {
        snprintf(named, sizeof named, "%s%cprogress=%s", adapter->name,
                 strchr(adapter->name, '?') == NULL ? '?' : ',', row->progress);
        name = named;
    }
    end_open(&my->end, name, (char *)&buffers[me], sizeof buffers[me]);
    if (row->task == REGISTER)
        return;
    CHECK(dat_evd_resize(my->end.send_evd, EVENTS));
    CHECK(dat_evd_resize(my->end.recv_evd, EVENTS));
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        size_t out = (size_t)(slot_of(buffers[me].outgoing, row, slot) - buffers[me].outgoing);

        my->send[slot] = end_part(&my->end, out, step);
        my->receive[slot] = end_part(&my->end, sizeof buffers[me].outgoing + out, step);
    }
    if (me == FAR)
        CHECK(dat_psp_create(my->end.ia, QUALIFIER, my->end.request_evd, DAT_PSP_CONSUMER_FLAG,
                             &my->listener));
    tell_target(me, row);
    if (row->task == CONNECT)
        return;
    for (unsigned slot = 0; slot < receives; slot++)
        post_receive(my, slot);
    if (me == NEAR)
        end_connect(&my->end, &event);
    else
        end_accept(&my->end, NULL, 0);
}

static void round_trip_send(struct side_state *my, const struct row *row)
{
    if (my->sending == 2) {
        take_done(my->end.send_evd, row);
        my->sending--;
    }
    post_send(my, my->next, DAT_COMPLETION_DEFAULT_FLAG);
    my->sending++;
    my->next ^= 1;
}

static void round_trips(enum side me, const struct row *row, unsigned long times)
{
    struct side_state *my = &states[me];

    for (unsigned long at = 0; at < times; at++) {
        DAT_UINT64 slot;

        if (me == NEAR) {
            await_sleep(row);
            round_trip_send(my, row);
        }
        slot = take_done(my->end.recv_evd, row);
        post_receive(my, slot);
        if (me == FAR)
            round_trip_send(my, row);
    }
}

/* As MPI libraries do. */
static void write_and_complete(enum side me, const struct row *row)
{
    struct side_state *my = &states[me];

    CHECK(dat_ep_post_rdma_write(my->end.ep, 1, &my->whole, cookie_of(0), &my->remote,
                                 DAT_COMPLETION_DEFAULT_FLAG));
    if (++my->written >= row->reaped)
        for (; my->written > 0; my->written--)
            take_done(my->end.send_evd, row);
}

static void poll_astray(enum side me, const struct row *row)
{
    struct side_state *my = &states[me];
    DAT_UINT64 cookie;

    (void)row;
    if (++my->looks < STRAY_LOOKS)
        return;
    my->looks = 0;
    if (poll_done(my->end.recv_evd, &cookie))
        fail("a message has come that was not sent");
}

static void stream_out(struct side_state *my, const struct row *row, unsigned long times)
{
    unsigned long sent = 0, done = 0, step = row->suppressed ? SIGNALLED_OF : 1;
    DAT_UINT64 slot;

    while (done < times) {
        if (sent < times && sent - done < row->window) {
            int silent = row->suppressed && (sent + 1) % SIGNALLED_OF != 0;

            post_send(my, sent % row->window,
                      silent ? DAT_COMPLETION_SUPPRESS_FLAG : DAT_COMPLETION_DEFAULT_FLAG);
            sent++;
            if (silent)
                continue;
        }
        if (poll_done(my->end.send_evd, &slot))
            done += step;
    }
}

/* A receiver goes on polling after the last message, as a program does that waits for more: a
 * provider may acknowledge late to one that has stopped. */
static void stream_in(enum side me, const struct row *row, unsigned long times)
{
    struct side_state *my = &states[me];
    DAT_UINT64 slot;

    for (unsigned long at = 0; at < times; at++)
        post_receive(my, take_done(my->end.recv_evd, row));
    while (!session_peer_ended(me))
        if (poll_done(my->end.recv_evd, &slot))
            fail("a message has come that was not sent");
}

static void move(struct side_state *my, const struct row *row, unsigned long times)
{
    for (unsigned long at = 0; at < times; at++) {
        if (row->task == WRITE)
            CHECK(dat_ep_post_rdma_write(my->end.ep, 1, &my->whole, cookie_of(at), &my->remote,
                                         DAT_COMPLETION_DEFAULT_FLAG));
        else
            CHECK(dat_ep_post_rdma_read(my->end.ep, 1, &my->whole, cookie_of(at), &my->remote,
                                        DAT_COMPLETION_DEFAULT_FLAG));
        take_done(my->end.send_evd, row);
    }
}

static void serve(enum side me, const struct row *row)
{
    DAT_UINT64 slot;

    if (row->computing)
        compute(me);
    while (row->both && !session_peer_ended(me))
        move(&states[me], row, 1);
    while (!session_peer_ended(me))
        if (poll_done(states[me].end.recv_evd, &slot))
            fail("a message has come that was not sent");
}

static void connections(enum side me, unsigned long times)
{
    struct end *end = &states[me].end;
    DAT_EVENT event;

    for (unsigned long at = 0; at < times; at++) {
        if (me == NEAR) {
            end_connect(end, &event);
            CHECK(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
        } else {
            end_accept(end, NULL, 0);
        }
        end_wait(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
        CHECK(dat_ep_reset(end->ep));
    }
}

static void opens(char *adapter, unsigned long times)
{
    for (unsigned long at = 0; at < times; at++) {
        DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;

        CHECK(dat_ia_open(adapter, 8, &async_evd, &ia));
        CHECK(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
    }
}

static void registrations(const struct end *end, size_t size, unsigned long times)
{
    DAT_REGION_DESCRIPTION region;
    DAT_LMR_CONTEXT context;
    DAT_LMR_HANDLE lmr;

    region.for_va = end->buffer;
    for (unsigned long at = 0; at < times; at++) {
        CHECK(dat_lmr_create(end->ia, DAT_MEM_TYPE_VIRTUAL, region, size, end->pz, PRIVILEGES, &lmr,
                             &context, NULL, NULL, NULL));
        CHECK(dat_lmr_free(lmr));
    }
}

static void dat_run(enum side me, const struct row *row, unsigned long times)
{
    struct side_state *my = &states[me];

    switch (row->task) {
    case ROUND_TRIP:
        round_trips(me, row, times);
        break;
    case MEMORY_TRIP:
        memory_trips(me, row, times, write_and_complete, row->stray ? poll_astray : NULL);
        break;
    case STREAM:
        if (me == NEAR)
            stream_out(my, row, times);
        else
            stream_in(me, row, times);
        break;
    case WRITE:
    case READ:
        if (me == NEAR)
            move(my, row, times);
        else
            serve(me, row);
        break;
    case CONNECT:
        connections(me, times);
        break;
    case OPEN:
        if (me == NEAR)
            opens(my->adapter, times);
        break;
    case REGISTER:
        if (me == NEAR)
            registrations(&my->end, row->size, times);
        break;
    }
}

static void dat_close(enum side me, const struct row *row)
{
    struct end *end = &states[me].end;
    DAT_EVENT event;

    if (row->task == OPEN)
        return;
    if (row->task != CONNECT && row->task != REGISTER) {
        if (me == NEAR)
            CHECK(dat_ep_disconnect(end->ep, DAT_CLOSE_ABRUPT_FLAG));
        end_wait(end->connect_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
    }
    CHECK(dat_ia_close(end->ia, DAT_CLOSE_ABRUPT_FLAG));
}

const struct way by_dat = {"libdat2", 1, NULL, dat_open, dat_run, dat_close};
