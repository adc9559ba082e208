/* Preloaded into programs that refuse to start below some limit of locked memory, where that limit cannot be raised:
 * getrlimit(2) says that there is none. Nothing of DAT depends on it without an RDMA device.
 */
#define _GNU_SOURCE
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* On 64-bit systems both structures are the kernel's. */
_Static_assert(sizeof(struct rlimit) == sizeof(struct rlimit64), "only for 64-bit systems");

int getrlimit64(__rlimit_resource_t resource, struct rlimit64 *limit)
{
    int result = (int)syscall(SYS_prlimit64, 0, resource, NULL, limit);
    if (result == 0 && resource == RLIMIT_MEMLOCK)
        limit->rlim_cur = limit->rlim_max = RLIM64_INFINITY;
    return result;
}

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit)
{
    return getrlimit64(resource, (struct rlimit64 *)limit);
}
