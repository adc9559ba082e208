/*
 * A message-passing layer over DAT 2.0, like those of MPI libraries, which calls functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <dat2/udat.h>

#if DAT_VERSION_MAJOR != 2
#error "not DAT 2"
#endif

typedef struct channel {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE async, conn, cr, recv, request;
	DAT_CNO_HANDLE cno;
	DAT_FD fd;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_RMR_HANDLE rmr;
	DAT_LMR_TRIPLET segment;
	DAT_RMR_TRIPLET remote;
} channel;

int channel_open(channel *c, char *name, size_t length)
{
	DAT_PROVIDER_INFO infos[8], *list[8];
	DAT_REGION_DESCRIPTION region;
	DAT_VLEN registered_length;
	DAT_VADDR registered_address;
	DAT_COUNT i, n;

	for (i = 0; i < 8; i++)
		list[i] = &infos[i];
	if (dat_registry_list_providers(8, &n, list) != DAT_SUCCESS)
		return -1;
	for (i = 0; i < n && strcmp(infos[i].ia_name, name); i++)
		printf("not %s (%u.%u%s)\n", infos[i].ia_name, infos[i].dapl_version_major,
		       infos[i].dapl_version_minor, infos[i].is_thread_safe ? ", threads" : "");
	c->async = DAT_HANDLE_NULL;
	if (dat_ia_openv(name, 16, &c->async, &c->ia, DAT_VERSION_MAJOR, DAT_VERSION_MINOR,
			 DAT_TRUE) != DAT_SUCCESS &&
	    dat_ia_open(name, 16, &c->async, &c->ia) != DAT_SUCCESS)
		return -1;
	if (dat_cno_fd_create(c->ia, &c->fd, &c->cno) != DAT_SUCCESS ||
	    dat_pz_create(c->ia, &c->pz) != DAT_SUCCESS ||
	    dat_evd_create(c->ia, 64, c->cno, DAT_EVD_DTO_FLAG, &c->recv) != DAT_SUCCESS ||
	    dat_evd_create(c->ia, 64, c->cno, DAT_EVD_DTO_FLAG, &c->request) != DAT_SUCCESS ||
	    dat_evd_create(c->ia, 8, c->cno, DAT_EVD_CONNECTION_FLAG, &c->conn) != DAT_SUCCESS ||
	    dat_evd_create(c->ia, 8, c->cno, DAT_EVD_CR_FLAG, &c->cr) != DAT_SUCCESS ||
	    dat_ep_create(c->ia, c->pz, c->recv, c->request, c->conn, NULL, &c->ep) != DAT_SUCCESS)
		return -1;
	region.for_va = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (region.for_va == MAP_FAILED)
		return -1;
	if (dat_lmr_create(c->ia, DAT_MEM_TYPE_VIRTUAL, region, length, c->pz,
			   DAT_MEM_PRIV_ALL_FLAG, DAT_VA_TYPE_VA, &c->lmr, &c->segment.lmr_context,
			   &c->remote.rmr_context, &registered_length,
			   &registered_address) != DAT_SUCCESS)
		return -1;
	c->segment.virtual_address = (DAT_VADDR)(size_t)region.for_va;
	c->segment.segment_length = (DAT_SEG_LENGTH)length;
	return 0;
}

int channel_put(channel *c, DAT_VADDR to, DAT_UINT64 sequence)
{
	DAT_DTO_COOKIE cookie;

	cookie.as_64 = sequence;
	c->remote.virtual_address = to;
	c->remote.segment_length = c->segment.segment_length;
	return dat_ep_post_rdma_write(c->ep, 1, &c->segment, cookie, &c->remote,
				      DAT_COMPLETION_SUPPRESS_FLAG) == DAT_SUCCESS &&
	       dat_ep_post_send_with_invalidate(c->ep, 1, &c->segment, cookie,
						DAT_COMPLETION_DEFAULT_FLAG, DAT_TRUE,
						c->remote.rmr_context) == DAT_SUCCESS;
}

int channel_progress(channel *c)
{
	DAT_EVENT event;
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	DAT_RETURN ret = dat_cno_wait(c->cno, 0, &evd);

	if (DAT_GET_TYPE(ret) == DAT_TIMEOUT_EXPIRED || DAT_GET_TYPE(ret) == DAT_QUEUE_EMPTY)
		return 0;
	while (dat_evd_dequeue(evd, &event) == DAT_SUCCESS) {
		switch (event.event_number) {
		case DAT_DTO_COMPLETION_EVENT:
			if (event.event_data.dto_completion_event_data.operation == DAT_DTO_RECEIVE)
				return 1;
			break;
		case DAT_CONNECTION_REQUEST_EVENT:
			if (event.event_data.cr_arrival_event_data.truncate_flag)
				dat_cr_reject(event.event_data.cr_arrival_event_data.cr_handle, 4,
					      (DAT_PVOID) "full");
			else
				dat_cr_accept(event.event_data.cr_arrival_event_data.cr_handle,
					      c->ep, 0, NULL);
			break;
		case DAT_CONNECTION_EVENT_DISCONNECTED:
		case DAT_CONNECTION_EVENT_BROKEN:
			return -1;
		default:
			break;
		}
	}
	return 0;
}

DAT_RETURN channel_bind(channel *c)
{
	DAT_RMR_COOKIE cookie;

	cookie.as_ptr = c;
	return dat_rmr_bind(c->rmr, c->lmr, &c->segment, DAT_MEM_PRIV_READ_FLAG, DAT_VA_TYPE_VA, c->ep,
			    cookie, DAT_COMPLETION_DEFAULT_FLAG, &c->remote.rmr_context);
}
