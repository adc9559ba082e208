/*
 * What was measured, see report.h.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */

#include "report.h"

#include <stdlib.h>

static int compare(const void *one, const void *other)
{
    double a = *(const double *)one, b = *(const double *)other;

    return (a > b) - (a < b);
}

/* Three digits of nanoseconds, or of a unit that is a thousand or a million of them. */
static void print_time(char *to, size_t size, double time)
{
    static const char *const units[] = {"ns", "us", "ms"};
    unsigned unit = 0;

    while (time >= 1000 && unit < 2) {
        time /= 1000;
        unit++;
    }
    snprintf(to, size, "%.*f %s", time < 10 ? 2 : time < 100 ? 1 : 0, time, units[unit]);
}

void report(const struct adapter *adapter, const struct row *row, struct times *ways, unsigned count,
            FILE *json)
{
    double ours = 0;

    for (unsigned at = 0; at < count; at++) {
        struct times *way = &ways[at];
        double median, best, worst, p99;
        char texts[3][32];

        qsort(way->batches, way->count, sizeof way->batches[0], compare);
        median = way->batches[way->count / 2];
        best = way->batches[0];
        worst = way->batches[way->count - 1];
        if (at == 0)
            ours = median;
        print_time(texts[0], sizeof texts[0], median);
        print_time(texts[1], sizeof texts[1], best);
        print_time(texts[2], sizeof texts[2], worst);
        p99 = 0;
        if (way->trips > 0) {
            qsort(way->each, way->trips, sizeof way->each[0], compare);
            p99 = way->each[(size_t)way->trips * 99 / 100];
        }
        printf("%-9s %-40s %-9s %9s  (%s to %s)", at == 0 ? adapter->name : "",
               at == 0 ? row->name : "", way->way, texts[0], texts[1], texts[2]);
        if (p99 > 0) {
            print_time(texts[0], sizeof texts[0], p99);
            printf("  p99 %s", texts[0]);
        }
        if (at > 0)
            printf("  ratio %.2f", ours / median);
        printf("\n");
        if (json != NULL)
            fprintf(json,
                    "{\"adapter\":\"%s\",\"row\":\"%s\",\"way\":\"%s\",\"unit\":\"ns\","
                    "\"median\":%.2f,\"best\":%.2f,\"worst\":%.2f,\"p99\":%.2f,\"ratio\":%.3f}\n",
                    adapter->name, row->name, way->way, median, best, worst, p99, ours / median);
    }
    fflush(stdout);
    if (json != NULL)
        fflush(json);
}
