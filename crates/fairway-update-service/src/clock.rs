//! What time it is: the one place of this crate that asks.
#![expect(clippy::disallowed_methods, reason = "a service says since when it serves what")]

use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
