//! Built-in checks.

mod admin_gates;
mod custom_resources;
mod drain;
mod etcd;
mod images;
mod network_type;
mod nodes;
mod olm_apis;
mod olm_maximum;
mod operators;
mod removed_apis;
mod skew;

use crate::check::BuiltInCheck;
use crate::settings::ImageSettings;

/// All built-in checks, by name.
pub fn all(images: &ImageSettings) -> Vec<Box<dyn BuiltInCheck>> {
    vec![
        Box::new(admin_gates::CHECK),
        Box::new(custom_resources::CustomResources),
        Box::new(drain::CHECK),
        Box::new(etcd::CHECK),
        Box::new(images::Images::new(images)),
        Box::new(network_type::CHECK),
        Box::new(nodes::CHECK),
        Box::new(olm_apis::CHECK),
        Box::new(olm_maximum::CHECK),
        Box::new(operators::CHECK),
        Box::new(removed_apis::RemovedApis),
        Box::new(skew::CHECK),
    ]
}
