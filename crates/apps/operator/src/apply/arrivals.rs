//! What failed writes wait for: kinds and namespaces that another manifest brings.

use std::collections::BTreeMap;

use fairway_apply::WriteError;
use fairway_release::Manifest;
use kube::core::GroupVersionKind;
use tokio::sync::watch;
use tokio::time::Instant;

use super::error::ApplyError;

/// Something that a manifest needs and that may arrive later.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Arrival {
    /// Any kind of an API group.
    Group(String),
    /// A kind, by its group.
    Kind(String, String),
    /// A namespace.
    Namespace(String),
}

impl Arrival {
    pub(super) fn kind(kind: &GroupVersionKind) -> Self {
        Self::Kind(kind.group.clone(), kind.kind.clone())
    }

    /// What a manifest waits for after a failed write, if its arrival is noticed.
    pub fn awaited(manifest: &Manifest, error: &ApplyError) -> Option<Self> {
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

/// When each of them last arrived.
#[derive(Default)]
pub(super) struct Arrivals(watch::Sender<BTreeMap<Arrival, Instant>>);

impl Arrivals {
    pub(super) fn record(&self, arrival: Arrival) {
        self.0.send_modify(|arrivals| {
            arrivals.insert(arrival, Instant::now());
        });
    }

    /// When something last arrived. A kind may have arrived with its group.
    pub(super) fn latest(&self, arrival: &Arrival) -> Option<Instant> {
        latest(&self.0.borrow(), arrival)
    }

    /// Waits until something arrives, counted from `since`.
    pub(super) async fn wait(&self, arrival: &Arrival, since: Instant) {
        let mut arrivals = self.0.subscribe();
        let arrived = arrivals
            .wait_for(|arrivals| latest(arrivals, arrival).is_some_and(|latest| latest >= since));
        // The sender lives as long as `self`.
        let _ = arrived.await;
    }
}

fn latest(arrivals: &BTreeMap<Arrival, Instant>, arrival: &Arrival) -> Option<Instant> {
    let group = match arrival {
        Arrival::Kind(group, _) => arrivals.get(&Arrival::Group(group.clone())),
        Arrival::Group(_) | Arrival::Namespace(_) => None,
    };
    arrivals.get(arrival).max(group).copied()
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;
    use kube::core::Status;
    use kube::core::response::StatusDetails;
    use serde_json::json;

    use super::*;

    fn kind(name: &str) -> Arrival {
        Arrival::Kind("example.com".to_owned(), name.to_owned())
    }

    #[tokio::test]
    async fn wait_ends_with_its_own_kind_or_group() {
        let arrivals = Arrivals::default();
        let since = Instant::now();
        let (widget, gadget) = (kind("Widget"), kind("Gadget"));
        let mut widget = std::pin::pin!(arrivals.wait(&widget, since));
        let mut gadget = std::pin::pin!(arrivals.wait(&gadget, since));
        arrivals.record(Arrival::Group("other.example.com".to_owned()));
        assert!(widget.as_mut().now_or_never().is_none());
        arrivals.record(kind("Widget"));
        assert!(widget.now_or_never().is_some());
        assert!(gadget.as_mut().now_or_never().is_none(), "another kind arrived");
        arrivals.record(Arrival::Group("example.com".to_owned()));
        assert!(gadget.now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn wait_ignores_what_arrived_before() {
        let arrivals = Arrivals::default();
        let namespace = Arrival::Namespace("a".to_owned());
        arrivals.record(namespace.clone());
        tokio::time::advance(std::time::Duration::from_secs(1)).await;
        assert!(arrivals.wait(&namespace, Instant::now()).now_or_never().is_none());
    }

    #[test]
    fn awaited_is_a_missing_kind_or_namespace() {
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
        let awaited = |error| Arrival::awaited(&manifest, &error);
        let widget = GroupVersionKind::gvk("example.com", "v1", "Widget");
        assert_eq!(awaited(ApplyError::UnknownKind(widget)), Some(kind("Widget")));
        let namespace = Some(Arrival::Namespace("n".to_owned()));
        assert_eq!(awaited(not_found("namespaces")), namespace);
        assert_eq!(awaited(not_found("secrets")), None);
        assert_eq!(awaited(WriteError::NoAnswer.into()), None);
    }
}
