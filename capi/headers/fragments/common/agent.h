/* No proxy agent. */
#ifdef __cplusplus
#define DAT_OS_WAIT_PROXY_AGENT_NULL (DAT_OS_WAIT_PROXY_AGENT{NULL, NULL})
#else
#define DAT_OS_WAIT_PROXY_AGENT_NULL __extension__ (DAT_OS_WAIT_PROXY_AGENT){NULL, NULL}
#endif
