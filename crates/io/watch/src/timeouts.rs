//! Timeouts of long-running clients.

use std::time::Duration;

use kube::Config;

/// Timeout of a response, and of each part of it. `kube::runtime::watcher` renews watches every
/// 290 s and notices a silent one after 295 s; on an idle server nothing arrives before that.
pub const READ_TIMEOUT: Duration = Duration::from_secs(320);

/// Maximum age of a watch: two renewals, which an idle server answers, and a retry. Servers do not
/// have to send bookmarks.
pub const MAX_WATCH_AGE: Duration = Duration::from_mins(10);

/// Sets the read timeout of a client. Without it, a request that an API server or a load balancer
/// accepts and never answers waits for ever: no data is in flight, so TCP does not notice.
#[must_use]
pub fn with_read_timeout(mut config: Config, timeout: Duration) -> Config {
    config.read_timeout = Some(timeout);
    // Otherwise the idle time of a pooled connection counts against the next response.
    config.reset_reader_on_write = true;
    config
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_timeout_is_longer_than_a_silent_watch() {
        let config = Config::new("https://127.0.0.1:1".parse().unwrap());
        let config = with_read_timeout(config, READ_TIMEOUT);
        assert!(config.reset_reader_on_write);
        let silence = Duration::from_secs(290 + 5);
        assert!(config.read_timeout.is_some_and(|timeout| timeout > silence));
        assert!(MAX_WATCH_AGE > 2 * Duration::from_secs(290));
    }
}
