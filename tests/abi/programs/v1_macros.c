/*
 * A DAT 1.2 server that calls its provider through the redirection macros.
 */
#include <dat/udat.h>
#include <dat/udat_redirection.h>
#include <stdlib.h>

struct server {
	DAT_IA_HANDLE ia;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE cr_evd, conn_evd, recv_evd, request_evd;
	DAT_CNO_HANDLE cno;
	DAT_PSP_HANDLE psp;
	DAT_SRQ_HANDLE srq;
	DAT_EP_HANDLE ep;
	DAT_RMR_HANDLE rmr;
};

static void agent(DAT_PVOID instance_data, DAT_EVD_HANDLE evd)
{
	*(DAT_EVD_HANDLE *)instance_data = evd;
}

DAT_RETURN server_start(struct server *s, DAT_CONN_QUAL qual, DAT_EVD_HANDLE *fired)
{
	DAT_OS_WAIT_PROXY_AGENT proxy = DAT_OS_WAIT_PROXY_AGENT_NULL;
	DAT_SRQ_ATTR srq_attr = { 64, 1, DAT_SRQ_LW_DEFAULT };
	DAT_RETURN ret;

	if (fired) {
		proxy.instance_data = fired;
		proxy.proxy_agent_func = agent;
	}
	if ((ret = DAT_PZ_CREATE(s->ia, &s->pz)) != DAT_SUCCESS)
		return ret;
	if ((ret = DAT_CNO_CREATE(s->ia, proxy, &s->cno)) != DAT_SUCCESS)
		return ret;
	if ((ret = DAT_EVD_CREATE(s->ia, 8, s->cno, DAT_EVD_CR_FLAG, &s->cr_evd)) != DAT_SUCCESS)
		return ret;
	if ((ret = DAT_SRQ_CREATE(s->ia, s->pz, &srq_attr, &s->srq)) != DAT_SUCCESS)
		return ret;
	ret = DAT_EP_CREATE_WITH_SRQ(s->ia, s->pz, s->recv_evd, s->request_evd, s->conn_evd,
				     s->srq, NULL, &s->ep);
	if (ret != DAT_SUCCESS)
		return ret;
	return DAT_PSP_CREATE(s->ia, qual, s->cr_evd, DAT_PSP_CONSUMER_FLAG, &s->psp);
}

DAT_RETURN server_accept(struct server *s)
{
	DAT_CR_ARRIVAL_EVENT_DATA *arrival;
	DAT_CR_PARAM param;
	DAT_EVENT event;
	DAT_COUNT nmore;
	DAT_RETURN ret;

	ret = DAT_EVD_WAIT(s->cr_evd, DAT_TIMEOUT_INFINITE, 1, &event, &nmore);
	if (ret != DAT_SUCCESS)
		return ret;
	arrival = &event.event_data.cr_arrival_event_data;
	if (event.event_number != DAT_CONNECTION_REQUEST_EVENT ||
	    arrival->sp_handle.psp_handle != s->psp)
		return DAT_CLASS_ERROR | DAT_INTERNAL_ERROR;
	ret = DAT_CR_QUERY(arrival->cr_handle, DAT_CR_FIELD_ALL, &param);
	if (ret != DAT_SUCCESS || param.private_data_size == 0)
		return DAT_CR_REJECT(arrival->cr_handle);
	return DAT_CR_ACCEPT(arrival->cr_handle, s->ep, 0, NULL);
}

DAT_RETURN server_lend(struct server *s, DAT_LMR_TRIPLET *part, DAT_RMR_CONTEXT *context)
{
	DAT_RMR_COOKIE cookie;
	DAT_RETURN ret;

	cookie.as_ptr = part;
	if ((ret = DAT_RMR_CREATE(s->pz, &s->rmr)) != DAT_SUCCESS)
		return ret;
	return DAT_RMR_BIND(s->rmr, part, DAT_MEM_PRIV_REMOTE_READ_FLAG, s->ep, cookie,
			    DAT_COMPLETION_SUPPRESS_FLAG, context);
}

int server_drain(struct server *s)
{
	DAT_EVENT event;
	int n = 0;

	while (DAT_GET_TYPE(DAT_EVD_DEQUEUE(s->recv_evd, &event)) != DAT_QUEUE_EMPTY) {
		switch (event.event_data.dto_completion_event_data.status) {
		case DAT_DTO_SUCCESS:
			n++;
			break;
		case DAT_DTO_FAILURE:
			break;
		default:
			abort();
		}
	}
	return n;
}

DAT_RETURN server_silence(struct server *s)
{
	return DAT_CNO_MODIFY_AGENT(s->cno, DAT_OS_WAIT_PROXY_AGENT_NULL);
}
