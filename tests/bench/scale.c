/*
 * Many endpoints and many connections through libdat2: memory of each, and half a round trip of
 * 64 bytes next to them.
 *
 *   scale [-b BATCHES] ADAPTER [CONNECTIONS...]
 *
 * The idle connections have event dispatchers of their own, or share those of the busy connection; then
 * trips over a random one of them show what its memory costs when it is not in the cache. At last each connection
 * has a dispatcher of its own for receives, and the program polls them in turn; the floor is a flag in shared memory
 * for each connection, on a cache line of its own.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../c/examples/end.h"
#include "session.h"

#define SIZE 64
#define TIMES 1000
#define MOST_BATCHES 101
#define SECONDS 100 /* after which the program gives up */

static const int endpoints[] = {1, 100, 10000};
static int connections[16], rows, batches = 31;
static char *adapter;
static char buffers[2][4 * SIZE];

/* Kilobytes that a process has for itself, with its share of what it has in common with others. */
static long memory(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    long kilobytes = -1;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Pss: %ld", &kilobytes) == 1)
            break;
    if (file == NULL || kilobytes < 0)
        fail("/proc/self/smaps_rollup");
    fclose(file);
    return kilobytes;
}

static void create_endpoints(int count)
{
    DAT_EP_HANDLE *eps = calloc(count, sizeof *eps);
    DAT_IA_ATTR limits;
    struct end end;
    double began;
    long before;

    end_open(&end, adapter, buffers[NEAR], sizeof buffers[NEAR]);
    CHECK(dat_ia_query(end.ia, NULL, DAT_IA_FIELD_ALL, &limits, 0, NULL));
    if (count >= limits.max_eps)
        count = limits.max_eps - 1; /* by the limit of descriptors */
    before = memory();
    began = seconds();
    for (int at = 0; at < count; at++)
        CHECK(dat_ep_create(end.ia, end.pz, end.recv_evd, end.send_evd, end.connect_evd, NULL, &eps[at]));
    began = seconds() - began;
    printf("%-9s %6d endpoints: %.2f us to create one", adapter, count, began / count * 1e6);
    if (count >= 100)
        printf(", %.0f bytes each", (memory() - before) * 1024.0 / count);
    printf("\n");
    CHECK(dat_ia_close(end.ia, DAT_CLOSE_ABRUPT_FLAG));
    free(eps);
}

static void take(DAT_EVD_HANDLE evd)
{
    DAT_EVENT event;
    DAT_RETURN result;

    while (DAT_GET_TYPE(result = dat_evd_dequeue(evd, &event)) == DAT_QUEUE_EMPTY)
        ;
    CHECK(result);
    if (event.event_number != DAT_DTO_COMPLETION_EVENT ||
        event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
        fail("an operation has failed");
}

/* Sends; at most two sends have no completion yet. */
static void send_one(struct end *end, unsigned *sending)
{
    if (*sending == 2) {
        take(end->send_evd);
        --*sending;
    }
    end_post_send(end, 0, SIZE, 0);
    ++*sending;
}

/* The endpoints of a side, one of which each trip uses, in an order that both sides know. */
struct crowd {
    DAT_EP_HANDLE *eps;
    int count;
    uint64_t jumps;
};

static DAT_EP_HANDLE any(struct crowd *crowd)
{
    crowd->jumps = crowd->jumps * 6364136223846793005u + 1442695040888963407u;
    return crowd->eps[(crowd->jumps >> 33) % crowd->count];
}

static double batch(enum side me, struct end *end, struct crowd *crowd, unsigned *sending)
{
    double began;

    session_meet();
    began = seconds();
    for (int at = 0; at < TIMES; at++) {
        end->ep = any(crowd);
        if (me == NEAR)
            send_one(end, sending);
        take(end->recv_evd);
        end_post_recv(end, SIZE, SIZE, 0);
        if (me == FAR)
            send_one(end, sending);
    }
    began = (seconds() - began) / TIMES / 2 * 1e9;
    session_meet();
    return began;
}

/* Connections that are polled in turn: each has its own dispatcher for receives, or a flag if there are none. */
struct turns {
    struct end *ends;
    unsigned *flags[2]; /* what each side sets; `LINE` apart */
    int count, next;    /* the connection whose turn it is */
    unsigned round, sending;
    uint64_t jumps;
};
#define LINE (128 / sizeof(unsigned))

/* Returns whether something has come over the connection whose turn it is. */
static int has_come(enum side me, struct turns *turns)
{
    int at = turns->next;
    DAT_EVENT event;
    DAT_RETURN result;

    if (turns->ends == NULL)
        return __atomic_load_n(&turns->flags[!me][at * LINE], __ATOMIC_ACQUIRE) == turns->round;
    result = dat_evd_dequeue(turns->ends[at].recv_evd, &event);
    if (DAT_GET_TYPE(result) == DAT_QUEUE_EMPTY)
        return 0;
    CHECK(result);
    if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS)
        fail("an operation has failed");
    end_post_recv(&turns->ends[at], SIZE, SIZE, 0);
    return 1;
}

static void send_over(enum side me, struct turns *turns, int at)
{
    if (turns->ends == NULL)
        __atomic_store_n(&turns->flags[me][at * LINE], turns->round, __ATOMIC_RELEASE);
    else
        send_one(&turns->ends[at], &turns->sending);
}

/* Polls all in turn until something has come. */
static int await_turn(enum side me, struct turns *turns)
{
    while (!has_come(me, turns))
        turns->next = turns->next + 1 == turns->count ? 0 : turns->next + 1;
    return turns->next;
}

/* Half a round trip over a random connection, which the other side finds by polling all of them. */
static double turn_batch(enum side me, struct turns *turns)
{
    double began;

    session_meet();
    began = seconds();
    for (int at = 0; at < TIMES / 10; at++) {
        turns->round++;
        if (me == NEAR) {
            turns->jumps = turns->jumps * 6364136223846793005u + 1442695040888963407u;
            send_over(me, turns, (turns->jumps >> 33) % turns->count);
            await_turn(me, turns);
        } else {
            send_over(me, turns, await_turn(me, turns));
        }
    }
    began = (seconds() - began) / (TIMES / 10) / 2 * 1e9;
    session_meet();
    return began;
}

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

/* Half a round trip over the endpoints of a crowd, each of which has a receive. */
static void round_trips(enum side me, struct end *end, struct crowd *crowd, unsigned *sending,
                        const char *what)
{
    double times[MOST_BATCHES];

    /* Each endpoint has been used before. */
    for (int at = 0; at <= crowd->count / TIMES; at++)
        batch(me, end, crowd, sending);
    for (int at = 0; at < batches; at++)
        times[at] = batch(me, end, crowd, sending);
    qsort(times, batches, sizeof times[0], compare);
    if (me == NEAR)
        printf("%-9s half round trip %s: %.0f ns (%.0f to %.0f)\n", adapter, what,
               times[batches / 2], times[0], times[batches - 1]);
    session_meet();
}

/* Connects one endpoint more, to the service point that the far side has. */
static void add(enum side me, struct end *end)
{
    DAT_EVENT event;

    if (me == NEAR)
        end_connect(end, &event);
    else
        end_accept(end, NULL, 0);
}

/* Connections that are idle, with the dispatchers of an end. */
static void add_idle(enum side me, const struct end *like, struct crowd *crowd)
{
    for (int at = 0; at < crowd->count; at++) {
        struct end one = *like;

        CHECK(dat_ep_create(one.ia, one.pz, one.recv_evd, one.send_evd, one.connect_evd, NULL, &one.ep));
        add(me, &one);
        crowd->eps[at] = one.ep;
    }
    session_meet();
}

static void own_dispatchers(struct end *end)
{
    CHECK(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &end->connect_evd));
    CHECK(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->recv_evd));
    CHECK(dat_evd_create(end->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &end->send_evd));
}

static void measure(enum side me, int count, int shared)
{
    struct end end, idle;
    struct crowd one = {&idle.ep, 1, 0}, crowd = {calloc(count, sizeof *crowd.eps), count, 0};
    DAT_PSP_HANDLE listener;
    long before, mine, its;
    unsigned sending = 0;
    char what[96];

    end_open(&end, adapter, buffers[me], sizeof buffers[me]);
    if (me == FAR)
        CHECK(dat_psp_create(end.ia, QUALIFIER, end.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    session_meet();
    end_post_recv(&end, SIZE, SIZE, 0);
    end_post_recv(&end, 2 * SIZE, SIZE, 0);
    add(me, &end);
    idle = end;
    if (!shared)
        own_dispatchers(&idle);
    round_trips(me, &end, &one, &sending, "next to no idle connection");
    before = memory();
    add_idle(me, &idle, &crowd);
    mine = memory() - before;
    session_exchange(me, &mine, &its, sizeof mine);
    /* Later ones use memory again that the earlier have freed. */
    if (me == NEAR && !shared)
        printf("%-9s %6d connections: %.1f KiB each, both sides together\n", adapter, count,
               (double)(session_has_processes() ? mine + its : mine) / count);
    snprintf(what, sizeof what, "next to %d idle connections%s", count,
             shared ? " of the same dispatchers" : "");
    round_trips(me, &end, &one, &sending, what);
    for (int at = 0; shared && at < count; at++) {
        end.ep = crowd.eps[at];
        end_post_recv(&end, SIZE, SIZE, 0);
    }
    session_meet();
    snprintf(what, sizeof what, "over a random one of %d connections", count);
    if (shared && count > 0)
        round_trips(me, &end, &crowd, &sending, what);
    free(crowd.eps);
    CHECK(dat_ia_close(end.ia, DAT_CLOSE_ABRUPT_FLAG));
    session_meet();
}

static void round_turns(enum side me, struct turns *turns, const char *what)
{
    double times[MOST_BATCHES];

    turn_batch(me, turns);
    for (int at = 0; at < batches; at++)
        times[at] = turn_batch(me, turns);
    qsort(times, batches, sizeof times[0], compare);
    if (me == NEAR)
        printf("%-9s half round trip over one of %d, polled in turn: %s %.0f ns (%.0f to %.0f)\n", adapter,
               turns->count, what, times[batches / 2], times[0], times[batches - 1]);
    session_meet();
}

static void measure_turns(enum side me, int count)
{
    struct turns turns = {calloc(count, sizeof *turns.ends), {NULL, NULL}, count, 0, 0, 0, 0}, flags = turns;
    DAT_PSP_HANDLE listener;
    struct end end;

    end_open(&end, adapter, buffers[me], sizeof buffers[me]);
    if (me == FAR)
        CHECK(dat_psp_create(end.ia, QUALIFIER, end.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    session_meet();
    for (int at = 0; at < count; at++) {
        struct end *one = &turns.ends[at];

        *one = end;
        CHECK(dat_evd_create(one->ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &one->recv_evd));
        CHECK(dat_ep_create(one->ia, one->pz, one->recv_evd, one->send_evd, one->connect_evd, NULL, &one->ep));
        end_post_recv(one, SIZE, SIZE, 0);
        add(me, one);
    }
    flags.ends = NULL;
    for (int side = NEAR; side <= FAR; side++)
        flags.flags[side] = (unsigned *)session_memory() + side * count * LINE;
    if (me == NEAR)
        memset(session_memory(), 0, 2 * count * LINE * sizeof(unsigned));
    session_meet();
    round_turns(me, &turns, "libdat2");
    round_turns(me, &flags, "flags");
    free(turns.ends);
    CHECK(dat_ia_close(end.ia, DAT_CLOSE_ABRUPT_FLAG));
    session_meet();
}

static void run_side(enum side me)
{
    alarm(SECONDS);
    for (size_t at = 0; me == NEAR && at < sizeof endpoints / sizeof endpoints[0]; at++)
        create_endpoints(endpoints[at]);
    session_meet();
    for (int at = 0; at < rows; at++) {
        measure(me, connections[at], 0);
        measure(me, connections[at], 1);
        if (connections[at] > 0 && 2 * connections[at] * LINE * sizeof(unsigned) <= SESSION_MEMORY)
            measure_turns(me, connections[at]);
    }
}

int main(int argc, char **argv)
{
    int option;

    while ((option = getopt(argc, argv, "b:")) != -1)
        if (option != 'b' || (batches = atoi(optarg)) < 1 || batches > MOST_BATCHES)
            return 2;
    if (optind == argc) {
        fprintf(stderr, "usage: scale [-b BATCHES] ADAPTER [CONNECTIONS...]\n");
        return 2;
    }
    adapter = argv[optind++];
    while (optind < argc && rows < 16)
        connections[rows++] = atoi(argv[optind++]);
    session_run(strncmp(adapter, "loopback", 8) != 0, run_side);
    return 0;
}
