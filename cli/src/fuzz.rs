//! What the command reads of a peer and of files, for the fuzz target of this crate. Each function panics if it finds a
//! fault.

use crate::doctor::{cache, image};
use crate::perf::remote::order::{Message, Order, answered};
use crate::ping::handshake;

/// Reads the private data of the request and of the reply of `dat ping`.
///
/// # Panics
/// A reply that is accepted is not the one that its memory has.
pub fn ping(data: &[u8]) {
    let _ = handshake::check_request(data);
    if let Ok(area) = handshake::check_answer(data) {
        assert!(data.starts_with(&handshake::answer(area)));
    }
}

/// Reads an order and an answer of `dat perf`.
///
/// # Panics
/// An order that is accepted is another one when it is sent again.
pub fn perf(bytes: &[u8]) {
    let message = Message::from_bytes(bytes);
    if let Ok(order) = Order::from_message(&message) {
        let again = Message::from_bytes(&order.to_message().to_bytes());
        assert_eq!(Order::from_message(&again).ok(), Some(order));
    }
    let _ = answered(message);
}

/// Reads the loader cache.
pub fn loader_cache(bytes: &[u8]) -> usize {
    cache::parse(bytes).len()
}

/// Reads the headers of a shared object. Returns whether it defines a symbol, or the error.
///
/// # Errors
/// It is not a shared object.
pub fn image(bytes: &[u8]) -> Result<bool, String> {
    let image = image::Image::parse(bytes)?;
    Ok(image.defines("dat_provider_init") || image.needed.is_empty())
}
