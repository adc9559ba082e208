/*
 * A program that ends without freeing anything, and forgets all handles: for leak checkers, which must find every object
 * of the library all the same.
 *
 *     left_open ADAPTER
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "examples/end.h"

int main(int argc, char **argv)
{
    static char loopback[] = "loopback", buffer[64];
    DAT_PSP_HANDLE listener;
    struct end end;
    DAT_EVENT event;

    end_open(&end, argc > 1 ? argv[1] : loopback, buffer, sizeof buffer);
    CHECK(dat_psp_create(end.ia, QUALIFIER, end.request_evd, DAT_PSP_CONSUMER_FLAG, &listener));
    /* A request from this endpoint to this adapter that is not answered. */
    CHECK(dat_ep_connect(end.ep, end.address, QUALIFIER, DAT_TIMEOUT_INFINITE, 0, NULL, DAT_QOS_BEST_EFFORT,
                         DAT_CONNECT_DEFAULT_FLAG));
    end_wait(end.request_evd, DAT_CONNECTION_REQUEST_EVENT, &event);
    memset(&end, 0, sizeof end);
    memset(&listener, 0, sizeof listener);
    memset(&event, 0, sizeof event);
    return 0;
}
