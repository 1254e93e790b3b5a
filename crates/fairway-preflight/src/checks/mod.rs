//! The checks, a file for each.

mod admin_gates;
mod drain;
#[cfg(test)]
mod ground;
mod network_type;
mod nodes;
mod removed_apis;

use crate::check::BuiltIn;
use crate::settings::ImageSettings;

/// All of them, in the order of their names.
pub fn all(_images: &ImageSettings) -> Vec<Box<dyn BuiltIn>> {
    vec![
        Box::new(admin_gates::AdminGates),
        Box::new(drain::Drain),
        Box::new(network_type::NetworkType),
        Box::new(nodes::Nodes),
        Box::new(removed_apis::RemovedApis),
    ]
}
