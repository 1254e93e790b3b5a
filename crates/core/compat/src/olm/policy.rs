//! Policy for operators without a valid declaration, and verdicts.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MaximumVersion, MinorVersion};

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
pub struct OlmPolicy {
    /// Operators with an invalid maximum version.
    pub invalid: InvalidPolicy,
    /// Operators that declare no maximum version.
    pub missing: MissingPolicy,
}

/// Whether an operator supports a target release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[schemars(rename = "Verdict")]
#[serde(rename_all = "camelCase")]
pub enum OperatorVerdict {
    /// No known incompatibility.
    Upgradeable,
    /// The operator declares no maximum version. Fairway reports this, and it blocks nothing.
    // `as_str` is the label of a metric and keeps the words of the enhancement.
    #[serde(rename = "unknown")]
    MayNotRun,
    /// The operator does not support the target release, or the policy treats it as unsupported.
    #[serde(rename = "notUpgradeable")]
    WillNotRun,
}

impl OperatorVerdict {
    /// The verdict as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upgradeable => "upgradeable",
            Self::MayNotRun => "may not run",
            Self::WillNotRun => "will not run",
        }
    }
}

impl OlmPolicy {
    /// The policy in a published risk report, `status.extension` of a ClusterOperator; `None` if it
    /// is not a report of the OLM guard.
    pub fn from_report(extension: &Value) -> Option<Self> {
        Self::deserialize(extension.get("policy")?).ok()
    }

    /// Whether an operator supports a target. Patch updates of the running minor version are never
    /// blocked.
    pub fn verdict(
        self,
        declared: &MaximumVersion,
        running: MinorVersion,
        target: MinorVersion,
    ) -> OperatorVerdict {
        if target <= running {
            return OperatorVerdict::Upgradeable;
        }
        match self.first_without(declared, running) {
            Some(first) if target >= first => OperatorVerdict::WillNotRun,
            None if self.is_in_doubt(declared) => OperatorVerdict::MayNotRun,
            Some(_) | None => OperatorVerdict::Upgradeable,
        }
    }

    /// The first minor version after `running` that the operator does not support; `None` if there
    /// is no such version.
    pub fn first_without(
        self,
        declared: &MaximumVersion,
        running: MinorVersion,
    ) -> Option<MinorVersion> {
        let blocks = match declared {
            MaximumVersion::Maximum(maximum, _) => return Some(maximum.next().max(running.next())),
            MaximumVersion::Missing => self.missing == MissingPolicy::Block,
            MaximumVersion::Invalid(_) => self.invalid == InvalidPolicy::Block,
        };
        blocks.then(|| running.next())
    }

    fn is_in_doubt(self, declared: &MaximumVersion) -> bool {
        match declared {
            MaximumVersion::Maximum(..) => false,
            MaximumVersion::Missing => self.missing == MissingPolicy::Warn,
            MaximumVersion::Invalid(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{CheckResult, OlmCheck};
    use super::*;

    #[test]
    fn report_contains_policy() {
        let strict = OlmPolicy { invalid: InvalidPolicy::Block, missing: MissingPolicy::Block };
        for policy in [OlmPolicy::default(), strict] {
            let CheckResult { extension, .. } =
                OlmCheck::new([], MinorVersion::new(4, 8), policy).published();
            assert_eq!(OlmPolicy::from_report(&extension.unwrap()), Some(policy));
        }
        let nonsense = [json!(null), json!({}), json!({"policy": 7}), json!({"policy": {}})];
        let unknown = json!({"policy": {"invalid": "never", "missing": "allow"}});
        for report in nonsense.into_iter().chain([unknown]) {
            assert_eq!(OlmPolicy::from_report(&report), None, "{report}");
        }
    }
}
