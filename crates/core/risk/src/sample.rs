//! One series of an answer: what tells it apart, and its value.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Series of an instant vector, with its value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// Labels of the series.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Value, as text: JSON has no NaN and no infinity.
    #[serde(serialize_with = "to_text", deserialize_with = "from_text")]
    #[schemars(with = "String")]
    pub value: f64,
}

impl From<f64> for Sample {
    /// A sample without labels.
    fn from(value: f64) -> Self {
        Self { labels: BTreeMap::new(), value }
    }
}

impl fmt::Display for Sample {
    /// As Prometheus shows it: `{type="VSphere"} 1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("{")?;
        for (index, (name, value)) in self.labels.iter().enumerate() {
            write!(f, "{}{name}={value:?}", if index == 0 { "" } else { ", " })?;
        }
        write!(f, "}} {}", self.value)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn to_text<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(value)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(|_| serde::de::Error::custom("a value is not a number"))
}
