//! Check of all operators of a cluster, and its published results.

use fairway_api::reason::Reason;
use fairway_api::reason::cluster_operator::upgradeable as reason;
use fairway_api::{ClusterVersion, ConditionStatus};
use serde_json::Value;

use super::{
    InvalidPolicy, MaximumVersion, MinorVersion, OlmOperator, OlmPolicy, OperatorVerdict, report,
    text,
};

/// All operators of a cluster.
#[derive(Clone, Debug)]
pub struct OlmCheck {
    operators: Vec<OlmOperator>,
    running: MinorVersion,
    policy: OlmPolicy,
}

/// Published results. If the report has risks, the cluster-version operator ignores the condition.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckResult {
    /// Condition about the next minor version.
    pub upgradeable: UpgradeableCondition,
    /// `status.extension`: the risk report about all versions; `None` if the check failed.
    pub extension: Option<Value>,
}

impl OlmCheck {
    /// Creates the check from all operators without copies, in any order.
    pub fn new(
        operators: impl IntoIterator<Item = OlmOperator>,
        running: MinorVersion,
        policy: OlmPolicy,
    ) -> Self {
        let mut operators: Vec<OlmOperator> = operators.into_iter().collect();
        operators.sort_by(|one, other| {
            (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name))
        });
        Self { operators, running, policy }
    }

    /// The operators, sorted by namespace and name.
    pub fn operators(&self) -> &[OlmOperator] {
        &self.operators
    }

    /// Whether an operator supports a target.
    pub fn verdict(&self, operator: &OlmOperator, target: MinorVersion) -> OperatorVerdict {
        self.policy.verdict(&operator.declared, self.running, target)
    }

    /// The condition and the risk report.
    pub fn published(&self) -> CheckResult {
        let Self { operators, running, policy } = self;
        CheckResult {
            upgradeable: UpgradeableCondition::new(operators, *running, *policy),
            extension: Some(report::report(operators, *running, *policy)),
        }
    }
}

impl From<&CheckFailure> for CheckResult {
    fn from(failure: &CheckFailure) -> Self {
        Self { upgradeable: failure.into(), extension: None }
    }
}

/// Content of the condition `Upgradeable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeableCondition {
    /// False if an installed operator does not support the next minor version.
    pub status: ConditionStatus,
    /// Reason, the same as OLM's.
    pub reason: Reason,
    /// Message.
    pub message: String,
}

/// Reason why operators cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckFailure {
    /// The first check is not complete.
    Waiting,
    /// ClusterVersion has no desired version.
    VersionMissing,
    /// The desired version of ClusterVersion is invalid.
    VersionInvalid(String),
    /// ClusterVersion cannot be read.
    VersionUnseen(String),
    /// ClusterServiceVersions cannot be listed.
    Unlisted(String),
}

impl CheckFailure {
    /// The reason why a ClusterVersion has no valid version.
    pub fn from_cluster_version(cluster: &ClusterVersion) -> Self {
        let desired = cluster.status.as_ref().map(|status| status.desired.version.as_str());
        match desired.filter(|version| !version.is_empty()) {
            Some(version) => Self::VersionInvalid(format!(
                "{:?} is not a version",
                fairway_text::excerpt(version, MAX_QUOTED_BYTES)
            )),
            None => Self::VersionMissing,
        }
    }
}

/// Bytes quoted of an invalid version.
const MAX_QUOTED_BYTES: usize = 64;

/// Start of the message of failed checks.
const FAILED: &str =
    "Encountered errors while checking compatibility with the next minor version of OpenShift";

impl UpgradeableCondition {
    /// The condition for operators, which are sorted by name.
    fn new(operators: &[OlmOperator], running: MinorVersion, policy: OlmPolicy) -> Self {
        let next = running.next();
        let with_verdict = |verdict: OperatorVerdict| -> Vec<&OlmOperator> {
            let has = |it: &&OlmOperator| policy.verdict(&it.declared, running, next) == verdict;
            operators.iter().filter(has).collect()
        };
        let (failing, doubtful) =
            (with_verdict(OperatorVerdict::WillNotRun), with_verdict(OperatorVerdict::MayNotRun));
        if !failing.is_empty() {
            let message = match policy.invalid {
                InvalidPolicy::Block => olm_message(&failing, next),
                InvalidPolicy::Allow => incompatible_message("will", &failing),
            };
            return Self::not_upgradeable(reason::INCOMPATIBLE_OPERATORS_INSTALLED, message);
        }
        if !doubtful.is_empty() {
            let message = incompatible_message("may", &doubtful);
            return Self::upgradeable(reason::OPERATOR_COMPATIBILITY_UNKNOWN, message);
        }
        let message = match policy.invalid {
            InvalidPolicy::Block => String::new(),
            InvalidPolicy::Allow => "Ready for upgrade".to_owned(),
        };
        Self::upgradeable(reason::AS_EXPECTED, message)
    }

    fn upgradeable(reason: Reason, message: String) -> Self {
        Self { status: ConditionStatus::True, reason, message }
    }

    fn not_upgradeable(reason: Reason, message: String) -> Self {
        Self { status: ConditionStatus::False, reason, message }
    }
}

impl From<&CheckFailure> for UpgradeableCondition {
    /// A failed check blocks minor updates.
    fn from(failure: &CheckFailure) -> Self {
        let why = match failure {
            CheckFailure::Waiting => {
                let message = "Waiting for updates to take effect".to_owned();
                return Self::not_upgradeable(reason::WAITING_FOR_FIRST_CHECK, message);
            }
            CheckFailure::VersionMissing => "ClusterVersion has no desired version".to_owned(),
            CheckFailure::VersionInvalid(why) => {
                format!("cluster version has invalid desired release version: {why}")
            }
            CheckFailure::VersionUnseen(why) => {
                format!("cannot read ClusterVersion: {why}")
            }
            CheckFailure::Unlisted(why) => format!("failed to list ClusterServiceVersions: {why}"),
        };
        Self::not_upgradeable(
            reason::ERROR_CHECKING_OPERATOR_COMPATIBILITY,
            format!("{FAILED}: {why}"),
        )
    }
}

fn incompatible_message(will: &str, operators: &[&OlmOperator]) -> String {
    let operators = text::list(operators, ", ");
    format!("The following operators {will} not run on the next OpenShift Version: {operators}")
}

/// The message of OLM: a heading and a line for each operator, those with invalid declarations
/// first.
fn olm_message(operators: &[&OlmOperator], next: MinorVersion) -> String {
    let renamed = MinorVersion::new(5, 0);
    let targets = if next == renamed {
        format!("{next} or major version upgrades to {renamed}")
    } else {
        format!("{next} or higher")
    };
    let (known, unknown): (Vec<&OlmOperator>, Vec<&OlmOperator>) =
        operators.iter().partition(|operator| operator.declared.maximum().is_some());
    let lines: Vec<String> = unknown.into_iter().chain(known).map(line).collect();
    let lines = text::list(&lines, "\n");
    format!("ClusterServiceVersions blocking minor version upgrades to {targets}:\n{lines}")
}

fn line(operator: &OlmOperator) -> String {
    match &operator.declared {
        MaximumVersion::Missing => format!("- {operator} has no olm.maxOpenShiftVersion property"),
        MaximumVersion::Invalid(why) => {
            format!("- {operator} has invalid olm.maxOpenShiftVersion properties: {why}")
        }
        MaximumVersion::Maximum(maximum, _) => {
            format!("- maximum supported OCP version for {operator} is {maximum}")
        }
    }
}
