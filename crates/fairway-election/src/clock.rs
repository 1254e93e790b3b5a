//! What time it is: the one place of this crate that asks.
#![expect(clippy::disallowed_methods, reason = "a lease says when it was renewed")]

use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
