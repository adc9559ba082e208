//! Private data of a request, a reply and a rejection over RDMA, and the addresses of memory that programs exchange.

#![cfg_attr(fuzzing, no_main)]

use dat_fuzz_targets::Input;
use dat_provider::triplet::RmrTriplet;
use dat_provider_verbs::fuzz;

/// The kernel does not pass on more.
const MOST: usize = 512;

fn run(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let reason = input.one_of(&[8, 28, 104, 111, 0, u32::MAX]);
    let data = input.rest();
    let data = &data[..data.len().min(MOST)];
    if let Some((rest, mut composed)) = fuzz::datagram_request(data) {
        assert!(rest.len() <= data.len());
        // The port of a request back has no meaning.
        if composed[5] == 2 {
            composed[6..8].copy_from_slice(&data[6..8]);
        }
        assert_eq!(composed, data);
    }
    if let Some(rest) = fuzz::rejection(reason, data) {
        assert_eq!(rest, &data[4..]);
    }
    let composed = fuzz::compose_rejection(data);
    assert_eq!(fuzz::rejection(28, &composed), Some(data));
    if let Some(remote) = RmrTriplet::from_bytes(data) {
        assert_eq!(remote.to_bytes()[..], data[..RmrTriplet::BYTES]);
    }
}

dat_fuzz_targets::target!(run);
