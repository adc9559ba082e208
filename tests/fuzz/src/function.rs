//! The functions of the API, with the kinds of their arguments.

use std::sync::atomic::AtomicU64;

use crate::argument::{Argument, Layout, Room};
use crate::pool::{Kind, Pool};
use fastrand::Rng;

/// A function of a library.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) address: unsafe extern "C-unwind" fn(),
    pub(crate) layout: Layout,
    /// How often it is called, compared to others.
    pub(crate) weight: u64,
    arguments: Vec<Argument>,
    /// How often it was called, and how often it succeeded.
    pub(crate) calls: AtomicU64,
    pub(crate) done: AtomicU64,
}

/// The largest number of argument words of a function.
pub(crate) const MOST: usize = 14;

/// The arguments of a call.
pub(crate) struct Call {
    values: Vec<u64>,
    _rooms: Vec<Room>,
}

impl Call {
    /// A call with these words.
    pub(crate) fn of(values: Vec<u64>) -> Self {
        Self { values, _rooms: Vec::new() }
    }

    /// The words of the arguments.
    pub(crate) fn arguments(&self) -> &[u64] {
        &self.values
    }

    /// Remembers the handles that a call returned.
    pub(crate) fn learn(&self, function: &Function, pool: &Pool) {
        let mut at = 0;
        for argument in &function.arguments {
            if let Argument::OutHandle(kind) = argument {
                let place = std::ptr::with_exposed_provenance::<u64>(self.values[at] as usize);
                if !place.is_null() {
                    // SAFETY: the call accepted the address, so it belongs to a room of this call.
                    let left = unsafe { place.read_unaligned() };
                    let left = if *kind == Kind::Context { left & 0xffff_ffff } else { left };
                    pool.learn(*kind, left);
                }
            }
            at += argument.words();
        }
        // An event may contain a connection request.
        if function.name == "dat_evd_dequeue" || function.name == "dat_evd_wait" {
            let at = if function.name == "dat_evd_wait" { 3 } else { 1 };
            let event = std::ptr::with_exposed_provenance::<[u64; 6]>(self.values[at] as usize);
            // SAFETY: the call accepted the address of a room of this call, and every event has at
            // least that size.
            let event = unsafe { event.read_unaligned() };
            if event[0] as u32 == 0x2001 {
                pool.learn(Kind::Cr, event[5]);
            }
        }
    }
}

impl Function {
    pub(crate) fn new(
        name: &'static str,
        address: unsafe extern "C-unwind" fn(),
        layout: Layout,
        words: &str,
    ) -> Self {
        let arguments = words.split_whitespace().map(argument).collect();
        Self {
            name,
            address,
            layout,
            weight: weight(name),
            arguments,
            calls: AtomicU64::new(0),
            done: AtomicU64::new(0),
        }
    }

    /// Chooses random arguments.
    pub(crate) fn prepare(&self, pool: &Pool, random: &mut Rng) -> Call {
        let (mut values, mut rooms) = (Vec::with_capacity(MOST), Vec::with_capacity(MOST));
        for argument in &self.arguments {
            argument.make(pool, self.layout, random, &mut values, &mut rooms);
        }
        Call { values, _rooms: rooms }
    }
}

/// Functions that free objects are called seldom and functions that create them often, so that the
/// others have live objects.
fn weight(name: &str) -> u64 {
    match name {
        "dat_ia_close" => 1,
        "dat_ia_openv" => 3,
        "dat_registry_list_providers" => 5,
        _ if name.ends_with("_free") => 8,
        "dat_ep_disconnect" | "dat_evd_set_unwaitable" | "dat_evd_resize" => 8,
        _ if name.contains("_create") => 80,
        "dat_ep_connect" | "dat_psp_create" | "dat_cr_accept" => 300,
        "dat_evd_dequeue" => 600,
        _ if name.contains("_post_") => 100,
        _ => 40,
    }
}

/// The argument that a word in the tables below denotes.
fn argument(word: &str) -> Argument {
    let (word, is_out) = match word.strip_prefix('>') {
        Some(word) => (word, true),
        None => (word, false),
    };
    let (word, is_optional) = match word.strip_suffix('?') {
        Some(word) => (word, true),
        None => (word, false),
    };
    let kind = match word {
        "ia" => Kind::Ia,
        "pz" => Kind::Pz,
        "lmr" => Kind::Lmr,
        "rmr" => Kind::Rmr,
        "evd" => Kind::Evd,
        "cno" => Kind::Cno,
        "ep" => Kind::Ep,
        "psp" => Kind::Psp,
        "rsp" => Kind::Rsp,
        "csp" => Kind::Csp,
        "cr" => Kind::Cr,
        "srq" => Kind::Srq,
        "context" => Kind::Context,
        other => return plain(other, is_optional),
    };
    match (is_out, is_optional) {
        (true, _) => Argument::OutHandle(kind),
        (false, true) => Argument::OptionalHandle(kind),
        (false, false) => Argument::Handle(kind),
    }
}

fn plain(word: &str, is_optional: bool) -> Argument {
    match word {
        "out" => Argument::Out,
        "in" if is_optional => Argument::OptionalIn,
        "in" => Argument::In,
        "iov" => Argument::Iov,
        "remote" => Argument::Remote,
        "bytes" => Argument::Bytes,
        "region" => Argument::Region,
        "address" => Argument::Address,
        "name" => Argument::Name,
        "list" => Argument::List,
        "n" => Argument::Small,
        "size" => Argument::Size,
        "type" => Argument::Type,
        "streams" => Argument::Streams,
        "flags" => Argument::Flags,
        "qualifier" => Argument::Qualifier,
        "patience" => Argument::Patience,
        "timeout" => Argument::Timeout,
        "version" => Argument::Version,
        "code" => Argument::Code,
        "comm" => Argument::Comm,
        "change" => Argument::Change,
        "mask" => Argument::Mask,
        "any" => Argument::Any,
        "agent" => Argument::Agent,
        other => unreachable!("{other:?} is not an argument of the tables"),
    }
}

/// Functions with the same arguments in both versions.
pub(crate) const BOTH: &[(&str, &str)] = &[
    ("dat_ia_openv", "name size >evd >ia version version n"),
    ("dat_ia_query", "ia >evd mask out mask out"),
    ("dat_ia_close", "ia type"),
    ("dat_set_consumer_context", "ep any"),
    ("dat_get_consumer_context", "evd out"),
    ("dat_get_handle_type", "lmr out"),
    ("dat_cr_query", "cr mask out"),
    ("dat_cr_accept", "cr ep? n bytes"),
    ("dat_cr_handoff", "cr qualifier"),
    ("dat_evd_resize", "evd n"),
    ("dat_evd_post_se", "evd in"),
    ("dat_evd_dequeue", "evd out"),
    ("dat_evd_query", "evd mask out"),
    ("dat_evd_free", "evd"),
    ("dat_evd_create", "ia size cno? streams >evd"),
    ("dat_evd_modify_cno", "evd cno?"),
    ("dat_evd_enable", "evd"),
    ("dat_evd_wait", "evd timeout type out out"),
    ("dat_evd_disable", "evd"),
    ("dat_evd_set_unwaitable", "evd"),
    ("dat_evd_clear_unwaitable", "evd"),
    ("dat_ep_create", "ia pz evd? evd? evd? in? >ep"),
    ("dat_ep_query", "ep mask out"),
    ("dat_ep_modify", "ep change"),
    ("dat_ep_connect", "ep address qualifier patience n bytes type type"),
    ("dat_ep_dup_connect", "ep ep patience n bytes type"),
    ("dat_ep_disconnect", "ep n"),
    ("dat_ep_post_send", "ep type iov any flags"),
    ("dat_ep_post_recv", "ep type iov any flags"),
    ("dat_ep_post_rdma_read", "ep type iov any remote flags"),
    ("dat_ep_post_rdma_write", "ep type iov any remote flags"),
    ("dat_ep_get_status", "ep out out out"),
    ("dat_ep_free", "ep"),
    ("dat_ep_reset", "ep"),
    ("dat_ep_create_with_srq", "ia pz evd? evd? evd? srq in? >ep"),
    ("dat_ep_recv_query", "ep out out"),
    ("dat_ep_set_watermark", "ep n n"),
    ("dat_lmr_query", "lmr mask out"),
    ("dat_lmr_free", "lmr"),
    ("dat_lmr_sync_rdma_read", "ia iov n"),
    ("dat_lmr_sync_rdma_write", "ia iov n"),
    ("dat_rmr_create", "pz >rmr"),
    ("dat_rmr_query", "rmr mask out"),
    ("dat_rmr_free", "rmr"),
    ("dat_psp_create", "ia qualifier evd type >psp"),
    ("dat_psp_create_any", "ia out evd type >psp"),
    ("dat_psp_query", "psp mask out"),
    ("dat_psp_free", "psp"),
    ("dat_rsp_create", "ia qualifier ep? evd >rsp"),
    ("dat_rsp_query", "rsp mask out"),
    ("dat_rsp_free", "rsp"),
    ("dat_pz_create", "ia >pz"),
    ("dat_pz_query", "pz mask out"),
    ("dat_pz_free", "pz"),
    ("dat_srq_create", "ia pz in >srq"),
    ("dat_srq_free", "srq"),
    ("dat_srq_post_recv", "srq type iov any"),
    ("dat_srq_query", "srq mask out"),
    ("dat_srq_resize", "srq n"),
    ("dat_srq_set_lw", "srq n"),
    ("dat_cno_create", "ia agent >cno"),
    ("dat_cno_modify_agent", "cno agent"),
    ("dat_cno_query", "cno mask out"),
    ("dat_cno_free", "cno"),
    ("dat_cno_wait", "cno timeout >evd"),
    ("dat_strerror", "code out out"),
    ("dat_registry_list_providers", "n out list"),
    ("dats_get_ia_handle", "ia out"),
];

/// Functions of DAT 1.2 whose arguments changed later.
pub(crate) const ONE: &[(&str, &str)] = &[
    ("dat_cr_reject", "cr"),
    ("dat_lmr_create", "ia type region pz flags >lmr >context >context out out"),
    ("dat_rmr_bind", "rmr iov flags ep any flags >context"),
];

/// Functions of DAT 2.0 that are new or have different arguments.
pub(crate) const TWO: &[(&str, &str)] = &[
    ("dat_cr_reject", "cr n bytes"),
    ("dat_lmr_create", "ia type region pz flags type >lmr >context >context out out"),
    ("dat_rmr_bind", "rmr lmr iov flags type ep any flags >context"),
    ("dat_csp_create", "ia comm address evd >csp"),
    ("dat_csp_query", "csp mask out"),
    ("dat_csp_free", "csp"),
    ("dat_ep_common_connect", "ep address patience n bytes"),
    ("dat_ep_post_send_with_invalidate", "ep type iov any flags n context"),
    ("dat_ep_post_rdma_read_to_rmr", "ep remote any remote flags"),
    ("dat_rmr_create_for_ep", "pz >rmr"),
    ("dat_cno_fd_create", "ia out >cno"),
    ("dat_cno_trigger", "cno >evd"),
    ("dat_registry_providers_related", "name name out"),
];
