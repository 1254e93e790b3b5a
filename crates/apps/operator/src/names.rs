//! Names of the operator's own objects.

use fairway_release::ObjectId;

/// Name of the operator's Deployment, of its component in a release, and of its event source.
pub(crate) const OPERATOR: &str = "cluster-version-operator";

/// Namespace of the operator's Deployment.
const NAMESPACE: &str = "openshift-cluster-version";

/// Whether an object is the operator's own Deployment.
pub(crate) fn is_the_operator(id: &ObjectId) -> bool {
    let ObjectId { group, kind, namespace, name } = id;
    let id = (group.as_str(), kind.as_str(), namespace.as_str(), name.as_str());
    id == ("apps", "Deployment", NAMESPACE, OPERATOR)
}
