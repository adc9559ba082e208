/*
 * An endpoint as Intel MPI creates it: shares NAME [LIBRARY]
 *
 * Loads the library, opens the adapter, and creates an endpoint whose unsignalled requests and
 * default receives share a dispatcher, twice. Prints "created" or "refused". For DAT 1.2 if DAT_1_2
 * is defined.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL, evd;
    DAT_RETURN code = DAT_SUCCESS;
    DAT_EP_PARAM param;
    DAT_IA_HANDLE ia;
    DAT_PZ_HANDLE pz;
    DAT_EP_HANDLE ep;

    if (argc < 2 || (argc > 2 && !dlopen(argv[2], RTLD_NOW | RTLD_LOCAL))) {
        printf("shares NAME [LIBRARY]: %s\n", argc > 2 ? dlerror() : "no name");
        return 2;
    }
    MUST(dat_ia_open(argv[1], 8, &async, &ia));
    if (dlerror() != NULL)
        printf("an error of the loader is left\n");
    MUST(dat_pz_create(ia, &pz));
    MUST(dat_evd_create(ia, 128, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
    MUST(dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL, NULL, &ep));
    MUST(dat_ep_query(ep, DAT_EP_FIELD_ALL, &param));
    MUST(dat_ep_free(ep));
    param.ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
    param.ep_attr.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
    for (int i = 0; i < 2; i++)
        code = dat_ep_create(ia, pz, evd, evd, DAT_HANDLE_NULL, &param.ep_attr, &ep);
    puts(code == DAT_SUCCESS ? "created" : "refused");
    MUST(dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG));
    return 0;
}
