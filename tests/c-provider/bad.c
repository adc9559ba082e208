/*
 * Libraries that are no providers: -DUNDEFINED needs a symbol that nobody has, the other has no
 * dat_provider_init.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifdef UNDEFINED
void nobody_has_this(void);
void dat_provider_init(void);
void dat_provider_init(void) { nobody_has_this(); }
#else
int no_provider(void);
int no_provider(void) { return 0; }
#endif
