//! Signatures of images: a message, signed with OpenPGP, that names the digest of a manifest.
//!
//! * A [`Keyring`] is whom somebody trusts. It verifies a signature and returns the [`Claim`] in
//!   it; `now` is an argument.
//! * A [`Store`] is where signatures are: a directory, or a place on the web.
//!
//! This is the one module that knows OpenPGP.

mod claim;
mod key;
mod keyring;
mod store;

pub use claim::{Claim, ClaimError};
pub use keyring::{Keyring, KeyringError, SignatureError};
pub use store::{Store, StoreError};
