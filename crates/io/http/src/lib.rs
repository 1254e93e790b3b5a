//! What those who speak HTTP share: listening with limits, certificates that are loaded again when
//! their files change, connections whose other end has only so much time, and proxies on the way to
//! the outside.

mod listener;
mod patience;
mod proxy;
mod tls;
mod trust;

pub use listener::{Answer, Listener, Secured};
pub use patience::Patience;
pub use proxy::{Proxies, ProxyError};
pub use tls::{Certificate, TlsError, TlsFiles};
pub use trust::trusting_this_machine;
