//! Create, update and patch.

use serde_json::json;

use super::{Cluster, line};
use crate::api::PatchType::Merge;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const MAP: &str = "/api/v1/namespaces/default/configmaps/a";

fn with_map() -> Cluster {
    let cluster = Cluster::new();
    cluster.made(MAPS, &json!({ "metadata": { "name": "a" }, "data": { "x": "y" } }));
    cluster
}

#[test]
fn update_of_lease_creates_it_and_requires_resource_version() {
    let cluster = Cluster::new();
    let leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
    let lease =
        |holder: &str| json!({ "metadata": { "name": "l" }, "spec": { "holderIdentity": holder } });
    assert_eq!(cluster.put(leases, &lease("a")).0, 201);
    assert_eq!(
        line(&cluster.put(leases, &lease("b"))),
        "422 Invalid: leases.coordination.k8s.io \"l\" is invalid: metadata.resourceVersion: \
         Invalid value: 0x0: must be specified for an update"
    );
}

#[test]
fn patch_by_concurrent_writers_keeps_all_changes() {
    let cluster = with_map();
    std::thread::scope(|scope| {
        for writer in 0..8 {
            let cluster = &cluster;
            scope.spawn(move || {
                for count in 0..20 {
                    let patch = json!({ "data": { format!("k{writer}-{count}"): "v" } });
                    assert_eq!(cluster.patch(MAP, Merge, &patch).0, 200);
                }
            });
        }
    });
    assert_eq!(cluster.get(MAP).1["data"].as_object().unwrap().len(), 8 * 20 + 1);
}
