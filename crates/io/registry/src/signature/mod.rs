//! Signature verification of images: signed OpenPGP messages that name the digest of a manifest.
//!
//! * A [`Keyring`] holds the public keys whose signatures count. It verifies a signature and
//!   returns the [`Claim`] in it; `now` is an argument.
//! * A [`Store`] holds signatures: a directory or a URL.
//! * A [`Verifier`] combines all keyrings and stores of a release. It searches the cluster and the
//!   stores for signatures of another release until each keyring is satisfied.
//! * [`sign()`] makes a signature.
//!
//! No other module uses OpenPGP.
//!
//! | module | content |
//! | --- | --- |
//! | `keyring`, `key`, `certificate` | keyrings, their public keys, and certificates with subkeys |
//! | `claim` | the signed data of an image signature |
//! | `openpgp` | reader for OpenPGP packets and messages |
//! | `store` | signature stores |
//! | `verifier`, `search` | signature verification for all keyrings of a release, and the state of its search |
//! | `verdict` | result of a search |
//! | `sign` | creation of signatures |

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
pub use sign::{ImageSignature, SigningError, sign};
pub use store::{Store, StoreError};
pub use verdict::{KeyringSignature, SignatureFinding, Unverified, Verified};
pub use verifier::{ClusterSignature, SignatureSources, StoreAddress, Verifier, VerifierError};
