/* Messages and broadcasts of derived types with every word verified, those between the elements of the type too:
 * strided [--rounds N]
 */
#include "check.h"

static const int32_t UNTOUCHED = -1;

/* A two-dimensional array, the first dimension contiguous, with the part of it that a type denotes. */
struct part {
    const char *name;
    int full[2], sub[2], start[2];
    MPI_Datatype type;
};

static int32_t expected(int seed, int index)
{
    return seed * 1000003 + index;
}

static void create(struct part *part)
{
    if (part->start[0] == 0 && part->start[1] == 0)
        MPI_Type_vector(part->sub[1], part->sub[0], part->full[0], MPI_INT32_T, &part->type);
    else
        MPI_Type_create_subarray(2, part->full, part->sub, part->start, MPI_ORDER_FORTRAN, MPI_INT32_T, &part->type);
    MPI_Type_commit(&part->type);
}

static size_t area(const int sides[2])
{
    return (size_t)sides[0] * (size_t)sides[1];
}

/* The number in its part of the word at `column` and `row`, or -1. */
static int number(const struct part *part, int column, int row)
{
    int x = column - part->start[0], y = row - part->start[1];
    return x >= 0 && x < part->sub[0] && y >= 0 && y < part->sub[1] ? y * part->sub[0] + x : -1;
}

static void write_all(const struct part *part, int32_t *array, int seed)
{
    for (int row = 0; row < part->full[1]; row++)
        for (int column = 0; column < part->full[0]; column++) {
            int index = number(part, column, row);
            array[(size_t)row * part->full[0] + column] = seed < 0 || index < 0 ? UNTOUCHED : expected(seed, index);
        }
}

static void check_all(const struct part *part, const int32_t *array, int seed, const char *what)
{
    int bad = 0, outside = 0, first = 0, last = 0;
    int32_t got = 0;
    for (int row = 0; row < part->full[1]; row++)
        for (int column = 0; column < part->full[0]; column++) {
            int index = number(part, column, row);
            int32_t value = array[(size_t)row * part->full[0] + column];
            if (index < 0) {
                outside += value != UNTOUCHED;
            } else if (value != expected(seed, index)) {
                if (bad++ == 0) {
                    first = index;
                    got = value;
                }
                last = index;
            }
        }
    if (bad)
        wrong("%s of %s: %d words of %zu are wrong, from %d (%d instead of %d) to %d", what, part->name, bad,
              area(part->sub), first, got, expected(seed, first), last);
    if (outside)
        wrong("%s of %s: %d words outside of the type were written", what, part->name, outside);
}

/* The root has the words in a row; the others receive them strided, or the reverse. */
static void broadcast(const struct part *part, int32_t *array, int32_t *row, int root, int seed, int strided_root)
{
    int count = (int)area(part->sub);
    if ((rank == root) == strided_root) {
        write_all(part, array, rank == root ? seed : -1);
        MPI_Bcast(array, 1, part->type, root, MPI_COMM_WORLD);
        check_all(part, array, seed, "broadcast");
    } else {
        for (int i = 0; i < count; i++)
            row[i] = rank == root ? expected(seed, i) : UNTOUCHED;
        MPI_Bcast(row, count, MPI_INT32_T, root, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            if (row[i] != expected(seed, i)) {
                wrong("broadcast from %s: word %d of %d is %d instead of %d", part->name, i, count, row[i],
                      expected(seed, i));
                break;
            }
    }
}

static void exchange(const struct part *part, int32_t *array, int seed)
{
    int32_t *in = allocate(area(part->full) * 4);
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    write_all(part, array, seed + rank);
    write_all(part, in, -1);
    MPI_Sendrecv(array, 1, part->type, to, 0, in, 1, part->type, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_all(part, in, seed + from, "message");
    check_all(part, array, seed + rank, "sent message");
    free(in);
}

int main(int count, char **arguments)
{
    struct part parts[] = {
        {.name = "a vector of 3 of 5 words", .full = {5, 1000}, .sub = {3, 1000}},
        {.name = "a vector of 1 of 2 words", .full = {2, 100000}, .sub = {1, 100000}},
        {.name = "a square in a square", .full = {500, 500}, .sub = {333, 333}, .start = {20, 100}},
        {.name = "rows of 64 of 640 words", .full = {640, 4098}, .sub = {64, 4096}, .start = {320, 2}},
        {.name = "rows of 638 of 640 words", .full = {640, 1026}, .sub = {638, 1024}, .start = {1, 1}},
    };
    begin(&count, &arguments);
    int rounds = (int)option(count, arguments, "--rounds", 2);
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        struct part *part = &parts[p];
        create(part);
        int32_t *array = allocate(area(part->full) * 4), *row = allocate(area(part->sub) * 4);
        for (int round = 0; round < rounds; round++) {
            for (int root = 0; root < ranks; root++) {
                broadcast(part, array, row, root, round * ranks + root, 0);
                broadcast(part, array, row, root, round * ranks + root + 500, 1);
            }
            exchange(part, array, round * ranks + 1000);
        }
        free(array);
        free(row);
        MPI_Type_free(&part->type);
    }
    return end();
}
