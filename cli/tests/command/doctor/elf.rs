//! Shared objects of nothing but names: what they need and what they define.

/// The bytes of one, for the processor of this machine.
pub(super) fn shared_object(needed: &[&str], symbols: &[&str]) -> Vec<u8> {
    let machine = match std::env::consts::ARCH {
        "aarch64" => 183,
        "riscv64" => 243,
        "powerpc64" => 21,
        "s390x" => 22,
        _ => 62,
    };
    for_machine(machine, needed, symbols)
}

/// The bytes of one, for the processor of that number.
pub(super) fn for_machine(machine: u16, needed: &[&str], symbols: &[&str]) -> Vec<u8> {
    let mut strings = vec![0];
    let mut name = |text: &str| {
        let at = strings.len() as u64;
        strings.extend(text.bytes().chain([0]));
        at
    };
    let mut dynamic = Vec::new();
    for library in needed {
        dynamic.extend([1, name(library)].map(u64::to_ne_bytes).concat());
    }
    dynamic.extend([0; 16]);
    let mut table = vec![0; 24];
    for symbol in symbols {
        table.extend((name(symbol) as u32).to_ne_bytes());
        // A global function in section 1, at address 1.
        table.extend([0x12, 0]);
        table.extend(1_u16.to_ne_bytes());
        table.extend([1_u64, 0].map(u64::to_ne_bytes).concat());
    }
    const HEADER: usize = 64;
    let mut body = Vec::new();
    let mut place = |bytes: &[u8]| {
        body.resize(body.len().next_multiple_of(8), 0);
        let at = HEADER + body.len();
        body.extend_from_slice(bytes);
        (at as u64, bytes.len() as u64)
    };
    // The type, the place, the section with the strings, and the size of an entry.
    let sections = [
        (0, (0, 0), 0, 0),
        (3, place(&strings), 0, 0),
        (11, place(&table), 1, 24),
        (6, place(&dynamic), 1, 16),
    ];
    body.resize(body.len().next_multiple_of(8), 0);
    let mut object =
        vec![0x7f, b'E', b'L', b'F', 2, if cfg!(target_endian = "big") { 2 } else { 1 }, 1];
    object.resize(16, 0);
    object.extend([3, machine].map(u16::to_ne_bytes).concat());
    object.extend(1_u32.to_ne_bytes());
    object.extend([0, 0, (HEADER + body.len()) as u64].map(u64::to_ne_bytes).concat());
    object.extend(0_u32.to_ne_bytes());
    object.extend([64, 0, 0, 64, sections.len() as u16, 1].map(u16::to_ne_bytes).concat());
    object.extend(body);
    for (kind, (offset, size), link, entry) in sections {
        object.extend([0_u32, kind].map(u32::to_ne_bytes).concat());
        object.extend([0, 0, offset, size].map(u64::to_ne_bytes).concat());
        object.extend([link, u32::from(kind == 11)].map(u32::to_ne_bytes).concat());
        object.extend([8_u64, entry].map(u64::to_ne_bytes).concat());
    }
    object
}
