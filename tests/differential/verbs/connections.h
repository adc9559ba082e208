/* Arguments of the connection manager: addresses, private data, endpoints. SPDX-License-Identifier: MIT OR Apache-2.0 */

static void say_id(const struct rdma_cm_id *id)
{
    say("fields", "verbs %d, port %d, space %#x, queue pair %d", id->verbs != NULL, id->port_num, id->ps, id->qp != NULL);
}

static void identifiers(void)
{
    static const int spaces[] = {RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IB, RDMA_PS_IPOIB, 0, 7};
    struct rdma_cm_id *id, *other;
    struct sockaddr_in place;
    struct ibv_qp_init_attr init;

    make_objects();
    MUST((channel = rdma_create_event_channel()) != NULL);
    for (unsigned i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (begins("create in space %#x", spaces[i])) {
            int status = rdma_create_id(channel, &id, (void *)5, spaces[i]);

            say("", "%s", result(status));
            if (status == 0) {
                say_id(id);
                say("destroy", "%s", result(rdma_destroy_id(id)));
            }
        }
    if (begins("bind to any address")) {
        id = new_id(RDMA_PS_TCP);
        place = address;
        place.sin_addr.s_addr = 0;
        say("", "%s", result(rdma_bind_addr(id, (struct sockaddr *)&place)));
        say_id(id);
        say("has a port", "%d", rdma_get_src_port(id) != 0);
        rdma_destroy_id(id);
    }
    if (begins("bind to the address of the device")) {
        id = new_id(RDMA_PS_TCP);
        say("", "%s", result(rdma_bind_addr(id, at(0))));
        say_id(id);
        say("has a port", "%d", rdma_get_src_port(id) != 0);
        say("address", "%d", memcmp(&((struct sockaddr_in *)rdma_get_local_addr(id))->sin_addr, &address.sin_addr, 4) == 0);
        rdma_destroy_id(id);
    }
    id = new_id(RDMA_PS_TCP);
    place = address;
    place.sin_addr.s_addr = htonl(0xc0000201);
    TRY(rdma_bind_addr(id, (struct sockaddr *)&place), "bind to an address of another machine");
    place.sin_family = 77;
    TRY(rdma_bind_addr(id, (struct sockaddr *)&place), "bind to a family that does not exist");
    rdma_destroy_id(id);
    for (int i = 0; i < 3; i++)
        if (begins("bind to a port in use, %s", i == 0 ? "bound" : i == 1 ? "listening" : "both may be reused")) {
            int flag = 1;

            id = new_id(RDMA_PS_TCP), other = new_id(RDMA_PS_TCP);
            if (i == 2) {
                say("option", "%s", result(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &flag, sizeof flag)));
                say("option of the other", "%s", result(rdma_set_option(other, RDMA_OPTION_ID, RDMA_OPTION_ID_REUSEADDR, &flag, sizeof flag)));
            }
            MUST(rdma_bind_addr(id, at(0)) == 0);
            if (i == 1)
                MUST(rdma_listen(id, 1) == 0);
            say("", "%s", result(rdma_bind_addr(other, at(ntohs(rdma_get_src_port(id))))));
            say("listen", "%s", result(rdma_listen(other, 1)));
            rdma_destroy_id(other), rdma_destroy_id(id);
        }
    for (int backlog = -1; backlog < 3; backlog++)
        if (begins("listen with backlog %d", backlog)) {
            id = new_id(RDMA_PS_TCP);
            MUST(rdma_bind_addr(id, at(0)) == 0);
            say("", "%s", result(rdma_listen(id, backlog)));
            say("again", "%s", result(rdma_listen(id, backlog)));
            rdma_destroy_id(id);
        }
    if (begins("connect to a port without a listener")) {
        struct rdma_conn_param parameters = usual();

        init = pair_init(IBV_QPT_RC);
        init.send_cq = init.recv_cq = NULL;
        id = new_id(RDMA_PS_TCP);
        MUST(rdma_resolve_addr(id, NULL, at(9), 1000) == 0);
        expect(RDMA_CM_EVENT_ADDR_RESOLVED);
        MUST(rdma_resolve_route(id, 1000) == 0);
        expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
        MUST(rdma_create_qp(id, NULL, &init) == 0);
        say("", "%s", result(rdma_connect(id, &parameters)));
        say_event("event", SOON);
        rdma_destroy_qp(id);
        rdma_destroy_id(id);
    }
    rdma_destroy_event_channel(channel);
}

/* Connections with a parameter that is at or beyond its limit. */
static void parameters(enum rdma_port_space space)
{
    static const char *const names[] = {"usual", "56 bytes", "57 bytes", "197 bytes", "255 bytes", "resources 255", "depth 255", "retries 9", "no parameters"};
    static char data[256];

    make_objects();
    MUST((channel = rdma_create_event_channel()) != NULL);
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        for (int side = 0; side < 2; side++) {
            struct rdma_conn_param one = usual();
            struct identifiers made;
            struct ibv_qp_init_attr init = pair_init(space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC);

            if (!begins("%s with %s", side ? "accept" : "connect", names[i]))
                continue;
            one.private_data = data;
            one.private_data_len = i == 1 ? 56 : i == 2 ? 57 : i == 3 ? 197 : i == 4 ? 255 : 0;
            one.responder_resources = i == 5 ? 255 : 1;
            one.initiator_depth = i == 6 ? 255 : 1;
            one.retry_count = i == 7 ? 9 : 2;
            init.send_cq = init.recv_cq = NULL;
            made = in_state(side ? REQUESTED : ROUTED, space);
            MUST(rdma_create_qp(made.it, NULL, &init) == 0);
            errno = 0;
            say("", "%s", result(side ? rdma_accept(made.it, i == 8 ? NULL : &one) : rdma_connect(made.it, i == 8 ? NULL : &one)));
            if (side)
                say_event("event", 300);
            else
                made.peer = say_event("event", 300);
            end_identifiers(made);
        }
    rdma_destroy_event_channel(channel);
}

static void parameters_tcp(void) { parameters(RDMA_PS_TCP); }
static void parameters_udp(void) { parameters(RDMA_PS_UDP); }

static void endpoints(void)
{
    static const struct {
        const char *name, *node, *service;
        int flags, family, type, space;
    } all[] = {
        {"node", "%", NULL, 0, 0, 0, 0}, {"node and service", "%", "7471", 0, 0, 0, 0}, {"numeric", "%", "7471", RAI_NUMERICHOST, AF_INET, IBV_QPT_RC, RDMA_PS_TCP},
        {"passive", "%", "7471", RAI_PASSIVE, 0, 0, RDMA_PS_TCP}, {"passive service", NULL, "7471", RAI_PASSIVE, 0, 0, RDMA_PS_TCP},
        {"service", NULL, "7471", 0, 0, 0, RDMA_PS_TCP}, {"nothing", NULL, NULL, 0, 0, 0, 0}, {"service that does not exist", "%", "no-such-service", 0, 0, 0, 0},
        {"numeric name", "no-such-host.invalid", NULL, RAI_NUMERICHOST, 0, 0, 0}, {"datagrams", "%", "7471", 0, 0, IBV_QPT_UD, RDMA_PS_UDP},
        {"space of another type", "%", "7471", 0, 0, IBV_QPT_UD, RDMA_PS_TCP}, {"space 7", "%", "7471", 0, 0, 0, 7}, {"type 77", "%", "7471", 0, 0, 77, 0},
        {"family 77", "%", "7471", 0, 77, 0, 0}, {"no route", "%", "7471", RAI_NOROUTE, 0, 0, 0}, {"unknown flags", "%", "7471", 1 << 20, 0, 0, 0},
        {"family of IB", "%", "7471", RAI_FAMILY, AF_IB, 0, 0}};
    char here[32];
    struct rdma_addrinfo *found;
    struct rdma_cm_id *id;

    make_objects();
    MUST(getnameinfo((struct sockaddr *)&address, sizeof address, here, sizeof here, NULL, 0, NI_NUMERICHOST) == 0);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        for (int with = 0; with < 3; with++) {
            struct rdma_addrinfo hints = {.ai_flags = all[i].flags, .ai_family = all[i].family, .ai_qp_type = all[i].type, .ai_port_space = all[i].space};
            const char *node = all[i].node != NULL && *all[i].node == '%' ? here : all[i].node;
            struct ibv_qp_init_attr init = pair_init(all[i].space == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC);
            int status;

            if (with == 2 && (all[i].flags & ~RAI_PASSIVE))
                continue;
            if (!begins("%s, %s", all[i].name, with == 0 ? "no hints" : with == 1 ? "addresses" : "endpoint with a queue pair"))
                continue;
            errno = 0;
            status = rdma_getaddrinfo(node, all[i].service, with ? &hints : NULL, &found);
            if (status != 0) {
                say("", "%s", status == -1 ? result(status) : gai_strerror(status));
                continue;
            }
            say("", "flags %#x, family %d, type %d, space %#x", found->ai_flags, found->ai_family, found->ai_qp_type, found->ai_port_space);
            say("lengths", "%d %d %d %d", found->ai_src_len, found->ai_dst_len, (int)found->ai_route_len, (int)found->ai_connect_len);
            say("next", "%d", found->ai_next != NULL);
            init.send_cq = init.recv_cq = NULL;
            errno = 0;
            status = rdma_create_ep(&id, found, NULL, with == 2 ? &init : NULL);
            say("endpoint", "%s", result(status));
            if (status == 0) {
                say_id(id);
                rdma_destroy_ep(id);
            }
            rdma_freeaddrinfo(found);
        }
}
