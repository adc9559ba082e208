/* ---- Calls. ---- */

/* An object begins with a pointer to the table of its provider; udat_redirection.h has its type. */
#ifndef DAT_HANDLE_TO_PROVIDER
#define DAT_HANDLE_TO_PROVIDER(handle) (*(struct dat_provider **)(handle))
#endif
