//! The condition `ImplicitlyEnabledCapabilities`, and the capabilities themselves.

use std::collections::BTreeSet;

use fairway_api::cluster_version::CapabilitiesStatus;
use fairway_api::reason::implicitly_enabled_capabilities as implicit;
use fairway_api::{OperatorCondition, limits};

use crate::stage::target::Capabilities;

/// Whether capabilities are on that nobody asked for: what is in use is not turned off.
pub(in super::super) fn condition(capabilities: &Capabilities) -> OperatorCondition {
    if capabilities.implicit.is_empty() {
        return OperatorCondition::new(implicit::TYPE, false)
            .reason(implicit::AS_EXPECTED)
            .message("Capabilities match configured spec");
    }
    let names: Vec<&str> = capabilities.implicit.iter().map(String::as_str).collect();
    OperatorCondition::new(implicit::TYPE, true)
        .reason(implicit::CAPABILITIES_IMPLICITLY_ENABLED)
        .message(format!("The following capabilities could not be disabled: {}", names.join(", ")))
}

/// The capabilities, as a status shows them. Names that no server takes are left out: otherwise it
/// takes nothing at all.
pub(in super::super) fn status(
    before: Option<CapabilitiesStatus>,
    capabilities: &Capabilities,
) -> CapabilitiesStatus {
    let is_legal = |name: &&String| (1..=limits::CAPABILITY).contains(&name.chars().count());
    let names = |set: &BTreeSet<String>| {
        set.iter().filter(is_legal).take(limits::CAPABILITIES).cloned().collect()
    };
    CapabilitiesStatus {
        enabled_capabilities: names(&capabilities.enabled),
        known_capabilities: names(&capabilities.known),
        ..before.unwrap_or_default()
    }
}
