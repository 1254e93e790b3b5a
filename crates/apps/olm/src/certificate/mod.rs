//! What the webhook proves itself with: an authority of its own and a certificate, in a Secret that
//! all guards share. The one that writes makes and renews them; all of them serve what is there.
//!
//! An authority signs one certificate, and its key is forgotten at once: there is nothing to steal
//! that would let somebody be the webhook after the certificate has expired.

mod generation;
mod keep;
mod plan;
mod serve;
mod stored;

pub(crate) use keep::{Keeper, keep};
pub(crate) use serve::{Current, Serving, serve};

/// The Secret.
pub(crate) const SECRET: &str = "olm-guard-serving";
