/*
 * The headers of the version under test: -DAPI=1 for DAT 1.2, -DAPI=2 for DAT 2.0.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef API_H
#define API_H

#if API == 1
#include <dat/udat.h>
#include <dat/dat_registry.h>
#include <dat/dat_detail.h>
#else
#include <dat2/udat.h>
#include <dat2/dat_registry.h>
#include <dat2/dat_detail.h>
#endif

#include <stdint.h>

/* Slots of a provider table, including the two words at its beginning. */
#define SLOTS (sizeof(DAT_PROVIDER) / sizeof(void *))

/* A word as arguments are passed. The longest call has 12 arguments, one of which takes two
   words. */
typedef uintptr_t WORD;
enum { WORDS = 13 };

/* The return value of a slot that only records; no library returns such a code. */
#define ANSWER(slot) (0x8abc0000u | (DAT_RETURN)(slot))

/* What the provider has recorded. Its library exports one, named `record`. */
struct record {
    int inits;
    DAT_PROVIDER_INFO info;  /* of dat_provider_init */
    char instance_data[256]; /* of dat_provider_init */
    char name[256];          /* of ia_open_func, like the next two */
    DAT_COUNT qlen;
    DAT_EVD_HANDLE evd;
    DAT_CLOSE_FLAGS close_flags;
    int calls[128];          /* by slot */
    WORD words[WORDS];       /* of the last call that was only recorded */
};

/* The dispatcher that the provider returns when it is asked to create one. */
#define MADE_EVD ((DAT_EVD_HANDLE)(WORD)0x7e0d0)

#endif
