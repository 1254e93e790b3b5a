//! The certificate of the webhook: a CA and a serving certificate, in a Secret that all replicas share.
//! The leader generates and renews them; every replica serves the current one.
//!
//! A CA signs one certificate, and its key is discarded at once: no stolen key can sign a certificate
//! of the webhook later.

mod generation;
mod maintain;
mod plan;
mod serve;
mod stored;

pub(crate) use maintain::{CertificateMaintainer, maintain};
pub(crate) use serve::{CertificateServer, Current, serve};

/// Name of the Secret.
pub(crate) const SECRET: &str = "olm-guard-serving";
