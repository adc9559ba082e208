/*
 * A network namespace of this process, with a second address of the machine that is not a loopback address: over
 * TCP, a connection to such an address may block.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECOND_ADDRESS "10.76.0.1"

/* Returns 0 without the privileges for it. Call it before there is a second thread. */
static inline int have_second_address(void)
{
    struct ifreq request;
    struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
    int control, done;

    if (unshare(CLONE_NEWNET) != 0)
        return 0;
    control = socket(AF_INET, SOCK_DGRAM, 0);
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "lo");
    request.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
    done = ioctl(control, SIOCSIFFLAGS, &request) == 0;
    memset(&request, 0, sizeof request);
    strcpy(request.ifr_name, "lo:1");
    address->sin_family = AF_INET;
    address->sin_addr.s_addr = htonl(10 << 24 | 76 << 16 | 1);
    done = done && ioctl(control, SIOCSIFADDR, &request) == 0;
    close(control);
    return done;
}
