/*
 * A program that uses the InfiniBand extensions.
 */
#include <stdio.h>
#include <dat2/udat.h>
#include <dat2/dat_ib_extensions.h>

#ifndef DAT_EXTENSIONS
#error "no extensions"
#endif
#if DAT_IB_EXTENSION_VERSION < 206
#error "old extensions"
#endif

int has_extensions(DAT_IA_HANDLE ia)
{
	DAT_IA_ATTR attr;

	if (dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_EXTENSION | DAT_IA_FIELD_IA_EXTENSION_VERSION,
			 &attr, 0, NULL) != DAT_SUCCESS)
		return 0;
	return attr.extension_supported == (DAT_EXTENSION)DAT_IB_EXTENSION && attr.extension_version >= 206;
}

DAT_RETURN next_ticket(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *local, DAT_RMR_TRIPLET *remote)
{
	DAT_DTO_COOKIE cookie;
	DAT_RETURN ret;

	cookie.as_64 = 7;
	ret = dat_ib_post_fetch_and_add(ep, 1, local, cookie, remote, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return ret;
	ret = dat_ib_post_cmp_and_swap(ep, 1, 2, local, cookie, remote, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret != DAT_SUCCESS)
		return ret;
	return dat_ib_post_rdma_write_immed(ep, 1, local, cookie, remote, 0x1234,
					    DAT_COMPLETION_SUPPRESS_FLAG);
}

int handle_event(DAT_EVENT *event, DAT_IB_ADDR_HANDLE *peer)
{
	DAT_IB_EXTENSION_EVENT_DATA *ext =
		(DAT_IB_EXTENSION_EVENT_DATA *)&event->event_extension_data[0];
	const char *words;

	if (event->event_number == (DAT_EVENT_NUMBER)DAT_IB_UD_CONNECTION_EVENT_ESTABLISHED) {
		*peer = ext->remote_ah;
		return (int)ext->remote_ah.qpn;
	}
	if (event->event_number != (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT)
		return -1;
	if (ext->status != DAT_OP_SUCCESS) {
		dat_strerror_ext_status(ext->status, &words);
		printf("%s\n", words);
		return -1;
	}
	switch (ext->type) {
	case DAT_IB_RECV_IMMED_DATA:
	case DAT_IB_RDMA_WRITE_IMMED_DATA:
		return (int)ext->val.immed.data;
	case DAT_IB_COLLECTIVE_BARRIER_STATUS:
		return ext->coll.handle != DAT_HANDLE_NULL;
	default:
		return 0;
	}
}

DAT_RETURN send_datagram(DAT_EP_HANDLE ep, DAT_LMR_TRIPLET *iov, DAT_IB_ADDR_HANDLE *to)
{
	DAT_DTO_COOKIE cookie;
	DAT_UINT64 counters[DCNT_EP_ALL_COUNTERS];
	DAT_RETURN ret;

	cookie.as_ptr = to;
	ret = dat_ib_post_recv_ud(ep, 1, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS)
		ret = dat_ib_post_send_ud(ep, 1, iov, to, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	if (ret == DAT_SUCCESS)
		ret = dat_query_counters(ep, DCNT_EP_ALL_COUNTERS, counters, 0);
	return ret;
}
