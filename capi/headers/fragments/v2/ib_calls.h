/* ---- Calls: dat_extension_op with the arguments of each operation. ---- */

#define dat_ib_post_fetch_and_add(ep, add_val, lbuf, cookie, rbuf, flgs) \
    dat_extension_op((DAT_EP_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_FETCH_AND_ADD_OP, \
                     (DAT_UINT64)(add_val), (DAT_LMR_TRIPLET *)(lbuf), (cookie), \
                     (DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

#define dat_ib_post_cmp_and_swap(ep, cmp_val, swap_val, lbuf, cookie, rbuf, flgs) \
    dat_extension_op((DAT_EP_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_CMP_AND_SWAP_OP, \
                     (DAT_UINT64)(cmp_val), (DAT_UINT64)(swap_val), (DAT_LMR_TRIPLET *)(lbuf), \
                     (cookie), (DAT_RMR_TRIPLET *)(rbuf), (DAT_COMPLETION_FLAGS)(flgs))

#define dat_ib_post_rdma_write_immed(ep, size, lbuf, cookie, rbuf, idata, flgs) \
    dat_extension_op((DAT_EP_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_RDMA_WRITE_IMMED_OP, \
                     (DAT_COUNT)(size), (DAT_LMR_TRIPLET *)(lbuf), (cookie), \
                     (DAT_RMR_TRIPLET *)(rbuf), (DAT_UINT32)(idata), \
                     (DAT_COMPLETION_FLAGS)(flgs))

#define dat_ib_post_send_ud(ep, segments, lbuf, ah_ptr, cookie, flgs) \
    dat_extension_op((DAT_EP_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_UD_SEND_OP, \
                     (DAT_COUNT)(segments), (DAT_LMR_TRIPLET *)(lbuf), \
                     (DAT_IB_ADDR_HANDLE *)(ah_ptr), (cookie), (DAT_COMPLETION_FLAGS)(flgs))

#define dat_ib_ud_cm_free(ep, cm) \
    dat_extension_op((DAT_EP_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_UD_CM_FREE_OP, (cm))

#define dat_ib_ud_ah_free(ep, ah) \
    dat_extension_op((DAT_EP_HANDLE)(ep), (DAT_EXTENDED_OP)DAT_IB_UD_AH_FREE_OP, \
                     (DAT_IB_ADDR_HANDLE *)(ah))

#define dat_ib_query_counters(dat_handle, cntr, p_cntrs_out, reset) \
    dat_extension_op((DAT_HANDLE)(dat_handle), (DAT_EXTENDED_OP)DAT_QUERY_COUNTERS_OP, \
                     (int)(cntr), (DAT_UINT64 *)(p_cntrs_out), (int)(reset))

#define dat_ib_print_counters(dat_handle, cntr, reset) \
    dat_extension_op((DAT_HANDLE)(dat_handle), (DAT_EXTENDED_OP)DAT_PRINT_COUNTERS_OP, \
                     (int)(cntr), (int)(reset))

#define dat_ib_start_counter(dat_handle, type) \
    dat_extension_op((DAT_HANDLE)(dat_handle), (DAT_EXTENDED_OP)DAT_IB_START_COUNTERS_OP, \
                     (DAT_IA_COUNTER_TYPE)(type))

#define dat_ib_stop_counter(dat_handle, type) \
    dat_extension_op((DAT_HANDLE)(dat_handle), (DAT_EXTENDED_OP)DAT_IB_STOP_COUNTERS_OP, \
                     (DAT_IA_COUNTER_TYPE)(type))

#define dat_ib_open_query(name, ia_handle, ia_mask, ia_attr, prov_mask, prov_attr) \
    dat_extension_op(DAT_HANDLE_NULL, (DAT_EXTENDED_OP)DAT_IB_OPEN_QUERY_OP, \
                     (DAT_NAME_PTR)(name), (DAT_HANDLE *)(ia_handle), \
                     (DAT_IA_ATTR_MASK)(ia_mask), (DAT_IA_ATTR *)(ia_attr), \
                     (DAT_PROVIDER_ATTR_MASK)(prov_mask), (DAT_PROVIDER_ATTR *)(prov_attr))

#define dat_ib_close_query(ia_handle) \
    dat_extension_op((DAT_HANDLE)(ia_handle), (DAT_EXTENDED_OP)DAT_IB_CLOSE_QUERY_OP)

#define dat_ib_collective_create_member(ia_handle, progress_func, member, member_size) \
    dat_extension_op((DAT_IA_HANDLE)(ia_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_CREATE_MEMBER_OP, \
                     (void *)(progress_func), (DAT_IB_COLLECTIVE_MEMBER *)(member), \
                     (DAT_UINT32 *)(member_size))

#define dat_ib_collective_free_member(ia_handle, member) \
    dat_extension_op((DAT_IA_HANDLE)(ia_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_FREE_MEMBER_OP, \
                     (DAT_IB_COLLECTIVE_MEMBER)(member))

#define dat_ib_collective_create_group(members, group_size, self, group_id, group_info, evd, \
        pd, user_context) \
    dat_extension_op((DAT_EVD_HANDLE)(evd), (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_CREATE_GROUP_OP, \
                     (DAT_IB_COLLECTIVE_MEMBER *)(members), (DAT_COUNT)(group_size), \
                     (DAT_IB_COLLECTIVE_RANK)(self), (DAT_IB_COLLECTIVE_ID)(group_id), \
                     (DAT_IB_COLLECTIVE_GROUP *)(group_info), (DAT_PZ_HANDLE)(pd), \
                     (user_context))

#define dat_ib_collective_free_group(coll_handle) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_FREE_GROUP_OP)

#define dat_ib_collective_set_clock(coll_handle, clock_value, user_context) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_SET_CLOCK_OP, (DAT_UINT64)(clock_value), \
                     (user_context))

#define dat_ib_collective_read_clock(coll_handle, clock_value) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_READ_CLOCK_OP, \
                     (DAT_UINT64 *)(clock_value))

#define dat_ib_collective_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root, \
        user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_SCATTER_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
                     (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_scatterv(coll_handle, sendbuf, sendsizes, displs, recvbuf, recvsize, \
        root, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_SCATTERV_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT *)(sendsizes), (DAT_COUNT *)(displs), (DAT_PVOID)(recvbuf), \
                     (DAT_COUNT)(recvsize), (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_gather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, root, \
        user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_GATHER_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
                     (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_gatherv(coll_handle, sendbuf, sendsize, recvbufs, recvsizes, displs, \
        root, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_GATHERV_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbufs), (DAT_COUNT *)(recvsizes), \
                     (DAT_COUNT *)(displs), (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_allgather(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
        user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLGATHER_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
                     (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_allgatherv(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, \
        displs, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLGATHERV_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT *)(recvsizes), \
                     (DAT_COUNT *)(displs), (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_alltoall(coll_handle, sendbuf, sendsize, recvbuf, recvsize, \
        user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLTOALL_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
                     (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_alltoallv(coll_handle, sendbuf, sendsizes, senddspls, recvbuf, \
        recvsizes, recvdispls, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLTOALLV_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT *)(sendsizes), (DAT_COUNT *)(senddspls), (DAT_PVOID)(recvbuf), \
                     (DAT_COUNT *)(recvsizes), (DAT_COUNT *)(recvdispls), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_reduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
        root, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_REDUCE_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
                     (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (DAT_IB_COLLECTIVE_RANK)(root), \
                     (user_context), (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_allreduce(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, \
        type, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_ALLREDUCE_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
                     (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_reduce_scatter(coll_handle, sendbuf, sendsize, recvbuf, recvsizes, \
        op, type, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_REDUCE_SCATTER_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT *)(recvsizes), \
                     (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_scan(coll_handle, sendbuf, sendsize, recvbuf, recvsize, op, type, \
        user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_SCAN_OP, (DAT_PVOID)(sendbuf), \
                     (DAT_COUNT)(sendsize), (DAT_PVOID)(recvbuf), (DAT_COUNT)(recvsize), \
                     (DAT_IB_COLLECTIVE_REDUCE_DATA_OP)(op), \
                     (DAT_IB_COLLECTIVE_DATA_TYPE)(type), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_broadcast(coll_handle, buf, size, root, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_BROADCAST_OP, (DAT_PVOID)(buf), \
                     (DAT_COUNT)(size), (DAT_IB_COLLECTIVE_RANK)(root), (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_collective_barrier(coll_handle, user_context, flags) \
    dat_extension_op((DAT_IB_COLLECTIVE_HANDLE)(coll_handle), \
                     (DAT_EXTENDED_OP)DAT_IB_COLLECTIVE_BARRIER_OP, (user_context), \
                     (DAT_COMPLETION_FLAGS)(flags))

#define dat_ib_post_recv_ud dat_ep_post_recv
#define dat_query_counters dat_ib_query_counters
#define dat_print_counters dat_ib_print_counters

@dat_strerror_extension@
static __inline__ DAT_RETURN dat_strerror_extension(DAT_IB_RETURN value, const char **message)
{
    const char *minor_message;

    switch (value) {
    case DAT_IB_ERR:
        *message = "DAT_IB_ERR";
        return DAT_SUCCESS;
    case DAT_IB_COLLECTIVE_ERR:
        *message = "DAT_IB_COLLECTIVE_ERR";
        return DAT_SUCCESS;
    default:
        return dat_strerror(value, message, &minor_message);
    }
}

/* Returns the name of an extension event status. */
static __inline__ DAT_RETURN dat_strerror_ext_status(DAT_IB_STATUS value, const char **message)
{
    switch (value) {
    case DAT_OP_SUCCESS:
        *message = "DAT_OP_SUCCESS";
        return DAT_SUCCESS;
    case DAT_IB_OP_ERR:
        *message = "DAT_IB_OP_ERR";
        return DAT_SUCCESS;
    case DAT_IB_COLL_COMP_ERR:
        *message = "DAT_IB_COLL_COMP_ERR";
        return DAT_SUCCESS;
    default:
        *message = "not a status of the InfiniBand extensions";
        return DAT_INVALID_PARAMETER;
    }
}
