//! APIServices.

use serde_json::Value;

use super::rules::{NOTHING_SPECIAL, Rules};
use super::value::{default, get_mut};
use super::webhook::SERVICE_PORT;

pub(super) const RULES: Rules = Rules { default: set_defaults, ..NOTHING_SPECIAL };

fn set_defaults(service: &mut Value) {
    if let Some(service) = get_mut(service, "spec").and_then(|spec| get_mut(spec, "service")) {
        default(service, "port", SERVICE_PORT);
    }
}
