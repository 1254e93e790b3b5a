//! Events: what people are told about an object.

/// Where events are about objects without a namespace. Old API servers take such an event only if
/// the object is said to be there, too.
pub(crate) const NAMESPACE: &str = "default";
