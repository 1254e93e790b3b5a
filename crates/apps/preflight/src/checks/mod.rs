//! Built-in checks. Each one reads objects, and judges them in a pure function.
//!
//! | module | content |
//! | --- | --- |
//! | `admin_gates` | admin gates that are not acknowledged |
//! | `custom_resources` | objects that the target release's CRDs would reject |
//! | `drain` | obstacles to draining nodes |
//! | `etcd` | quorum of etcd during the update |
//! | `images` | availability of the images of the target release |
//! | `network_type` | support of the cluster's network plugin |
//! | `nodes` | health and capacity of nodes |
//! | `olm_apis` | OLM operators that use APIs which the target release does not serve |
//! | `olm_maximum` | OLM operators that declare a maximum version below the target |
//! | `operators` | health of ClusterOperators and `MachineConfigPools` |
//! | `removed_apis` | APIs in use that the target release does not serve |
//! | `skew` | versions of kubelet, kernel and container runtime |

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
