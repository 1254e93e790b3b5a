//! Whether an operator runs on a target, and what is made of it when nobody knows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Declaration, Stream};

/// Treatment of operators with an invalid maximum version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InvalidPolicy {
    /// Report that the operator may not run; do not block updates.
    #[default]
    Allow,
    /// Treat the operator as incompatible, as OLM does.
    Block,
}

/// Treatment of operators that declare no maximum version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MissingPolicy {
    /// Treat the operator as compatible.
    Allow,
    /// Report that the operator may not run; do not block updates.
    #[default]
    Warn,
    /// Treat the operator as incompatible.
    Block,
}

/// Treatment of operators without a valid maximum version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Operators with an invalid maximum version.
    pub invalid: InvalidPolicy,
    /// Operators that declare no maximum version.
    pub missing: MissingPolicy,
}

/// Whether an operator supports a target release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Verdict {
    /// No known incompatibility.
    Upgradeable,
    /// The operator declares no maximum version. Reported, and blocks nothing.
    // `as_str` is a label of a metric and keeps the words of the enhancement.
    #[serde(rename = "unknown")]
    MayNotRun,
    /// The operator does not support the target release, or counts as unsupported by policy.
    #[serde(rename = "notUpgradeable")]
    WillNotRun,
}

impl Verdict {
    /// The verdict in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upgradeable => "upgradeable",
            Self::MayNotRun => "may not run",
            Self::WillNotRun => "will not run",
        }
    }
}

impl Policy {
    /// The policy that a guard publishes with its risk report, `status.extension` of a
    /// ClusterOperator; `None` if it is no report of a guard.
    pub fn of_report(extension: &Value) -> Option<Self> {
        Self::deserialize(extension.get("policy")?).ok()
    }

    /// Whether an operator runs on a target, seen from a running version. Whatever an operator
    /// declares, an update within the running minor version is never held up.
    pub fn verdict(self, declared: &Declaration, running: Stream, target: Stream) -> Verdict {
        if target <= running {
            return Verdict::Upgradeable;
        }
        match self.first_without(declared, running) {
            Some(first) if target >= first => Verdict::WillNotRun,
            None if self.is_in_doubt(declared) => Verdict::MayNotRun,
            Some(_) | None => Verdict::Upgradeable,
        }
    }

    /// The first minor version, of those that are to come, on which the operator will not run;
    /// `None` where none is known.
    pub fn first_without(self, declared: &Declaration, running: Stream) -> Option<Stream> {
        let blocks = match declared {
            Declaration::Maximum(maximum, _) => return Some(maximum.next().max(running.next())),
            Declaration::Missing => self.missing == MissingPolicy::Block,
            Declaration::Invalid(_) => self.invalid == InvalidPolicy::Block,
        };
        blocks.then(|| running.next())
    }

    fn is_in_doubt(self, declared: &Declaration) -> bool {
        match declared {
            Declaration::Maximum(..) => false,
            Declaration::Missing => self.missing == MissingPolicy::Warn,
            Declaration::Invalid(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Guard, Published};
    use super::*;

    #[test]
    fn a_guard_publishes_its_policy() {
        let strict = Policy { invalid: InvalidPolicy::Block, missing: MissingPolicy::Block };
        for policy in [Policy::default(), strict] {
            let Published { extension, .. } = Guard::new([], Stream::new(4, 8), policy).published();
            assert_eq!(Policy::of_report(&extension.unwrap()), Some(policy));
        }
        let nonsense = [json!(null), json!({}), json!({"policy": 7}), json!({"policy": {}})];
        let unknown = json!({"policy": {"invalid": "never", "missing": "allow"}});
        for report in nonsense.into_iter().chain([unknown]) {
            assert_eq!(Policy::of_report(&report), None, "{report}");
        }
    }
}
