/* What surrounds the examples of the manual pages when they are compiled. */
#include <arpa/inet.h>
#include <err.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <dat2/udat.h>
#include <dat2/dat_detail.h>
#include <dat2/dat_ib_extensions.h>
#include <dat2/udat_redirection.h>

static DAT_IA_HANDLE ia;
static DAT_PZ_HANDLE pz;
static DAT_EVD_HANDLE evd, async_evd;
static DAT_CNO_HANDLE cno;
static DAT_EP_HANDLE ep;
static DAT_SRQ_HANDLE srq;
static DAT_LMR_HANDLE lmr;
static DAT_RMR_HANDLE rmr;
static DAT_PSP_HANDLE psp;
static DAT_RSP_HANDLE rsp;
static DAT_CSP_HANDLE csp;
static DAT_CR_HANDLE cr;
static DAT_EVENT event;
static DAT_COUNT more;
static DAT_RETURN status;
static DAT_LMR_TRIPLET segment;
static DAT_RMR_TRIPLET remote;
static DAT_DTO_COOKIE cookie;
static DAT_LMR_CONTEXT lmr_context;
static DAT_RMR_CONTEXT rmr_context;
static char buffer[4096];

