/* One message from a client to a server, with rdma_cm(7) alone: `message` waits for it, `message HOST` sends it.
 *
 *     cc -o message message.c -lrdmacm -libverbs
 *     dat verbs -- ./message &
 *     dat verbs -- ./message localhost
 */
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT "7471"

static char text[64];

static void check(int is_right, const char *call)
{
    if (!is_right) {
        perror(call);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    int is_client = argc > 1;
    struct rdma_addrinfo hints = {.ai_port_space = RDMA_PS_TCP, .ai_flags = is_client ? 0 : RAI_PASSIVE}, *info;
    struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
                                    .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
    struct rdma_cm_id *id, *listener = NULL;
    struct ibv_mr *region;
    struct ibv_wc done;

    check(rdma_getaddrinfo(is_client ? argv[1] : NULL, PORT, &hints, &info) == 0, "rdma_getaddrinfo");
    if (is_client) {
        check(rdma_create_ep(&id, info, NULL, &init) == 0, "rdma_create_ep");
    } else {
        check(rdma_create_ep(&listener, info, NULL, &init) == 0, "rdma_create_ep");
        check(rdma_listen(listener, 1) == 0, "rdma_listen");
        check(rdma_get_request(listener, &id) == 0, "rdma_get_request");
    }
    check((region = rdma_reg_msgs(id, text, sizeof text)) != NULL, "rdma_reg_msgs");

    if (is_client) {
        check(rdma_connect(id, NULL) == 0, "rdma_connect");
        snprintf(text, sizeof text, "hello from process %d", (int)getpid());
        check(rdma_post_send(id, NULL, text, strlen(text) + 1, region, 0) == 0, "rdma_post_send");
        check(rdma_get_send_comp(id, &done) == 1 && done.status == IBV_WC_SUCCESS, "rdma_get_send_comp");
    } else {
        check(rdma_post_recv(id, NULL, text, sizeof text, region) == 0, "rdma_post_recv");
        check(rdma_accept(id, NULL) == 0, "rdma_accept");
        check(rdma_get_recv_comp(id, &done) == 1 && done.status == IBV_WC_SUCCESS, "rdma_get_recv_comp");
        printf("%s\n", text);
    }
    rdma_disconnect(id);
    rdma_dereg_mr(region);
    rdma_destroy_ep(id);
    if (listener != NULL)
        rdma_destroy_ep(listener);
    rdma_freeaddrinfo(info);
    return 0;
}
