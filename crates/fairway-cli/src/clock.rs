//! The one place where commands read the clock.
#![expect(clippy::disallowed_methods, reason = "reports say how old something is")]

use jiff::Timestamp;

/// The present time.
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
