//! Signatures of images: a message, signed with OpenPGP, that names the digest of a manifest.
//!
//! * A [`Keyring`] is whom somebody trusts. It verifies a signature and returns the [`Claim`] in
//!   it; `now` is an argument.
//! * A [`Store`] is where signatures are: a directory, or a place on the web.
//! * A [`Verifier`] is all keyrings and stores of a release. It looks for signatures of another one
//!   until each keyring is satisfied, and says what it found if one is not.
//! * [`sign`] makes a signature.
//!
//! This is the one module that knows OpenPGP.

mod certificate;
mod claim;
mod key;
mod keyring;
mod openpgp;
mod search;
mod sign;
mod store;
mod verdict;
mod verifier;

pub use claim::{Claim, ClaimError};
pub use keyring::{Keyring, KeyringError, SignatureError};
pub use sign::{Signed, SigningError, sign};
pub use store::{Store, StoreError};
pub use verdict::{Finding, Satisfied, Unverified, Verified};
pub use verifier::{ClusterSignature, Sources, StoreAddress, Verifier, VerifierError};
