/* Direction of an argument; for documentation only. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef INOUT
#define INOUT
#endif

#define DAT_API
#define DAT_EXPORT extern
