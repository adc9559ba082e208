/*
 * A DAT 1.2 client in the style of uDAPL programs, which calls functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <dat/udat.h>

#define BUF_SIZE 4096
#define PORT 45278

static DAT_IA_HANDLE ia = DAT_HANDLE_NULL;
static DAT_PZ_HANDLE pz = DAT_HANDLE_NULL;
static DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;
static DAT_EVD_HANDLE conn_evd = DAT_HANDLE_NULL;
static DAT_EVD_HANDLE dto_evd = DAT_HANDLE_NULL;
static DAT_EP_HANDLE ep = DAT_HANDLE_NULL;
static DAT_LMR_HANDLE lmr = DAT_HANDLE_NULL;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static char buffer[BUF_SIZE];

static void fail(const char *what, DAT_RETURN status)
{
	const char *major_msg;
	const char *minor_msg;

	if (dat_strerror(status, &major_msg, &minor_msg) != DAT_SUCCESS)
		major_msg = minor_msg = "?";
	fprintf(stderr, "%s: 0x%x %s %s\n", what, status, major_msg, minor_msg);
	exit(1);
}

#define CALL(call)                                     \
	do {                                           \
		DAT_RETURN call_status = (call);       \
		if (call_status != DAT_SUCCESS)        \
			fail(#call, call_status);      \
	} while (0)

static void wait_for(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number, DAT_EVENT *event)
{
	DAT_COUNT nmore;
	DAT_RETURN ret;

	ret = dat_evd_wait(evd, 10 * 1000 * 1000, 1, event, &nmore);
	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED)
		fail("time out", ret);
	if (ret != DAT_SUCCESS || event->event_number != number)
		fail("unexpected event", ret);
}

int main(int argc, char **argv)
{
	struct sockaddr_in addr;
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_TRIPLET iov;
	DAT_DTO_COOKIE cookie;
	DAT_IA_ATTR ia_attr;
	DAT_PROVIDER_ATTR provider_attr;
	DAT_EP_ATTR ep_attr;
	DAT_EVENT event;
	DAT_VLEN registered_size;
	DAT_VADDR registered_addr;

	if (argc != 3) {
		fprintf(stderr, "usage: %s adapter address\n", argv[0]);
		return 2;
	}
	CALL(dat_ia_open(argv[1], 8, &async_evd, &ia));
	CALL(dat_ia_query(ia, DAT_HANDLE_NULL, DAT_IA_ALL, &ia_attr, DAT_PROVIDER_FIELD_ALL,
			  &provider_attr));
	printf("%s %s: %d endpoints, messages of %lu bytes, %d reads\n", ia_attr.adapter_name,
	       provider_attr.provider_name, ia_attr.max_eps, (unsigned long)ia_attr.max_mtu_size,
	       ia_attr.max_rdma_read_per_ep);
	CALL(dat_pz_create(ia, &pz));
	CALL(dat_evd_create(ia, 10, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &conn_evd));
	CALL(dat_evd_create(ia, 10, DAT_HANDLE_NULL,
			    (DAT_EVD_FLAGS)(DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG), &dto_evd));

	memset(&ep_attr, 0, sizeof ep_attr);
	ep_attr.service_type = DAT_SERVICE_TYPE_RC;
	ep_attr.max_mtu_size = BUF_SIZE;
	ep_attr.qos = DAT_QOS_BEST_EFFORT;
	ep_attr.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	ep_attr.max_recv_dtos = ep_attr.max_request_dtos = 8;
	ep_attr.max_recv_iov = ep_attr.max_request_iov = 1;
	CALL(dat_ep_create(ia, pz, dto_evd, dto_evd, conn_evd, &ep_attr, &ep));

	region.for_va = buffer;
	CALL(dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, BUF_SIZE, pz, DAT_MEM_PRIV_ALL_FLAG,
			    &lmr, &lmr_context, &rmr_context, &registered_size, &registered_addr));

	memset(&addr, 0, sizeof addr);
	addr.sin_family = DAT_AF_INET;
	if (inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1)
		return 2;
	CALL(dat_ep_connect(ep, (DAT_IA_ADDRESS_PTR)&addr, PORT, DAT_TIMEOUT_INFINITE, 0, NULL,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	wait_for(conn_evd, DAT_CONNECTION_EVENT_ESTABLISHED, &event);

	iov.lmr_context = lmr_context;
	iov.pad = 0;
	iov.virtual_address = (DAT_VADDR)(unsigned long)buffer;
	iov.segment_length = BUF_SIZE;
	cookie.as_64 = UINT64_C(0xfeedface12345678);
	CALL(dat_ep_post_send(ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG));
	wait_for(dto_evd, DAT_DTO_COMPLETION_EVENT, &event);
	if (event.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS ||
	    event.event_data.dto_completion_event_data.user_cookie.as_64 != cookie.as_64 ||
	    event.event_data.dto_completion_event_data.transfered_length != BUF_SIZE)
		return 1;

	CALL(dat_ep_disconnect(ep, DAT_CLOSE_DEFAULT));
	wait_for(conn_evd, DAT_CONNECTION_EVENT_DISCONNECTED, &event);
	CALL(dat_ep_free(ep));
	CALL(dat_lmr_free(lmr));
	CALL(dat_evd_free(dto_evd));
	CALL(dat_evd_free(conn_evd));
	CALL(dat_pz_free(pz));
	CALL(dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG));
	return 0;
}
