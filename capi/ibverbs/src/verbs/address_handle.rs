//! Address handles (ibv_create_ah(3), ibv_create_ah_from_wc(3)).

use std::ffi::c_int;
use std::sync::Arc;

use dat_soft_verbs::{AddressHandle, AddressVector, WcFlags};
use rdma_verbs::sys::verbs::{
    ibv_ah, ibv_ah_attr, ibv_context, ibv_gid, ibv_global_route, ibv_grh, ibv_pd, ibv_wc,
};

use super::{context, domain};
use crate::guard::{self, Result, in_range, invalid, unsupported};
use crate::object::{self, fields_of, with_fields};

/// The hop limit and traffic class of an answer.
const HOP_LIMIT: u8 = 0xff;

#[repr(C)]
struct Ah {
    c: ibv_ah,
    core: Arc<AddressHandle>,
}

fields_of!(ibv_ah as Ah: core: Arc<AddressHandle>);

/// The address of a C structure.
pub fn vector(from: &ibv_ah_attr) -> AddressVector {
    let grh = &from.grh;
    with_fields!(AddressVector
        of grh: flow_label, sgid_index, hop_limit, traffic_class
        of from: dlid, sl, src_path_bits, static_rate, port_num;
        dgid: grh.dgid.raw, is_global: from.is_global != 0)
}

/// The C structure of an address.
pub fn attributes(from: &AddressVector) -> ibv_ah_attr {
    let grh = with_fields!(ibv_global_route of from: flow_label, sgid_index, hop_limit, traffic_class;
        dgid: ibv_gid { raw: from.dgid });
    with_fields!(ibv_ah_attr of from: dlid, sl, src_path_bits, static_rate, port_num;
        is_global: from.is_global.into(), grh: grh)
}

/// Creates a handle, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_ah(pd: *mut ibv_pd, from: &ibv_ah_attr) -> *mut ibv_ah {
    guard::object(|| {
        // SAFETY: the caller guarantees a live domain.
        let core = unsafe { domain::core(pd) }.create_address_handle(vector(from))?;
        // SAFETY: as above.
        let context = unsafe { domain::context(pd) };
        Ok(object::create(|_| Ok(Ah { c: ibv_ah { context, pd, handle: 0 }, core }))?.cast())
    })
}

/// Destroys a handle: 0 or an errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_destroy_ah(ah: *mut ibv_ah) -> c_int {
    guard::status(|| {
        // SAFETY: the caller guarantees a live handle.
        unsafe { core(ah) }.destroy()?;
        // SAFETY: nothing uses it any more.
        unsafe { object::delete(ah.cast::<Ah>()) };
        Ok(())
    })
}

/// The address of the sender of a datagram: its GIDs come from the header, whose last 20 bytes are an IPv4 header if
/// both addresses are IPv4 ones.
///
/// # Safety
/// The context must be open.
unsafe fn sender(
    context: *mut ibv_context,
    port: u8,
    wc: &ibv_wc,
    header: &ibv_grh,
) -> Result<ibv_ah_attr> {
    if wc.wc_flags & WcFlags::GRH.bits() == 0 {
        return Err(invalid("cannot answer a message without a global header (IBV_WC_GRH)"));
    }
    let (source, destination, flow) = gids(header);
    // SAFETY: the caller guarantees an open context.
    let table = unsafe { context::core(context) }.gids();
    let index = table.iter().position(|entry| entry.gid == destination).unwrap_or(0);
    Ok(ibv_ah_attr {
        grh: ibv_global_route {
            dgid: ibv_gid { raw: source },
            flow_label: flow & 0xf_ffff,
            sgid_index: in_range(index, "the index of a GID")?,
            hop_limit: HOP_LIMIT,
            traffic_class: (flow >> 20) as u8,
        },
        sl: wc.sl,
        is_global: 1,
        port_num: port,
        ..ibv_ah_attr::default()
    })
}

/// The GIDs of the source and the destination, and the first word of an IPv6 header.
fn gids(header: &ibv_grh) -> ([u8; 16], [u8; 16], u32) {
    let flow = u32::from_be(header.version_tclass_flow);
    if flow >> 28 == 6 {
        return (header.sgid.raw, header.dgid.raw, flow);
    }
    let mapped = |bytes: &[u8]| {
        let mut gid = [0; 16];
        gid[10..12].fill(0xff);
        gid[12..].copy_from_slice(bytes);
        gid
    };
    // The last 20 of the 40 bytes are the IPv4 header; its addresses are its last eight bytes.
    (mapped(&header.dgid.raw[8..12]), mapped(&header.dgid.raw[12..16]), 0)
}

/// The address from which a datagram came: 0, or -1 with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_init_ah_from_wc(
    context: *mut ibv_context,
    port: u8,
    wc: &ibv_wc,
    header: *mut ibv_grh,
    into: *mut ibv_ah_attr,
) -> c_int {
    guard::number(|| {
        if header.is_null() {
            return Err(invalid("cannot answer a message whose global header is null"));
        }
        // SAFETY: the caller guarantees the header; it is in the program's buffer, at any address.
        let header = unsafe { header.read_unaligned() };
        // SAFETY: the caller guarantees an open context.
        let address = unsafe { sender(context, port, wc, &header) }?;
        // SAFETY: the caller guarantees the structure.
        unsafe { into.write(address) };
        Ok(0)
    })
}

/// Creates a handle for the sender of a datagram, or returns null with errno.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ibv_create_ah_from_wc(
    pd: *mut ibv_pd,
    wc: &ibv_wc,
    header: *mut ibv_grh,
    port: u8,
) -> *mut ibv_ah {
    let mut address = ibv_ah_attr::default();
    // SAFETY: the caller guarantees a live domain.
    let context = unsafe { domain::context(pd) };
    // SAFETY: the caller guarantees the same.
    if unsafe { ibv_init_ah_from_wc(context, port, wc, header, &raw mut address) } != 0 {
        return std::ptr::null_mut();
    }
    // SAFETY: as above.
    unsafe { ibv_create_ah(pd, &address) }
}

/// The Ethernet address and the VLAN of a destination, which only raw packets need: refused with `EOPNOTSUPP`.
#[unsafe(no_mangle)]
pub extern "C" fn ibv_resolve_eth_l2_from_gid(
    _context: *mut ibv_context,
    _attributes: *mut ibv_ah_attr,
    _mac: *mut u8,
    _vlan: *mut u16,
) -> c_int {
    guard::number(|| Err(unsupported("the peer has no Ethernet address: there are no raw packets")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_the_conversion_to_c_and_back() {
        let address = AddressVector {
            dgid: [7; 16],
            flow_label: 5,
            sgid_index: 3,
            hop_limit: 64,
            traffic_class: 9,
            dlid: 11,
            sl: 2,
            src_path_bits: 1,
            static_rate: 3,
            is_global: true,
            port_num: 1,
        };
        assert_eq!(vector(&attributes(&address)), address);
    }

    #[test]
    fn the_addresses_of_an_ipv4_header_become_mapped_gids() {
        let mut header = ibv_grh::default();
        header.dgid.raw[8..16].copy_from_slice(&[192, 0, 2, 1, 192, 0, 2, 2]);
        let (source, destination, _) = gids(&header);
        assert_eq!(source[10..], [0xff, 0xff, 192, 0, 2, 1]);
        assert_eq!(destination[10..], [0xff, 0xff, 192, 0, 2, 2]);
        header.version_tclass_flow = (6_u32 << 28 | 3 << 20 | 4).to_be();
        assert_eq!(gids(&header).0, header.sgid.raw);
    }
}
