//! What the operator is called in its cluster.

use fairway_release::ObjectId;

/// The operator: its Deployment, its component in a release, and whom its events are from.
pub(crate) const OPERATOR: &str = "cluster-version-operator";

/// Where it runs.
const NAMESPACE: &str = "openshift-cluster-version";

/// Whether an object is the operator's own Deployment.
pub(crate) fn is_the_operator(id: &ObjectId) -> bool {
    let ObjectId { group, kind, namespace, name } = id;
    let id = (group.as_str(), kind.as_str(), namespace.as_str(), name.as_str());
    id == ("apps", "Deployment", NAMESPACE, OPERATOR)
}
