//! The age of watches, and timeouts of long-running clients.
//!
//! A process that acts on watched objects must notice when a watch no longer delivers them. A watch
//! is stale if it had no complete list, no successful start, no bookmark and no event for a maximum
//! age. [`WatchMonitors`] publishes the stale watches of a process. A watch reports events and
//! errors to its [`WatchMonitor`], and [`WatchMonitor::observe`] wraps its client, because
//! `kube::runtime::watcher` reports neither starts nor bookmarks.
//!
//! | module | content |
//! | --- | --- |
//! | `age` | the age of a watch, as a value without a clock |
//! | `monitor` | monitors of watches, and publication of the stale ones |
//! | `observe` | a client that reports starts and bookmarks of watches |
//! | `timeouts` | timeouts of long-running clients |

mod age;
mod monitor;
mod observe;
mod timeouts;

pub use age::WatchAge;
pub use monitor::{StaleWatch, StaleWatches, WatchMonitor, WatchMonitors};
pub use timeouts::{MAX_WATCH_AGE, READ_TIMEOUT, with_read_timeout};
