//! What time it is: the one place of this crate that asks.
#![expect(clippy::disallowed_methods, reason = "a status says since when something holds")]

use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
