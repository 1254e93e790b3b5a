//! Alerts in files.

use std::path::Path;

use fairway_insight::{Alerts, alerts};

use super::object;

/// What is firing, as a monitoring answered; `None` where there is no such file.
pub(super) fn recorded_in(path: &Path) -> Option<Alerts> {
    let bytes = match object::bytes(path) {
        Ok(bytes) => bytes?,
        Err(error) => return Some(Alerts::Unreadable(format!("{error:#}"))),
    };
    Some(match alerts::read(&bytes) {
        Ok(alerts) => Alerts::Known(alerts),
        Err(error) => Alerts::Unreadable(format!("{}: {error}", path.display())),
    })
}
