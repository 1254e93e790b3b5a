//! Metrics of the guard.

use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Metrics of the guard.
pub(crate) struct Metrics {
    registry: Registry,
    operators: Family<OfVerdict, Gauge>,
    reviews: Family<OfDecision, Counter>,
    writes: Counter,
    failures: Counter,
    certificate_expiry: Gauge,
    contended: Family<OfObject, Gauge>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfVerdict {
    verdict: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfObject {
    kind: &'static str,
    name: String,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OfDecision {
    decision: Decision,
}

/// Decision of a review.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
pub(crate) enum Decision {
    #[expect(non_camel_case_types, reason = "label values are lowercase")]
    allowed,
    #[expect(non_camel_case_types, reason = "label values are lowercase")]
    refused,
    #[expect(non_camel_case_types, reason = "label values are lowercase")]
    unreadable,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::default();
        let (operators, reviews) = (Family::default(), Family::default());
        let (writes, failures) = (Counter::default(), Counter::default());
        let (certificate_expiry, contended) = (Gauge::default(), Family::default());
        registry.register(
            "fairway_olm_operators",
            "Installed operators by compatibility with the next minor version",
            operators.clone(),
        );
        registry.register(
            "fairway_olm_reviews",
            "Admission reviews handled by the webhook",
            reviews.clone(),
        );
        registry.register(
            "fairway_olm_status_writes",
            "Writes to the ClusterOperator",
            writes.clone(),
        );
        registry.register(
            "fairway_olm_write_failures",
            "Failed writes to the API server",
            failures.clone(),
        );
        registry.register(
            "fairway_olm_certificate_expiry_timestamp_seconds",
            "Expiry time of the webhook certificate",
            certificate_expiry.clone(),
        );
        registry.register(
            "fairway_olm_contended_objects",
            "Drift corrections of objects that another client repeatedly changes",
            contended.clone(),
        );
        Self { registry, operators, reviews, writes, failures, certificate_expiry, contended }
    }
}

impl Metrics {
    /// All metrics in the OpenMetrics text format.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    pub(crate) fn operators(&self, verdict: &'static str, count: usize) {
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        self.operators.get_or_create(&OfVerdict { verdict }).set(count);
    }

    /// Removes the metrics that only the leader has.
    pub(crate) fn clear_leader_metrics(&self) {
        self.operators.clear();
        self.contended.clear();
    }

    pub(crate) fn reviewed(&self, decision: Decision) {
        self.reviews.get_or_create(&OfDecision { decision }).inc();
    }

    pub(crate) fn wrote_status(&self) {
        self.writes.inc();
    }

    pub(crate) fn write_failed(&self) {
        self.failures.inc();
    }

    /// Sets the number of corrections of a ClusterOperator with contention; `None` without contention.
    pub(crate) fn contended(&self, cluster_operator: &str, repairs: Option<u32>) {
        let object = OfObject { kind: "ClusterOperator", name: cluster_operator.to_owned() };
        match repairs {
            Some(repairs) => {
                self.contended.get_or_create(&object).set(repairs.into());
            }
            None => {
                self.contended.remove(&object);
            }
        }
    }

    pub(crate) fn certificate_expires(&self, at: jiff::Timestamp) {
        self.certificate_expiry.set(at.as_second());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_all_metrics() {
        let metrics = Metrics::default();
        metrics.operators("WillNotRun", 2);
        metrics.reviewed(Decision::refused);
        metrics.wrote_status();
        metrics.write_failed();
        metrics.certificate_expires(jiff::Timestamp::from_second(1_800_000_000).unwrap());
        metrics.contended("olm", Some(5));
        insta::assert_snapshot!(metrics.text(), @r#"
        # HELP fairway_olm_operators Installed operators by compatibility with the next minor version.
        # TYPE fairway_olm_operators gauge
        fairway_olm_operators{verdict="WillNotRun"} 2
        # HELP fairway_olm_reviews Admission reviews handled by the webhook.
        # TYPE fairway_olm_reviews counter
        fairway_olm_reviews_total{decision="refused"} 1
        # HELP fairway_olm_status_writes Writes to the ClusterOperator.
        # TYPE fairway_olm_status_writes counter
        fairway_olm_status_writes_total 1
        # HELP fairway_olm_write_failures Failed writes to the API server.
        # TYPE fairway_olm_write_failures counter
        fairway_olm_write_failures_total 1
        # HELP fairway_olm_certificate_expiry_timestamp_seconds Expiry time of the webhook certificate.
        # TYPE fairway_olm_certificate_expiry_timestamp_seconds gauge
        fairway_olm_certificate_expiry_timestamp_seconds 1800000000
        # HELP fairway_olm_contended_objects Drift corrections of objects that another client repeatedly changes.
        # TYPE fairway_olm_contended_objects gauge
        fairway_olm_contended_objects{kind="ClusterOperator",name="olm"} 5
        # EOF
        "#);
        metrics.contended("olm", None);
        assert!(!metrics.text().contains("fairway_olm_contended_objects{"));
        metrics.clear_leader_metrics();
        assert!(!metrics.text().contains("fairway_olm_operators{"));
    }
}
