//! The optional secret that both sides share.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use dat_provider::error::{Error, Result, ReturnType, Subtype};
use hmac::{Hmac, Mac};
use sha2::Sha256;

/// Length of a nonce, in bytes.
pub(super) const NONCE: usize = 16;
/// Length of a proof, in bytes.
pub(super) const PROOF: usize = 32;
/// Minimum length of a secret, in bytes.
const MIN_LENGTH: usize = 16;
/// Maximum length of a secret, in bytes.
const MAX_LENGTH: usize = 4096;

/// A number that is used only once.
pub type Nonce = [u8; NONCE];

/// A key that both sides know. It is never printed.
#[derive(Clone)]
pub struct Secret(Arc<[u8]>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// The side that proves that it knows the secret.
#[derive(Clone, Copy)]
pub(super) enum Role {
    Active,
    Passive,
}

impl Secret {
    /// A secret of 16 to 4096 bytes; `None` for any other length.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (MIN_LENGTH..=MAX_LENGTH).contains(&bytes.len()).then(|| Self(bytes.into()))
    }

    /// Reads a secret from a file; a line feed at its end is ignored.
    ///
    /// # Errors
    /// `DAT_INVALID_PARAMETER` if the file cannot be read or its length is out of range.
    pub fn read(path: &Path) -> Result<Self> {
        let invalid = |why: String| {
            Error::new(ReturnType::InvalidParameter, Subtype::NoSubtype)
                .because(format!("secret={}: {why}", path.display()))
                .advise("create one with `head -c 32 /dev/urandom | base64`")
        };
        let bytes = std::fs::read(path).map_err(|error| invalid(error.to_string()))?;
        let text = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        Self::new(text).ok_or_else(|| {
            invalid(format!("{} bytes; a secret has {MIN_LENGTH} to {MAX_LENGTH}", text.len()))
        })
    }

    fn mac(&self, role: Role, nonces: [&Nonce; 2], hello: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = <Hmac<Sha256> as Mac>::new_from_slice(&self.0).ok()?;
        mac.update(match role {
            Role::Active => b"dat active side  ",
            Role::Passive => b"dat passive side ",
        });
        mac.update(nonces[0]);
        mac.update(nonces[1]);
        mac.update(hello);
        Some(mac)
    }

    /// Computes a proof. `nonces` are those of the active and of the passive side.
    pub(super) fn prove(&self, role: Role, nonces: [&Nonce; 2], hello: &[u8]) -> [u8; PROOF] {
        self.mac(role, nonces, hello).map_or([0; PROOF], |mac| mac.finalize().into_bytes().into())
    }

    /// Returns true if a proof is correct, which is checked in constant time.
    pub(super) fn is_proved(
        &self,
        role: Role,
        nonces: [&Nonce; 2],
        hello: &[u8],
        proof: &[u8],
    ) -> bool {
        self.mac(role, nonces, hello).is_some_and(|mac| mac.verify_slice(proof).is_ok())
    }
}

/// A new nonce.
pub(crate) fn nonce() -> Result<Nonce> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(|error| {
        Error::new(ReturnType::InsufficientResources, Subtype::NoSubtype)
            .because("the kernel returns no random bytes")
            .errno(error.raw_os_error().unwrap_or(0))
    })?;
    Ok(nonce)
}
