/* What the MPI programs of this folder have in common: data that both sides can compute, and the count of errors. */
#ifndef CHECK_H
#define CHECK_H

#include <mpi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;
static long errors;

/* Counts an error of this rank; the first ten are printed. */
__attribute__((format(printf, 1, 2))) static inline void wrong(const char *format, ...)
{
    if (errors++ >= 10)
        return;
    va_list arguments;
    char text[400];
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    printf("WRONG: rank %d: %s\n", rank, text);
    fflush(stdout);
}

/* The word at `index` of the message that `seed` names. */
static inline uint32_t word(uint32_t seed, size_t index)
{
    uint32_t value = seed * 2654435761u ^ (uint32_t)index * 2246822519u;
    return value ^ value >> 15;
}

static inline unsigned char byte(uint32_t seed, size_t index)
{
    return (unsigned char)(word(seed, index / 4) >> 8 * (index % 4));
}

static inline void fill(unsigned char *bytes, size_t length, uint32_t seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = byte(seed, i);
}

/* Compares every byte with what fill() wrote. */
static inline void expect(const unsigned char *bytes, size_t length, uint32_t seed, const char *what)
{
    size_t bad = 0, first = 0, last = 0;
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != byte(seed, i)) {
            if (bad++ == 0)
                first = i;
            last = i;
        }
    }
    if (bad)
        wrong("%s of %zu bytes: %zu differ, the first at %zu, the last at %zu", what, length, bad, first, last);
}

static inline void *allocate(size_t size)
{
    void *memory = malloc(size ? size : 1);
    if (!memory) {
        fprintf(stderr, "rank %d: no memory for %zu bytes\n", rank, size);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    return memory;
}

/* The value that follows the option `name` on the command line, or `otherwise`. */
static inline long option(int count, char **arguments, const char *name, long otherwise)
{
    for (int i = 1; i + 1 < count; i++)
        if (strcmp(arguments[i], name) == 0)
            return atol(arguments[i + 1]);
    return otherwise;
}

static inline int flag(int count, char **arguments, const char *name)
{
    for (int i = 1; i < count; i++)
        if (strcmp(arguments[i], name) == 0)
            return 1;
    return 0;
}

static inline void begin(int *count, char ***arguments)
{
    MPI_Init(count, arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

/* Prints the verdict of all ranks. The result is the exit status. */
static inline int end(void)
{
    long all = 0;
    MPI_Allreduce(&errors, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf(all ? "%ld errors\n" : "no errors\n", all);
    MPI_Finalize();
    return all != 0;
}

#endif
