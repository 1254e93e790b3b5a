//! What servers of HTTP share: certificates that are loaded again when their files change, and
//! connections whose other end has only so much time.

mod patience;
mod tls;

pub use patience::Patience;
pub use tls::{Certificate, TlsError, TlsFiles};
