/* The last rank is killed in the middle of traffic. Every other rank must end with an error: a status of success,
 * or a rank that waits forever, is a defect: killed [--message BYTES]
 */
#include "check.h"
#include <signal.h>
#include <unistd.h>

int main(int count, char **arguments)
{
    begin(&count, &arguments);
    int length = (int)option(count, arguments, "--message", 65536);
    unsigned char *out = allocate((size_t)length * ranks), *in = allocate((size_t)length * ranks);
    memset(out, 1, (size_t)length * ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int round = 0;; round++) {
        if (round == 50 && rank == ranks - 1) {
            printf("rank %d is killed\n", rank);
            fflush(stdout);
            /* mpiexec drops what it has not read of a process that ended. */
            usleep(200000);
            raise(SIGKILL);
        }
        int code = MPI_Alltoall(out, length, MPI_BYTE, in, length, MPI_BYTE, MPI_COMM_WORLD);
        if (code != MPI_SUCCESS) {
            char text[MPI_MAX_ERROR_STRING];
            int size;
            MPI_Error_string(code, text, &size);
            printf("rank %d: round %d ends with: %s\n", rank, round, text);
            fflush(stdout);
            /* MPI_Finalize would wait for the rank that was killed. */
            _Exit(1);
        }
    }
}
