/* Collective operations with every word verified, on all ranks, on half of them and in reverse order:
 * collectives [--rounds N] [--most WORDS]
 */
#include "check.h"

/* The communicator in use, and this process in it. */
static MPI_Comm group;
static int me, size;

static void words(uint32_t *out, size_t count, uint32_t seed)
{
    for (size_t i = 0; i < count; i++)
        out[i] = word(seed, i);
}

static void compare(const uint32_t *in, size_t count, uint32_t seed, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        if (in[i] != word(seed, i)) {
            wrong("%s: word %zu of %zu is %08x instead of %08x", what, i, count, in[i], word(seed, i));
            return;
        }
    }
}

/* Compares with the sum over the ranks of the words of each. */
static void compare_sum(const uint32_t *in, size_t count, size_t first, uint32_t seed, int members, const char *what)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t sum = 0;
        for (int r = 0; r < members; r++)
            sum += word(seed + (uint32_t)r, first + i);
        if (in[i] != sum) {
            wrong("%s: word %zu of %zu is %08x instead of %08x", what, i, count, in[i], sum);
            return;
        }
    }
}

static void rooted(uint32_t *out, uint32_t *in, int count, int root, uint32_t seed)
{
    if (me == root)
        words(in, (size_t)count, seed);
    else
        memset(in, 0, (size_t)count * 4);
    MPI_Bcast(in, count, MPI_UINT32_T, root, group);
    compare(in, (size_t)count, seed, "broadcast");

    words(out, (size_t)count, seed + (uint32_t)me);
    memset(in, 0, (size_t)count * size * 4);
    MPI_Gather(out, count, MPI_UINT32_T, in, count, MPI_UINT32_T, root, group);
    for (int r = 0; r < size && me == root; r++)
        compare(in + (size_t)r * count, (size_t)count, seed + (uint32_t)r, "gather");

    MPI_Reduce(out, in, count, MPI_UINT32_T, MPI_SUM, root, group);
    if (me == root)
        compare_sum(in, (size_t)count, 0, seed, size, "reduce");

    for (int r = 0; r < size; r++)
        words(out + (size_t)r * count, (size_t)count, seed + (uint32_t)r);
    memset(in, 0, (size_t)count * 4);
    MPI_Scatter(out, count, MPI_UINT32_T, in, count, MPI_UINT32_T, root, group);
    compare(in, (size_t)count, seed + (uint32_t)me, "scatter");
}

static void among_all(uint32_t *out, uint32_t *in, int count, uint32_t seed)
{
    MPI_Request requests[2];
    words(out, (size_t)count, seed + (uint32_t)me);
    MPI_Allreduce(out, in, count, MPI_UINT32_T, MPI_SUM, group);
    compare_sum(in, (size_t)count, 0, seed, size, "allreduce");
    MPI_Scan(out, in, count, MPI_UINT32_T, MPI_SUM, group);
    compare_sum(in, (size_t)count, 0, seed, me + 1, "scan");
    MPI_Allgather(out, count, MPI_UINT32_T, in, count, MPI_UINT32_T, group);
    for (int r = 0; r < size; r++)
        compare(in + (size_t)r * count, (size_t)count, seed + (uint32_t)r, "allgather");

    for (int r = 0; r < size; r++)
        words(out + (size_t)r * count, (size_t)count, seed + (uint32_t)(me * size + r));
    memset(in, 0, (size_t)count * size * 4);
    MPI_Alltoall(out, count, MPI_UINT32_T, in, count, MPI_UINT32_T, group);
    for (int r = 0; r < size; r++)
        compare(in + (size_t)r * count, (size_t)count, seed + (uint32_t)(r * size + me), "alltoall");

    words(out, (size_t)count * size, seed + (uint32_t)me);
    MPI_Reduce_scatter_block(out, in, count, MPI_UINT32_T, MPI_SUM, group);
    compare_sum(in, (size_t)count, (size_t)me * count, seed, size, "reduce_scatter");

    /* Two at once. */
    uint32_t *shared = allocate((size_t)count * 4);
    if (me == size - 1)
        words(shared, (size_t)count, seed);
    MPI_Ibcast(shared, count, MPI_UINT32_T, size - 1, group, &requests[0]);
    MPI_Iallreduce(out, in, count, MPI_UINT32_T, MPI_SUM, group, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    compare(shared, (size_t)count, seed, "nonblocking broadcast");
    compare_sum(in, (size_t)count, 0, seed, size, "nonblocking allreduce");
    free(shared);
}

/* Each rank sends a different number of words to each other one. */
static void of_different_lengths(uint32_t *out, uint32_t *in, int count, uint32_t seed)
{
    int *numbers = allocate((size_t)size * 4 * sizeof *numbers);
    int *sent = numbers, *sent_at = sent + size, *taken = sent_at + size, *taken_at = taken + size;
    for (int r = 0, to = 0, from = 0; r < size; r++) {
        sent[r] = count * (me + r) / (2 * size);
        taken[r] = count * (r + me) / (2 * size);
        sent_at[r] = to;
        taken_at[r] = from;
        to += sent[r];
        from += taken[r];
        words(out + sent_at[r], (size_t)sent[r], seed + (uint32_t)(me * size + r));
    }
    memset(in, 0, (size_t)count * size * 4);
    MPI_Alltoallv(out, sent, sent_at, MPI_UINT32_T, in, taken, taken_at, MPI_UINT32_T, group);
    for (int r = 0; r < size; r++)
        compare(in + taken_at[r], (size_t)taken[r], seed + (uint32_t)(r * size + me), "alltoallv");
    free(numbers);
}

static void on(MPI_Comm communicator, int rounds, int most)
{
    group = communicator;
    MPI_Comm_rank(group, &me);
    MPI_Comm_size(group, &size);
    uint32_t *out = allocate((size_t)most * size * 4), *in = allocate((size_t)most * size * 4);
    for (int round = 0; round < rounds; round++) {
        for (int count = 1; count <= most; count = count < 4 ? count + 1 : count * 5 + 1) {
            uint32_t seed = (uint32_t)(round * 1000003 + count) * 64u;
            rooted(out, in, count, round % size, seed);
            among_all(out, in, count, seed);
            of_different_lengths(out, in, count, seed);
            MPI_Barrier(group);
        }
    }
    free(out);
    free(in);
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    int rounds = (int)option(count, arguments, "--rounds", 2), most = (int)option(count, arguments, "--most", 200000);
    MPI_Comm half, reverse;
    on(MPI_COMM_WORLD, rounds, most);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    on(half, rounds, most);
    MPI_Comm_free(&half);
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &reverse);
    on(reverse, 1, most / 10);
    MPI_Comm_free(&reverse);
    return end();
}
