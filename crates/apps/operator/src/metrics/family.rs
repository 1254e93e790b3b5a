//! A metric with its series, as they are at one moment.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;

type Label = (&'static str, String);

/// Series by their labels. No two have the same ones, or Prometheus would take none of all.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Samples(BTreeMap<Vec<Label>, f64>);

impl Samples {
    /// The same with one more; of several with the same labels, the first counts.
    pub(super) fn with<const N: usize>(
        mut self,
        labels: [(&'static str, &str); N],
        value: f64,
    ) -> Self {
        self.add(labels, value);
        self
    }

    /// Adds one; of several with the same labels, the first counts.
    pub(super) fn add<const N: usize>(&mut self, labels: [(&'static str, &str); N], value: f64) {
        let labels = labels.map(|(key, value)| (key, value.to_owned())).into();
        self.0.entry(labels).or_insert(value);
    }
}

/// A metric.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Family {
    name: &'static str,
    help: &'static str,
    samples: Samples,
}

impl Family {
    pub(super) fn new(name: &'static str, help: &'static str, samples: Samples) -> Self {
        Self { name, help, samples }
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let mut metric =
            encoder.encode_descriptor(self.name, self.help, None, MetricType::Gauge)?;
        for (labels, value) in &self.samples.0 {
            if labels.is_empty() {
                metric.encode_gauge(value)?;
            } else {
                metric.encode_family(labels)?.encode_gauge(value)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (labels, value) in &self.samples.0 {
            let labels: Vec<_> =
                labels.iter().map(|(key, text)| format!("{key}={text:?}")).collect();
            writeln!(f, "{}{{{}}} {value}", self.name, labels.join(","))?;
        }
        Ok(())
    }
}
