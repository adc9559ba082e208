/* An address handle of libibverbs. */
struct ibv_ah;
