/*
 * What was measured, as text and as a line of JSON for each way of a row.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#ifndef REPORT_H
#define REPORT_H

#include <stdio.h>

#include "way.h"

#define MOST_BATCHES 101

/* Nanoseconds of each batch of one way. */
struct times {
    const char *way;
    unsigned count;
    double batches[MOST_BATCHES];
    /* Nanoseconds of single trips, if the task records them. */
    unsigned trips;
    double *each;
};

/* Prints the ways of a row; the first is the library, to which the others are compared. `json` may be
 * NULL. Sorts the times. */
void report(const struct adapter *adapter, const struct row *row, struct times *ways, unsigned count,
            FILE *json);

#endif
