/*
 * Many threads open and close the same name: the library is initialized and finalized equally
 * often, never twice at once, and unloaded at the end.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include <pthread.h>

#include "client.h"

enum { THREADS = 8, ROUNDS = 200 };

static void *open_and_close(void *failed)
{
    int i;

    for (i = 0; i < ROUNDS; i++) {
        DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
        DAT_IA_HANDLE ia;
        DAT_PZ_HANDLE pz;
        int ok = dat_ia_open("good", 8, &evd, &ia) == DAT_SUCCESS &&
                 dat_pz_create(ia, &pz) == DAT_SUCCESS &&
                 dat_pz_query(pz, 0, NULL) == ANSWER(53) && dat_pz_free(pz) == DAT_SUCCESS &&
                 dat_ia_close(ia, DAT_CLOSE_ABRUPT_FLAG) == DAT_SUCCESS;
        *(int *)failed += !ok;
    }
    return NULL;
}

void test_threads(void)
{
    pthread_t threads[THREADS];
    int failed[THREADS] = {0};
    int i;

    for (i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, open_and_close, &failed[i]) == 0);
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        CHECK(failed[i] == 0);
    }
    CHECK(!is_loaded("provider.so"));
}
