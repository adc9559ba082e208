/*
 * The differential test of verbs and of the connection manager: the results of calls with valid, boundary and invalid
 * arguments, in each state of their object.
 *
 *     calls ADDRESS [GROUP]...
 *
 * The same program runs over the device of an RDMA driver and over soft-verbs, and ../compare compares its output. The
 * device is that with the IPv4 address.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>

#include "say.h"

#include "objects.h"

#include "device.h"

#include "regions.h"

#include "queues.h"

#include "pairs.h"

#include "posts.h"

#include "transfers.h"

#include "identifiers.h"

#include "connections.h"

int main(int argc, char **argv)
{
    static const struct cases groups[] = {
        {"devices", devices}, {"domains", domains}, {"regions", regions}, {"binding", binding},
        {"completion queues", completion_queues}, {"receive queues", receive_queues},
        {"address handles", address_handles}, {"creating", creating}, {"transitions", transitions},
        {"values", values}, {"posting", posting}, {"wrong requests", wrong_requests}, {"transfers", transfers},
        {"flushes", flushes}, {"identifiers", identifiers}, {"identifiers, TCP", identifiers_tcp},
        {"identifiers, UDP", identifiers_udp}, {"parameters, TCP", parameters_tcp},
        {"parameters, UDP", parameters_udp}, {"endpoints", endpoints}};

    address.sin_family = AF_INET;
    if (argc < 2 || inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) {
        fprintf(stderr, "calls ADDRESS [GROUP]...\n");
        return 2;
    }
    return run_groups(groups, sizeof groups / sizeof *groups, argv + 2, NULL);
}
