/* DAT codes as text, in the output of cases. SPDX-License-Identifier: MIT OR Apache-2.0 */

#include "cases.h"

#ifdef DAT_1_2
#include <dat/dat_registry.h>
#include <dat/udat.h>
#else
#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#include <dat2/udat.h>
#endif

/* From codes.h, which is generated from the tables of the ABI. */
#define RETURN_TYPE(name, value) {(uint32_t)(value), #name},
#define RETURN_SUBTYPE(name, value)
static const struct word types[] = {
#include "codes.h"
    {0, NULL}};
#undef RETURN_TYPE
#undef RETURN_SUBTYPE
#define RETURN_TYPE(name, value)
#define RETURN_SUBTYPE(name, value) {(uint32_t)(value), #name},
static const struct word subtypes[] = {
#include "codes.h"
    {0, NULL}};

/* Programs compare whole values, so a code without its class bits counts as different. */
static const char *code(DAT_RETURN value)
{
    static char text[128];
    uint32_t class = value & 0xc0000000u;

    if (value == DAT_SUCCESS)
        return "DAT_SUCCESS";
    snprintf(text, sizeof text, "%s%s%s%s",
             class == DAT_CLASS_ERROR ? "" : class == DAT_CLASS_WARNING ? "warning " : "bare ",
             word(types, value & DAT_TYPE_MASK), value & DAT_SUBTYPE_MASK ? " " : "",
             value & DAT_SUBTYPE_MASK ? word(subtypes, value & DAT_SUBTYPE_MASK) : "");
    return text;
}

static DAT_RETURN said(DAT_RETURN value)
{
    say("", "%s", code(value));
    return value;
}

/* TRY(CALL, NAME...): a case that is one call. */
#define TRY(call, ...)            \
    do {                          \
        if (begins(__VA_ARGS__))  \
            (void)said(call);     \
    } while (0)

/* For the setup of a group: ends the group if it fails. */
static void must(DAT_RETURN value, const char *what)
{
    if (value == DAT_SUCCESS)
        return;
    printf("%s: can't go on = %s: %s\n", progress->group, what, code(value));
    fflush(stdout);
    _exit(0);
}
#define MUST(call) must(call, #call)
