/* The handle of an adapter is a small number. */
#define DAT_IA_HANDLE_TO_UL(handle) ((unsigned long)(handle))
#define DAT_UL_TO_IA_HANDLE(number) ((DAT_IA_HANDLE)(number))
