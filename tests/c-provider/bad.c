/*
 * Libraries that are not providers: -DUNDEFINED needs a symbol that does not exist, the other has no
 * dat_provider_init.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifdef UNDEFINED
void undefined_symbol(void);
void dat_provider_init(void);
void dat_provider_init(void) { undefined_symbol(); }
#else
int no_provider(void);
int no_provider(void) { return 0; }
#endif
