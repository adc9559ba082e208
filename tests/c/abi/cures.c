/*
 * The text of an error names the call, in C, and says what to do about it.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "../objects.h"

/* Checks that a call failed and that its text has these words, and no name of Rust. */
static void text(DAT_RETURN code, const char *call, const char *one, const char *other)
{
    const char *detail = dat_error_detail();

    CHECK(code != DAT_SUCCESS, "%s succeeds", call);
    CHECK(strstr(detail, one) && strstr(detail, other), "%s: no \"%s\" or \"%s\" in \"%s\"", call,
          one, other, detail);
    CHECK(strstr(detail, "::") == NULL, "%s: \"%s\"", call, detail);
}
#define TEXT(call, one, other) text(call, #call, one, other)

#ifndef DAT_1_2
/* The event of a datagram attempt that fails leaves its cause. */
static void datagrams(DAT_HANDLE *set)
{
    static const struct { DAT_TIMEOUT time; int listens; const char *cause; } attempts[] = {
        {10000000, 0, "nothing here listens"},
        {1000, 1, "before the time-out expired"},
    };
    DAT_EP_ATTR attributes;
    DAT_EP_PARAM param;
    DAT_HANDLE endpoint, listener;
    DAT_CONN_QUAL qualifier;
    DAT_EVENT event;
    DAT_COUNT more, i;

    MUST(dat_ep_query(set[KIND_EP], DAT_EP_FIELD_ALL, &param));
    attributes = param.ep_attr;
    attributes.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
    MUST(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD],
                       &attributes, &endpoint));
    for (i = 0; i < 2; i++) {
        MUST(dat_psp_create_any(set[KIND_IA], &qualifier, set[KIND_EVD], DAT_PSP_CONSUMER_FLAG,
                                &listener));
        if (!attempts[i].listens)
            MUST(dat_psp_free(listener));
        MUST(dat_ep_connect(endpoint, (DAT_IA_ADDRESS_PTR)&address, qualifier, attempts[i].time, 0,
                            NULL, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
        do
            MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
        while ((unsigned)event.event_number == DAT_IB_UD_CONNECTION_REQUEST_EVENT);
        CHECK((unsigned)event.event_number == DAT_IB_UD_CONNECTION_ERROR_EVENT, "event %#x",
              (unsigned)event.event_number);
        TEXT(DAT_INTERNAL_ERROR, "DAT_IB_UD_CONNECTION_ERROR_EVENT", attempts[i].cause);
    }
}
#endif

int main(void)
{
    DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
    DAT_HANDLE set[KINDS], made;
    DAT_CONN_QUAL qualifier;
    DAT_EVENT event;
    DAT_COUNT more;
    char port[32];

    TEXT(dat_ia_open(NULL, 8, &async, &set[KIND_IA]), "argument 1 is NULL", "name of an adapter");
    memset(&async, 0x5a, sizeof async);
    TEXT(dat_ia_open(adapter, 8, &async, &set[KIND_IA]), "dat_ia_open",
         "set it to DAT_HANDLE_NULL before the call");
    open_adapter(set);
    make(set);

    TEXT(dat_ep_create(set[KIND_IA], set[KIND_PZ], set[KIND_EVD], set[KIND_EVD], set[KIND_EVD], NULL,
                       NULL), "dat_ep_create", "argument 7 is NULL");
    MUST(dat_psp_create_any(set[KIND_IA], &qualifier, set[KIND_EVD], DAT_PSP_CONSUMER_FLAG, &made));
    sprintf(port, "%llu", (unsigned long long)qualifier);
    TEXT(dat_psp_create(set[KIND_IA], qualifier, set[KIND_EVD], DAT_PSP_CONSUMER_FLAG, &made), port,
         "dat_psp_create on IA \"loopback\"");
    MUST(dat_psp_free(made));

    /* The request is rejected, which leaves the endpoint disconnected. */
#ifdef DAT_1_2
    MUST(dat_cr_reject(set[KIND_CR]));
#else
    MUST(dat_cr_reject(set[KIND_CR], 0, NULL));
#endif
    MUST(dat_evd_wait(set[KIND_EVD], 10000000, 1, &event, &more));
    TEXT(dat_ep_connect(asking, (DAT_IA_ADDRESS_PTR)&address, qualifier, 1000, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
         "call dat_ep_reset first", "Unconnected");
    MUST(dat_ep_reset(asking));
    TEXT(dat_ep_connect(asking, (DAT_IA_ADDRESS_PTR)&address, qualifier, 0, 0, NULL,
                        DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG),
         "dat_ep_connect", "DAT_TIMEOUT_INFINITE");
    TEXT(dat_evd_post_se(DAT_HANDLE_NULL, &event), "dat_evd_post_se", "has not been freed");
    TEXT(dat_evd_wait(DAT_HANDLE_NULL, 0, 1, &event, &more), "dat_evd_wait", "has not been freed");
    TEXT(dat_evd_wait(set[KIND_EVD], 0, 1, NULL, &more), "dat_evd_wait", "argument 4 is NULL");
    TEXT(dat_cno_wait(set[KIND_CNO], 0, NULL), "dat_cno_wait", "argument 3 is NULL");
    TEXT(dat_strerror(0, NULL, NULL), "dat_strerror", "argument 2 is NULL");
#ifndef DAT_1_2
    datagrams(set);
#endif
    MUST(dat_ia_close(set[KIND_IA], DAT_CLOSE_ABRUPT_FLAG));
    return verdict();
}
