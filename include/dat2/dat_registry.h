/*
 * What providers need of the registry.
 *
 * Part of DAT 2.0. Made by capi/headers: changes go there.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef DAT2_DAT_REGISTRY_H
#define DAT2_DAT_REGISTRY_H

#include <dat2/udat.h>
#include <dat2/udat_redirection.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The entries of a provider's library. ---- */

#define DAT_PROVIDER_INIT_FUNC_STR "dat_provider_init"
#define DAT_PROVIDER_FINI_FUNC_STR "dat_provider_fini"

/* dat_provider_init: what a provider's library is started with. */
typedef void (*DAT_PROVIDER_INIT_FUNC)(const DAT_PROVIDER_INFO *provider_info,
                                       const char *instance_data);

/* dat_provider_fini: what a provider's library is ended with. */
typedef void (*DAT_PROVIDER_FINI_FUNC)(const DAT_PROVIDER_INFO *provider_info);

/* The names of the entries, as tokens. */
#define DAT_PROVIDER_INIT_FUNC_NAME dat_provider_init
#define DAT_PROVIDER_FINI_FUNC_NAME dat_provider_fini

/* ---- Registration. ---- */

/* Adds a provider; called by its library (dat_registry_add_provider(3DAT)). */
DAT_RETURN dat_registry_add_provider(const DAT_PROVIDER *provider,
                                     const DAT_PROVIDER_INFO *provider_info);

/* Takes a provider out; called by its library (dat_registry_remove_provider(3DAT)). */
DAT_RETURN dat_registry_remove_provider(const DAT_PROVIDER *provider,
                                        const DAT_PROVIDER_INFO *provider_info);

/* Tells whether two adapters lead to the same port (dat_registry_providers_related(3DAT)). */
DAT_RETURN dat_registry_providers_related(DAT_NAME_PTR ia_name_1,
                                          DAT_NAME_PTR ia_name_2,
                                          DAT_HA_RELATIONSHIP *relationship);

#ifdef __cplusplus
}
#endif

#endif
