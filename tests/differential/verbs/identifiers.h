/* The calls of the connection manager in each state of an identifier. SPDX-License-Identifier: MIT OR Apache-2.0 */

static struct rdma_event_channel *channel;

/* The states that an identifier can be in, each with its calls. */
enum { NEW, BOUND, RESOLVED, ROUTED, LISTENING, REQUESTED, CONNECTED, ACCEPTED, DISCONNECTED, ID_STATES };
static const char *const id_states[ID_STATES] = {"new", "bound", "with an address", "with a route", "listening", "of a request", "connected", "accepted", "disconnected"};

struct identifiers {
    struct rdma_cm_id *it, *listener, *peer;
};

/* Prints the next event, or that there is none. Returns its identifier if it is one of a request. */
static struct rdma_cm_id *say_event(const char *part, int milliseconds)
{
    struct pollfd waits = {channel->fd, POLLIN, 0};
    struct rdma_cm_event *event;
    struct rdma_cm_id *request = NULL;

    if (poll(&waits, 1, milliseconds) != 1) {
        say(part, "none");
        return NULL;
    }
    if (rdma_get_cm_event(channel, &event) != 0) {
        say(part, "%s", result(-1));
        return NULL;
    }
    say(part, "%s, status %s", rdma_event_str(event->event) + strlen("RDMA_CM_EVENT_"),
        event->event == RDMA_CM_EVENT_REJECTED ? "of the rejection" : error_name(event->status < 0 ? -event->status : event->status));
    if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
        request = event->id;
    rdma_ack_cm_event(event);
    return request;
}

static struct rdma_cm_id *expect(enum rdma_cm_event_type type)
{
    struct rdma_cm_event *event;
    struct rdma_cm_id *id;

    MUST(rdma_get_cm_event(channel, &event) == 0);
    must(event->event == type, rdma_event_str(event->event));
    id = event->id;
    rdma_ack_cm_event(event);
    return id;
}

static struct rdma_cm_id *new_id(enum rdma_port_space space)
{
    struct rdma_cm_id *id;

    MUST(rdma_create_id(channel, &id, NULL, space) == 0);
    return id;
}

static struct sockaddr *at(uint16_t port)
{
    static struct sockaddr_in place;

    place = address;
    place.sin_port = htons(port);
    return (struct sockaddr *)&place;
}

static struct rdma_conn_param usual(void)
{
    struct rdma_conn_param parameters = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 2, .rnr_retry_count = 2};

    return parameters;
}

/* With the other side of the connection in front. */
static struct identifiers swapped(struct identifiers made)
{
    struct identifiers other = {made.peer, made.listener, made.it};

    return other;
}

static struct identifiers in_state(int state, enum rdma_port_space space)
{
    struct identifiers made = {new_id(space), NULL, NULL};
    struct rdma_conn_param parameters = usual();
    struct ibv_qp_init_attr init = pair_init(space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC);

    if (state == NEW)
        return made;
    if (state == BOUND || state == LISTENING) {
        MUST(rdma_bind_addr(made.it, at(0)) == 0);
        MUST(state == BOUND || rdma_listen(made.it, 2) == 0);
        return made;
    }
    made.listener = new_id(space);
    MUST(rdma_bind_addr(made.listener, at(0)) == 0 && rdma_listen(made.listener, 2) == 0);
    MUST(rdma_resolve_addr(made.it, NULL, at(ntohs(rdma_get_src_port(made.listener))), 2000) == 0);
    expect(RDMA_CM_EVENT_ADDR_RESOLVED);
    if (state == RESOLVED)
        return made;
    MUST(rdma_resolve_route(made.it, 2000) == 0);
    expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
    if (state == ROUTED)
        return made;
    init.send_cq = init.recv_cq = NULL;
    MUST(rdma_create_qp(made.it, NULL, &init) == 0);
    MUST(rdma_connect(made.it, &parameters) == 0);
    made.peer = expect(RDMA_CM_EVENT_CONNECT_REQUEST);
    if (state == REQUESTED)
        return swapped(made);
    MUST(rdma_create_qp(made.peer, NULL, &init) == 0);
    MUST(rdma_accept(made.peer, &parameters) == 0);
    expect(RDMA_CM_EVENT_ESTABLISHED);
    if (space != RDMA_PS_UDP)
        expect(RDMA_CM_EVENT_ESTABLISHED);
    if (state == ACCEPTED)
        return swapped(made);
    if (state == DISCONNECTED) {
        MUST(rdma_disconnect(made.it) == 0);
        /* The other side answers when it disconnects, too. */
        expect(RDMA_CM_EVENT_DISCONNECTED);
        MUST(rdma_disconnect(made.peer) == 0);
        expect(RDMA_CM_EVENT_DISCONNECTED);
    }
    return made;
}

static void end_identifiers(struct identifiers made)
{
    struct rdma_cm_id *all[] = {made.it, made.peer, made.listener};
    struct pollfd waits = {channel->fd, POLLIN, 0};
    struct rdma_cm_event *event;

    while (poll(&waits, 1, 0) == 1 && rdma_get_cm_event(channel, &event) == 0)
        rdma_ack_cm_event(event);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i] != NULL) {
            if (all[i]->qp != NULL)
                rdma_destroy_qp(all[i]);
            rdma_destroy_id(all[i]);
        }
    while (poll(&waits, 1, 0) == 1 && rdma_get_cm_event(channel, &event) == 0)
        rdma_ack_cm_event(event);
}

static const char *const calls[] = {
    "bind_addr", "resolve_addr", "resolve_route", "listen", "connect",
    "accept", "reject", "disconnect", "create_qp", "get_request",
    "notify of communication", "establish", "set_option type of service", "set_option reuse", "set_option acknowledgement timeout",
    "set_option of another level", "set_option that does not exist", "set_option of a wrong size", "init_qp_attr", "migrate_id to its channel",
    "migrate_id to no channel and back"};
enum { CALLS = sizeof calls / sizeof *calls };

/* The call with the name at this index. */
static int call(int number, struct rdma_cm_id *id)
{
    struct rdma_conn_param parameters = usual();
    struct ibv_qp_init_attr init = pair_init(id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC);
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT};
    struct rdma_cm_id *request;
    uint8_t byte = 3;
    int mask, flag = 1;

    init.send_cq = init.recv_cq = NULL;
    switch (number) {
    case 0: return rdma_bind_addr(id, at(0));
    case 1: return rdma_resolve_addr(id, NULL, at(9), 1000);
    case 2: return rdma_resolve_route(id, 1000);
    case 3: return rdma_listen(id, 1);
    case 4: return rdma_connect(id, &parameters);
    case 5: return rdma_accept(id, &parameters);
    case 6: return rdma_reject(id, "no", 2);
    case 7: return rdma_disconnect(id);
    case 8: return rdma_create_qp(id, NULL, &init);
    case 9: return rdma_get_request(id, &request);
    case 10: return rdma_notify(id, IBV_EVENT_COMM_EST);
    case 11: return rdma_establish(id);
    case 12: return rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &byte, 1);
    case 13: return rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &flag, sizeof flag);
    case 14: return rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &byte, 1);
    case 15: return rdma_set_option(id, 9, 0, &byte, 1);
    case 16: return rdma_set_option(id, RDMA_OPTION_ID, 99, &byte, 1);
    case 17: return rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &flag, sizeof flag);
    case 18: return rdma_init_qp_attr(id, &attr, &mask);
    case 19: return rdma_migrate_id(id, channel);
    case 20: return rdma_migrate_id(id, NULL) || rdma_migrate_id(id, channel);
    }
    return 0;
}

static void identifier_states(enum rdma_port_space space)
{
    MUST((channel = rdma_create_event_channel()) != NULL);
    for (int state = 0; state < ID_STATES; state++)
        for (int number = 0; number < CALLS; number++) {
            struct identifiers made;
            struct rdma_cm_id *request;
            int status;

            if (space == RDMA_PS_UDP && state == DISCONNECTED)
                continue;
            /* It waits until there is a request. */
            if (number == 9 && state == LISTENING)
                continue;
            if (!begins("%s: %s", id_states[state], calls[number]))
                continue;
            made = in_state(state, space);
            if (number == 0)
                say("paths", "%d", made.it->route.num_paths);
            errno = 0;
            status = call(number, made.it);
            say("", "%s", result(status));
            /* Calls that the other side, or the network, answers. */
            request = say_event("event", status == 0 && number <= 7 && number != 0 && number != 3 ? 1500 : 0);
            if (request != NULL)
                made.peer = request;
            end_identifiers(made);
        }
    rdma_destroy_event_channel(channel);
}

static void identifiers_tcp(void) { identifier_states(RDMA_PS_TCP); }
static void identifiers_udp(void) { identifier_states(RDMA_PS_UDP); }
