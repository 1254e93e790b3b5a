//! Prerequisites of manifests: kinds and namespaces that another manifest creates.

use std::collections::BTreeMap;

use fairway_apply::WriteError;
use fairway_release::Manifest;
use kube::core::GroupVersionKind;
use tokio::sync::watch;
use tokio::time::Instant;

use super::error::ApplyError;

/// An API group, kind or namespace that a manifest needs and that may become available later.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Prerequisite {
    /// Any kind of an API group.
    Group(String),
    /// A kind, by its group.
    Kind(String, String),
    /// A namespace.
    Namespace(String),
}

impl Prerequisite {
    pub(super) fn kind(kind: &GroupVersionKind) -> Self {
        Self::Kind(kind.group.clone(), kind.kind.clone())
    }

    /// The prerequisite whose absence caused a failed write.
    pub fn missing(manifest: &Manifest, error: &ApplyError) -> Option<Self> {
        match error {
            ApplyError::UnknownKind(kind) => Some(Self::kind(kind)),
            ApplyError::Write(WriteError::Api(kube::Error::Api(status)))
                if status.code == 404
                    && status.details.as_ref().is_some_and(|it| it.kind == "namespaces") =>
            {
                Some(Self::Namespace(manifest.id.namespace.clone()))
            }
            _ => None,
        }
    }
}

/// The time at which each prerequisite last became available.
#[derive(Default)]
pub(super) struct PrerequisiteTracker(watch::Sender<BTreeMap<Prerequisite, Instant>>);

impl PrerequisiteTracker {
    pub(super) fn record(&self, prerequisite: Prerequisite) {
        self.0.send_modify(|prerequisites| {
            prerequisites.insert(prerequisite, Instant::now());
        });
    }

    /// The time at which a prerequisite last became available. A change of the group counts for its kinds.
    pub(super) fn latest(&self, prerequisite: &Prerequisite) -> Option<Instant> {
        latest(&self.0.borrow(), prerequisite)
    }

    /// Waits until a prerequisite becomes available, counted from `since`.
    pub(super) async fn wait(&self, prerequisite: &Prerequisite, since: Instant) {
        let mut prerequisites = self.0.subscribe();
        let arrived = prerequisites.wait_for(|prerequisites| {
            latest(prerequisites, prerequisite).is_some_and(|latest| latest >= since)
        });
        // The sender lives as long as `self`.
        let _ = arrived.await;
    }
}

fn latest(
    prerequisites: &BTreeMap<Prerequisite, Instant>,
    prerequisite: &Prerequisite,
) -> Option<Instant> {
    let group = match prerequisite {
        Prerequisite::Kind(group, _) => prerequisites.get(&Prerequisite::Group(group.clone())),
        Prerequisite::Group(_) | Prerequisite::Namespace(_) => None,
    };
    prerequisites.get(prerequisite).max(group).copied()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use kube::core::Status;
    use kube::core::response::StatusDetails;
    use serde_json::json;

    use super::*;

    fn kind(name: &str) -> Prerequisite {
        Prerequisite::Kind("example.com".to_owned(), name.to_owned())
    }

    #[tokio::test]
    async fn wait_ends_with_own_kind_or_group() {
        let prerequisites = PrerequisiteTracker::default();
        let since = Instant::now();
        let (widget, gadget) = (kind("Widget"), kind("Gadget"));
        let mut widget = std::pin::pin!(prerequisites.wait(&widget, since));
        let mut gadget = std::pin::pin!(prerequisites.wait(&gadget, since));
        prerequisites.record(Prerequisite::Group("other.example.com".to_owned()));
        assert!(widget.as_mut().now_or_never().is_none());
        prerequisites.record(kind("Widget"));
        assert!(widget.now_or_never().is_some());
        assert!(gadget.as_mut().now_or_never().is_none(), "another kind arrived");
        prerequisites.record(Prerequisite::Group("example.com".to_owned()));
        assert!(gadget.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn wait_ignores_earlier_records() {
        let prerequisites = PrerequisiteTracker::default();
        let namespace = Prerequisite::Namespace("a".to_owned());
        prerequisites.record(namespace.clone());
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        assert!(prerequisites.wait(&namespace, Instant::now()).now_or_never().is_none());
    }

    #[test]
    fn missing_of_unknown_kind_or_namespace_is_some() {
        let manifest = fairway_testkit::releases::manifest(&json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s", "namespace": "n"},
        }))
        .unwrap();
        let not_found = |kind: &str| {
            let details = json!({"name": "", "kind": kind});
            let details: StatusDetails = serde_json::from_value(details).unwrap();
            let status = Status { code: 404, details: Some(details), ..Status::default() };
            WriteError::Api(kube::Error::Api(Box::new(status))).into()
        };
        let awaited = |error| Prerequisite::missing(&manifest, &error);
        let widget = GroupVersionKind::gvk("example.com", "v1", "Widget");
        assert_eq!(awaited(ApplyError::UnknownKind(widget)), Some(kind("Widget")));
        let namespace = Some(Prerequisite::Namespace("n".to_owned()));
        assert_eq!(awaited(not_found("namespaces")), namespace);
        assert_eq!(awaited(not_found("secrets")), None);
        assert_eq!(awaited(WriteError::NoAnswer.into()), None);
    }
}
