/*
 * The differential test: the results of calls with valid, boundary and invalid arguments.
 *
 *     calls ADAPTER QUALIFIER [GROUP]...
 *
 * The same program runs over several libraries, and `compare` compares its output. It listens on
 * QUALIFIER and the following ones. For DAT 1.2 if DAT_1_2 is defined.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "say.h"

#include "events.h"

#include "objects.h"

#include "adapters.h"

#include "dispatchers.h"

#include "memory.h"

#include "endpoints.h"

#include "connections.h"

#include "transfers.h"

#include "handles.h"

/* Each group has qualifiers of its own, so that groups can run in parallel. */
static void next_qualifiers(void)
{
    qualifier += 100;
}

int main(int argc, char **argv)
{
    static const struct cases groups[] = {
        {"adapters", adapters}, {"dispatchers", dispatchers}, {"resizing", resizing}, {"regions", regions},
        {"windows", windows}, {"receive queues", receive_queues}, {"endpoint attributes", endpoint_attributes},
        {"endpoints", endpoints}, {"service points", service_points}, {"connecting", connecting},
        {"transfers", transfers}, {"handles", handles}};

    if (argc < 3) {
        fprintf(stderr, "calls ADAPTER QUALIFIER [GROUP]...\n");
        return 2;
    }
    adapter = argv[1];
    qualifier = strtoull(argv[2], NULL, 0);
    return run_groups(groups, sizeof groups / sizeof *groups, argv + 3, next_qualifiers);
}
