/* ---- Calls. ---- */

/* Every object begins with a pointer to its provider's function table (type in udat_redirection.h). */
#ifndef DAT_HANDLE_TO_PROVIDER
#define DAT_HANDLE_TO_PROVIDER(handle) (*(struct dat_provider **)(handle))
#endif
