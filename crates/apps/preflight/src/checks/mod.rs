//! The checks, a file for each.

mod admin_gates;
mod custom_resources;
mod drain;
mod etcd;
#[cfg(test)]
mod ground;
mod images;
mod network_type;
mod nodes;
mod olm_apis;
mod olm_maximum;
mod operators;
mod removed_apis;
mod skew;

use crate::check::BuiltIn;
use crate::settings::ImageSettings;

/// All of them, in the order of their names.
pub fn all(images: &ImageSettings) -> Vec<Box<dyn BuiltIn>> {
    vec![
        Box::new(admin_gates::AdminGates),
        Box::new(custom_resources::CustomResources),
        Box::new(drain::Drain),
        Box::new(etcd::Etcd),
        Box::new(images::Images::new(images)),
        Box::new(network_type::NetworkType),
        Box::new(nodes::Nodes),
        Box::new(olm_apis::OlmApis),
        Box::new(olm_maximum::OlmMaximum),
        Box::new(operators::Operators),
        Box::new(removed_apis::RemovedApis),
        Box::new(skew::Skew),
    ]
}
