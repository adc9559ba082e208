/* One-sided operations with every byte verified: put, get and accumulate between fences, under locks, and among
 * ranks that post and start: windows [--rounds N] [--most WORDS]
 */
#include "check.h"

static uint32_t *memory, *local;
static MPI_Win window;
/* Words that each rank exposes to each other one. */
static int part;

static void fill_words(uint32_t *out, int count, uint32_t seed)
{
    for (int i = 0; i < count; i++)
        out[i] = word(seed, (size_t)i);
}

static void compare(const uint32_t *in, int count, uint32_t seed, uint32_t added, const char *what)
{
    for (int i = 0; i < count; i++) {
        if (in[i] != word(seed, (size_t)i) + added) {
            wrong("%s: word %d of %d is %08x instead of %08x", what, i, count, in[i], word(seed, (size_t)i) + added);
            return;
        }
    }
}

/* The seed of what `from` writes to `to`. */
static uint32_t seed_of(uint32_t seed, int from, int to)
{
    return seed + (uint32_t)(from * ranks + to);
}

/* Every rank puts a part into every window; then each checks its own window, and gets from the others. */
static void between_fences(int count, uint32_t seed)
{
    MPI_Win_fence(0, window);
    for (int r = 0; r < ranks; r++) {
        fill_words(local + (size_t)r * part, count, seed_of(seed, rank, r));
        MPI_Put(local + (size_t)r * part, count, MPI_UINT32_T, r, (MPI_Aint)rank * part, count, MPI_UINT32_T, window);
    }
    MPI_Win_fence(0, window);
    for (int r = 0; r < ranks; r++)
        compare(memory + (size_t)r * part, count, seed_of(seed, r, rank), 0, "put between fences");
    memset(local, 0, (size_t)part * ranks * 4);
    MPI_Win_fence(0, window);
    for (int r = 0; r < ranks; r++)
        MPI_Get(local + (size_t)r * part, count, MPI_UINT32_T, r, (MPI_Aint)rank * part, count, MPI_UINT32_T, window);
    MPI_Win_fence(0, window);
    for (int r = 0; r < ranks; r++)
        compare(local + (size_t)r * part, count, seed_of(seed, rank, r), 0, "get between fences");
}

/* Every rank adds to the same words of rank 0, under a lock of its own kind. */
static void under_locks(int count, uint32_t seed)
{
    uint32_t one = 1, before;
    if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        fill_words(memory, part, seed);
        MPI_Win_unlock(0, window);
    }
    for (int i = 0; i < count; i++)
        local[i] = (uint32_t)rank + 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Accumulate(local, count, MPI_UINT32_T, 0, 0, count, MPI_UINT32_T, MPI_SUM, window);
    MPI_Win_unlock(0, window);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(local, 0, (size_t)count * 4);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Get(local, count, MPI_UINT32_T, 0, 0, count, MPI_UINT32_T, window);
    MPI_Win_unlock(0, window);
    compare(local, count, seed, (uint32_t)(ranks * (ranks + 1) / 2), "accumulate under locks");

    /* A counter that each rank increments until all have done so a number of times. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    for (int i = 0; i < 20; i++) {
        MPI_Fetch_and_op(&one, &before, MPI_UINT32_T, 0, part - 1, MPI_SUM, window);
        MPI_Win_flush(0, window);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    MPI_Get(&before, 1, MPI_UINT32_T, 0, part - 1, 1, MPI_UINT32_T, window);
    MPI_Win_unlock(0, window);
    if (before != word(seed, (size_t)part - 1) + 20u * (uint32_t)ranks)
        wrong("fetch and add: %u increments were counted instead of %d", before - word(seed, (size_t)part - 1),
              20 * ranks);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Each rank exposes its window to its predecessor, and writes to that of its successor. */
static void by_post_and_start(int count, uint32_t seed)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Group all, origin, target;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &from, &origin);
    MPI_Group_incl(all, 1, &to, &target);
    fill_words(local, count, seed_of(seed, rank, to));
    MPI_Win_post(origin, 0, window);
    MPI_Win_start(target, 0, window);
    MPI_Put(local, count, MPI_UINT32_T, to, 0, count, MPI_UINT32_T, window);
    MPI_Win_complete(window);
    MPI_Win_wait(window);
    compare(memory, count, seed_of(seed, from, rank), 0, "put after post and start");
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    MPI_Group_free(&all);
}

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    int rounds = (int)option(count, arguments, "--rounds", 2);
    part = (int)option(count, arguments, "--most", 100000) + 1;
    local = allocate((size_t)part * ranks * 4);
    MPI_Win_allocate((MPI_Aint)part * ranks * 4, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int round = 0; round < rounds; round++) {
        for (int length = 1; length < part; length = length * 7 + 1) {
            uint32_t seed = (uint32_t)(round * 1000003 + length) * 64u;
            between_fences(length, seed);
            MPI_Barrier(MPI_COMM_WORLD);
            under_locks(length, seed);
            by_post_and_start(length, seed);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_Win_free(&window);
    free(local);
    return end();
}
