//! The condition `Upgradeable`, which is about the next minor version.

use fairway_api::reason::Reason;
use fairway_api::reason::cluster_operator::upgradeable as reason;
use fairway_api::{ClusterVersion, ConditionStatus};

use super::{Declaration, InvalidPolicy, Operator, Policy, Stream, Verdict, text};

/// The condition `Upgradeable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgradeable {
    /// False if an update to the next minor version would take an operator out of service.
    pub status: ConditionStatus,
    /// The reason, as dashboards know it.
    pub reason: Reason,
    /// What people read.
    pub message: String,
}

/// Why nobody has looked at the operators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hindrance {
    /// It is too early.
    Waiting,
    /// The cluster does not say which version it has.
    VersionMissing,
    /// The version of the cluster is none.
    VersionInvalid(String),
    /// Nobody sees which version the cluster has.
    VersionUnseen(String),
    /// The operators cannot be listed.
    Unlisted(String),
}

impl Hindrance {
    /// Why a ClusterVersion does not say which version runs.
    pub fn of_version(cluster: &ClusterVersion) -> Self {
        let desired = cluster.status.as_ref().map(|status| status.desired.version.as_str());
        match desired.filter(|version| !version.is_empty()) {
            Some(version) => Self::VersionInvalid(format!(
                "{:?} is not a version",
                fairway_text::excerpt(version, QUOTED)
            )),
            None => Self::VersionMissing,
        }
    }
}

/// Bytes quoted of a version that is none.
const QUOTED: usize = 64;

/// What every check that failed begins with.
const FAILED: &str =
    "Encountered errors while checking compatibility with the next minor version of OpenShift";

impl Upgradeable {
    /// What operators, in the order of their names, have to say.
    pub(super) fn of(operators: &[Operator], running: Stream, policy: Policy) -> Self {
        let next = running.next();
        let having = |verdict: Verdict| -> Vec<&Operator> {
            let has = |it: &&Operator| policy.verdict(&it.declared, running, next) == verdict;
            operators.iter().filter(has).collect()
        };
        let (failing, doubtful) = (having(Verdict::WillNotRun), having(Verdict::MayNotRun));
        if !failing.is_empty() {
            let message = match policy.invalid {
                InvalidPolicy::Block => in_words_of_olm(&failing, next),
                InvalidPolicy::Allow => not_running("will", &failing),
            };
            return Self::no(reason::INCOMPATIBLE_OPERATORS_INSTALLED, message);
        }
        if !doubtful.is_empty() {
            let message = not_running("may", &doubtful);
            return Self::yes(reason::OPERATOR_COMPATIBILITY_UNKNOWN, message);
        }
        let message = match policy.invalid {
            InvalidPolicy::Block => String::new(),
            InvalidPolicy::Allow => "Ready for upgrade".to_owned(),
        };
        Self::yes(reason::AS_EXPECTED, message)
    }

    fn yes(reason: Reason, message: String) -> Self {
        Self { status: ConditionStatus::True, reason, message }
    }

    fn no(reason: Reason, message: String) -> Self {
        Self { status: ConditionStatus::False, reason, message }
    }
}

impl From<&Hindrance> for Upgradeable {
    /// Whoever has not looked does not let an update through.
    fn from(hindrance: &Hindrance) -> Self {
        let why = match hindrance {
            Hindrance::Waiting => {
                let message = "Waiting for updates to take effect".to_owned();
                return Self::no(reason::WAITING_FOR_FIRST_CHECK, message);
            }
            Hindrance::VersionMissing => "ClusterVersion has no desired version".to_owned(),
            Hindrance::VersionInvalid(why) => {
                format!("cluster version has invalid desired release version: {why}")
            }
            Hindrance::VersionUnseen(why) => {
                format!("cannot read ClusterVersion: {why}")
            }
            Hindrance::Unlisted(why) => format!("failed to list ClusterServiceVersions: {why}"),
        };
        Self::no(reason::ERROR_CHECKING_OPERATOR_COMPATIBILITY, format!("{FAILED}: {why}"))
    }
}

fn not_running(will: &str, operators: &[&Operator]) -> String {
    let operators = text::list(operators, ", ");
    format!("The following operators {will} not run on the next OpenShift Version: {operators}")
}

/// A heading and a line for each operator, those whose declaration means nothing first.
fn in_words_of_olm(operators: &[&Operator], next: Stream) -> String {
    let renamed = Stream::new(5, 0);
    let targets = if next == renamed {
        format!("{next} or major version upgrades to {renamed}")
    } else {
        format!("{next} or higher")
    };
    let (known, unknown): (Vec<&Operator>, Vec<&Operator>) =
        operators.iter().partition(|operator| operator.declared.maximum().is_some());
    let lines: Vec<String> = unknown.into_iter().chain(known).map(line).collect();
    let lines = text::list(&lines, "\n");
    format!("ClusterServiceVersions blocking minor version upgrades to {targets}:\n{lines}")
}

fn line(operator: &Operator) -> String {
    match &operator.declared {
        Declaration::Missing => format!("- {operator} has no olm.maxOpenShiftVersion property"),
        Declaration::Invalid(why) => {
            format!("- {operator} has invalid olm.maxOpenShiftVersion properties: {why}")
        }
        Declaration::Maximum(maximum, _) => {
            format!("- maximum supported OCP version for {operator} is {maximum}")
        }
    }
}
