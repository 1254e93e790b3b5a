//! What time it is: the one place of this crate that asks.
#![expect(clippy::disallowed_methods, reason = "a check has a deadline")]

use jiff::Timestamp;

pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
