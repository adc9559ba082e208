//! Sockets over RDMA (rsocket(7)). They carry streams of bytes, which plain sockets do as well where there is no RDMA
//! device: all calls fail with `ENOSYS`, and programs fall back to sockets if they can.

use crate::guard::{Failure, refused, set_errno};

fn refuse(name: &str) -> isize {
    let name = name.trim_start_matches("soft_");
    let text = format!("cannot call {name}: there are no sockets over RDMA; use plain ones");
    let Failure(errno) = refused(libc::ENOSYS, text);
    set_errno(errno);
    -1
}

macro_rules! refused {
    ($($name:ident)+) => {$(
        /// Fails with `ENOSYS`. The result is -1, of any width.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> isize {
            refuse(stringify!($name))
        }
    )+};
}

refused! {
    soft_raccept soft_rbind soft_rclose soft_rconnect soft_rfcntl soft_rgetpeername soft_rgetsockname
    soft_rgetsockopt soft_riomap soft_riounmap soft_riowrite soft_rlisten soft_rpoll soft_rread soft_rreadv
    soft_rrecv soft_rrecvfrom soft_rrecvmsg soft_rselect soft_rsend soft_rsendmsg soft_rsendto soft_rsetsockopt
    soft_rshutdown soft_rsocket soft_rwrite soft_rwritev
}
