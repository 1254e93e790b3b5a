//! Requests for tokens.

use serde_json::Value;

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut};

pub(super) const RULES: Rules = Rules { default: set_defaults, ..NOTHING_SPECIAL };

fn set_defaults(request: &mut Value) {
    if let Some(spec) = get_mut(request, "spec") {
        default(spec, "expirationSeconds", 3600);
    }
}
