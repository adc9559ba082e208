/*
 * A DAT 2.0 provider that forwards to another one, and its caller: the provider table and the
 * redirection macros.
 */
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <string.h>

/* An object of this provider; the first word points to its table. */
struct endpoint {
	DAT_PROVIDER *provider;
	DAT_EP_HANDLE below;
	unsigned long posts;
};

extern DAT_RETURN dats_get_ia_handle(IN DAT_IA_HANDLE handle, OUT DAT_IA_HANDLE *ia);

static DAT_PROVIDER table;

static DAT_RETURN DAT_API ep_post_send(IN DAT_EP_HANDLE handle, IN DAT_COUNT segments,
				       IN DAT_LMR_TRIPLET *iov, IN DAT_DTO_COOKIE cookie,
				       IN DAT_COMPLETION_FLAGS flags)
{
	struct endpoint *ep = (struct endpoint *)handle;

	ep->posts++;
	return DAT_EP_POST_SEND(ep->below, segments, iov, cookie, flags);
}

static DAT_RETURN ep_free(DAT_EP_HANDLE handle)
{
	return DAT_EP_FREE(((struct endpoint *)handle)->below);
}

static DAT_RETURN ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			  DAT_IA_HANDLE *ia)
{
	DAT_IA_HANDLE opened;
	DAT_RETURN ret = dat_ia_open(name, qlen, async, &opened);

	if (ret == DAT_SUCCESS && dats_get_ia_handle(opened, ia) != DAT_SUCCESS)
		return DAT_CLASS_ERROR | DAT_INVALID_HANDLE | DAT_INVALID_HANDLE_IA;
	return ret;
}

static DAT_RETURN extended(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args)
{
	(void)handle;
	if (op & DAT_OPEN_EXTENSION_BASE)
		return va_arg(args, void *) ? DAT_SUCCESS : DAT_INVALID_PARAMETER;
	return DAT_CLASS_ERROR | DAT_NOT_IMPLEMENTED;
}

extern
#ifdef __cplusplus
"C"
#endif
void DAT_PROVIDER_INIT_FUNC_NAME(IN const DAT_PROVIDER_INFO *info, IN const char *instance)
{
	DAT_PROVIDER_INIT_FUNC self = DAT_PROVIDER_INIT_FUNC_NAME;

	memset(&table, 0, sizeof table);
	table.device_name = self && instance ? instance : DAT_PROVIDER_INIT_FUNC_STR;
	table.ia_open_func = ia_open;
	table.ep_post_send_func = &ep_post_send;
	table.ep_free_func = ep_free;
	table.handle_extendedop_func = extended;
	(void)dat_registry_add_provider(&table, info);
}

extern
#ifdef __cplusplus
"C"
#endif
void DAT_PROVIDER_FINI_FUNC_NAME(IN const DAT_PROVIDER_INFO *info)
{
	(void)dat_registry_remove_provider(&table, info);
}

DAT_RETURN post_all(DAT_EP_HANDLE *eps, int n, DAT_LMR_TRIPLET *iov)
{
	DAT_DTO_COOKIE cookie;
	DAT_RETURN ret = DAT_SUCCESS;
	int i;

	memset(&cookie, 0, sizeof cookie);
	for (i = 0; i < n && ret == DAT_SUCCESS; i++) {
		if (DAT_HANDLE_TO_PROVIDER(eps[i]) != &table)
			continue;
		cookie.as_index = (DAT_UVERYLONG)i;
		ret = DAT_EP_POST_SEND(eps[i], 1, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
		if (ret == DAT_SUCCESS)
			ret = DAT_EP_POST_RECV(eps[i], 1, iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
	}
	return ret;
}
