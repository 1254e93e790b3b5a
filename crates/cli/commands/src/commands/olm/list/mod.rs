//! `fairway olm list`: OLM operators and their effect on updates.

mod text;

use std::collections::BTreeSet;

use fairway_api::{ClusterVersion, Version};
use fairway_compat::olm::apis::{ApiAvailability, ApiForecast};
use fairway_compat::olm::catalog::OperatorUpgrade;
use fairway_compat::olm::{
    DeclarationSource, MaximumVersion, MinorVersion, OlmCheck, OlmOperator, OlmPolicy,
    OperatorVerdict,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::state::State;
use crate::args::olm::{OlmListArgs, policy};
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;

impl TypedReport for List {
    const KIND: &'static str = "OperatorList";
}

pub(crate) fn run(args: &OlmListArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let list = List::new(
        State::read(args)?,
        args.to.as_ref(),
        policy(args.policy.invalid, args.policy.missing),
    );
    output::report(printer.stdout(), args.output.output, &list)?;
    Ok(list.status(args.to.as_ref()))
}

/// OLM operators of a cluster, and their effect on updates.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct List {
    /// Minor version of the cluster, if ClusterVersion reports it.
    #[schemars(with = "Option<String>")]
    cluster_version: Option<MinorVersion>,
    /// Operators that OLM has installed.
    operators: Vec<Row>,
    /// Data that could not be read.
    limitations: Vec<String>,
}

/// OLM operator.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Row {
    /// Namespace of the ClusterServiceVersion.
    namespace: String,
    /// Name of the ClusterServiceVersion.
    name: String,
    /// Maximum cluster version that the operator declares.
    #[schemars(with = "Option<String>")]
    maximum: Option<MinorVersion>,
    /// Whether the cluster already runs a later version than the maximum.
    maximum_exceeded: bool,
    /// Source of the declaration.
    #[schemars(with = "Option<String>")]
    declaration_source: Option<DeclarationSource>,
    /// Error in the declaration.
    declaration_error: Option<String>,
    /// Declaration of the installed operator, if the catalog declares another one.
    superseded_declaration: Option<String>,
    /// Effect on each update.
    targets: Vec<Target>,
    /// APIs that the operator uses and that a later version does not serve.
    #[serde(rename = "missingAPIs")]
    missing_apis: Option<MissingApis>,
}

/// Effect of an operator on an update.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Target {
    /// Version of the target release.
    version: Version,
    /// Whether the operator supports the target release.
    verdict: OperatorVerdict,
    /// Version of the operator that supports the target release.
    remediation: Option<OperatorUpgrade>,
    /// Availability of the APIs that the operator uses, if the removed APIs are known.
    apis: Option<Apis>,
}

/// Availability of the APIs of an operator in a target release.
#[derive(Serialize, JsonSchema)]
struct Apis {
    /// Summary of the availability of the APIs.
    status: ApiStatus,
    /// Human-readable details.
    message: String,
}

/// Availability of the APIs that an operator names in its permissions.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum ApiStatus {
    /// The target serves all APIs that the operator names. The operator may use others.
    Present,
    /// The target does not serve some of the APIs.
    Missing,
    /// Unknown: the permissions contain wildcards, or no API versions.
    Unknown,
}

/// APIs that an operator uses and that a later version does not serve.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct MissingApis {
    /// First minor version without these APIs.
    #[schemars(with = "String")]
    first_version: MinorVersion,
    /// Human-readable details.
    message: String,
}

impl List {
    fn new(state: State, to: Option<&Version>, policy: OlmPolicy) -> Self {
        let running = state.running();
        let mut targets: BTreeSet<Version> =
            state.cluster.as_ref().map(update_versions).unwrap_or_default();
        targets.extend(to.cloned());
        let base = running.unwrap_or(MinorVersion::new(0, 0));
        let guard = OlmCheck::new(state.operators, base, policy);
        // Without the running version, updates cannot be evaluated.
        let targets = running.map(|running| (running, targets));
        let row = |operator: &OlmOperator| Row::new(operator, targets.as_ref(), policy);
        let operators = guard.operators().iter().map(row).collect();
        Self { cluster_version: running, operators, limitations: state.left_out }
    }

    fn status(&self, to: Option<&Version>) -> ExitStatus {
        let Some(to) = to else { return ExitStatus::Success };
        let fails = |it: &Target| it.version == *to && it.verdict == OperatorVerdict::WillNotRun;
        let loses = |it: &MissingApis| it.first_version <= MinorVersion::from_version(to);
        let is_against = |operator: &Row| {
            operator.targets.iter().any(fails) || operator.missing_apis.as_ref().is_some_and(loses)
        };
        if self.cluster_version.is_none() {
            ExitStatus::Unknown
        } else if self.operators.iter().any(is_against) {
            ExitStatus::Refused
        } else if self.limitations.is_empty() {
            ExitStatus::Success
        } else {
            ExitStatus::Unknown
        }
    }
}

/// Versions of available and conditional updates.
fn update_versions(cluster: &ClusterVersion) -> BTreeSet<Version> {
    let Some(status) = &cluster.status else { return BTreeSet::new() };
    let plain = status.available_updates.iter().flatten();
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    let versions = plain.chain(conditional).map(|release| release.version.as_str());
    versions.filter_map(|version| Version::parse(version).ok()).collect()
}

impl Row {
    fn new(
        operator: &OlmOperator,
        targets: Option<&(MinorVersion, BTreeSet<Version>)>,
        policy: OlmPolicy,
    ) -> Self {
        let target = |running, version| Target::new(operator, policy, running, version);
        let maximum = operator.declared.maximum();
        let maximum_exceeded =
            targets.is_some_and(|(running, _)| maximum.is_some_and(|maximum| maximum < *running));
        let targets = targets.map(|(running, versions)| {
            versions.iter().rev().map(|version| target(*running, version)).collect()
        });
        let (declaration_source, declaration_error) = match &operator.declared {
            MaximumVersion::Missing => (None, None),
            MaximumVersion::Maximum(_, origin) => (Some(origin.clone()), None),
            MaximumVersion::Invalid(why) => (None, Some(why.to_string())),
        };
        let loss = operator.apis.as_ref().and_then(ApiForecast::loss);
        let missing_apis = loss.map(|(first_version, outlook)| MissingApis {
            first_version,
            message: outlook.to_string(),
        });
        Self {
            namespace: operator.namespace.clone(),
            name: operator.name.clone(),
            maximum,
            maximum_exceeded,
            declaration_source,
            declaration_error,
            superseded_declaration: operator.superseded.as_ref().map(describe),
            targets: targets.unwrap_or_default(),
            missing_apis,
        }
    }

    /// Whether the APIs of a target are unknown or missing.
    fn has_uncertain_apis(&self) -> bool {
        let apis = self.targets.iter().filter_map(|target| target.apis.as_ref());
        apis.map(|apis| apis.status).any(|status| status == ApiStatus::Unknown)
    }
}

impl Target {
    fn new(
        operator: &OlmOperator,
        policy: OlmPolicy,
        running: MinorVersion,
        version: &Version,
    ) -> Self {
        let to = MinorVersion::from_version(version);
        let verdict = policy.verdict(&operator.declared, running, to);
        let remediation = (verdict == OperatorVerdict::WillNotRun)
            .then(|| operator.nearest_upgrade(policy, running, to));
        let apis = operator.apis.as_ref().and_then(|apis| apis.on(to));
        Self {
            version: version.clone(),
            verdict,
            remediation: remediation.flatten().cloned(),
            apis: apis.map(Apis::of),
        }
    }
}

impl Apis {
    fn of(outlook: &ApiAvailability) -> Self {
        let status = match outlook {
            ApiAvailability::AllPresent => ApiStatus::Present,
            ApiAvailability::Missing(_) => ApiStatus::Missing,
            ApiAvailability::CannotTell { .. } => ApiStatus::Unknown,
        };
        Self { status, message: outlook.to_string() }
    }
}

fn describe(declared: &MaximumVersion) -> String {
    match declared {
        MaximumVersion::Missing => "nothing".to_owned(),
        MaximumVersion::Maximum(maximum, origin) => format!("{maximum} in the {origin}"),
        MaximumVersion::Invalid(why) => why.to_string(),
    }
}

#[cfg(test)]
mod tests;
