//! `fairway olm list`: every operator, and what it means for updates.

mod text;

use std::collections::BTreeSet;

use fairway_api::{ClusterVersion, Version};
use fairway_compat::olm::apis::{Outlook, Prospect};
use fairway_compat::olm::catalog::WayOut;
use fairway_compat::olm::{Declaration, Guard, Operator, Origin, Policy, Stream, Verdict};
use schemars::JsonSchema;
use serde::Serialize;

use super::state::State;
use crate::args::olm::OlmListArgs;
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;
use crate::schema::{self, Shape};

/// What documents of it are called.
const KIND: &str = "OperatorList";

/// The shape of those documents.
pub(super) fn shape() -> Shape {
    schema::of::<List>(KIND)
}

pub(crate) fn run(args: &OlmListArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let list = List::new(State::look(args)?, args.to.as_ref(), args.policy.policy());
    output::report(printer.stdout(), args.output.output, KIND, &list)?;
    Ok(list.status(args.to.as_ref()))
}

/// Every operator, and what it means for updates.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct List {
    /// The minor version that runs, if the cluster says.
    #[schemars(with = "Option<String>")]
    running: Option<Stream>,
    operators: Vec<Row>,
    /// What could not be looked at.
    left_out: Vec<String>,
}

#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Row {
    namespace: String,
    name: String,
    #[schemars(with = "Option<String>")]
    maximum: Option<Stream>,
    /// Whether the cluster runs a later version than that already.
    is_exceeded: bool,
    /// Where it is declared.
    #[schemars(with = "Option<String>")]
    declared_in: Option<Origin>,
    /// Why what is declared cannot be used.
    invalid: Option<String>,
    /// What was declared when the operator was installed, where a catalog says something else.
    superseded: Option<String>,
    targets: Vec<Target>,
    missing_apis: Option<MissingApis>,
}

/// What an operator means for an update.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Target {
    version: Version,
    verdict: Verdict,
    way_out: Option<WayOut>,
    /// What becomes of the APIs that it uses, where it is known which of them go.
    apis: Option<Apis>,
}

/// Whether the APIs that an operator uses are there on a target.
#[derive(Serialize, JsonSchema)]
struct Apis {
    answer: ApisAnswer,
    message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum ApisAnswer {
    /// All that it names are. It may use others.
    AllPresent,
    /// Some are not.
    Missing,
    /// Its permissions have wildcards, or name no versions.
    CannotTell,
}

/// What an operator would miss, from which version on.
#[derive(Serialize, JsonSchema)]
struct MissingApis {
    #[schemars(with = "String")]
    from: Stream,
    message: String,
}

impl List {
    fn new(state: State, to: Option<&Version>, policy: Policy) -> Self {
        let running = state.running();
        let mut targets: BTreeSet<Version> =
            state.cluster.as_ref().map(offered).unwrap_or_default();
        targets.extend(to.cloned());
        let base = running.unwrap_or(Stream::new(0, 0));
        let guard = Guard::new(state.operators, base, policy);
        // Nothing can be said about updates of a cluster that does not say which version it has.
        let targets = running.map(|running| (running, targets));
        let row = |operator: &Operator| Row::new(operator, targets.as_ref(), policy);
        let operators = guard.operators().iter().map(row).collect();
        Self { running, operators, left_out: state.left_out }
    }

    fn status(&self, to: Option<&Version>) -> ExitStatus {
        let Some(to) = to else { return ExitStatus::Yes };
        let fails = |it: &Target| it.version == *to && it.verdict == Verdict::WillNotRun;
        let loses = |it: &MissingApis| it.from <= Stream::of(to);
        let is_against = |operator: &Row| {
            operator.targets.iter().any(fails) || operator.missing_apis.as_ref().is_some_and(loses)
        };
        if self.running.is_none() {
            ExitStatus::CannotTell
        } else if self.operators.iter().any(is_against) {
            ExitStatus::No
        } else if self.left_out.is_empty() {
            ExitStatus::Yes
        } else {
            ExitStatus::CannotTell
        }
    }
}

/// The versions that the cluster is offered.
fn offered(cluster: &ClusterVersion) -> BTreeSet<Version> {
    let Some(status) = &cluster.status else { return BTreeSet::new() };
    let plain = status.available_updates.iter().flatten();
    let conditional = status.conditional_updates.iter().map(|update| &update.release);
    let versions = plain.chain(conditional).map(|release| release.version.as_str());
    versions.filter_map(|version| Version::parse(version).ok()).collect()
}

impl Row {
    fn new(
        operator: &Operator,
        targets: Option<&(Stream, BTreeSet<Version>)>,
        policy: Policy,
    ) -> Self {
        let target = |running, version| Target::new(operator, policy, running, version);
        let maximum = operator.declared.maximum();
        let is_exceeded =
            targets.is_some_and(|(running, _)| maximum.is_some_and(|maximum| maximum < *running));
        let targets = targets.map(|(running, versions)| {
            versions.iter().rev().map(|version| target(*running, version)).collect()
        });
        let (declared_in, invalid) = match &operator.declared {
            Declaration::Missing => (None, None),
            Declaration::Maximum(_, origin) => (Some(origin.clone()), None),
            Declaration::Invalid(why) => (None, Some(why.to_string())),
        };
        let loss = operator.apis.as_ref().and_then(Prospect::loss);
        let missing_apis =
            loss.map(|(from, outlook)| MissingApis { from, message: outlook.to_string() });
        Self {
            namespace: operator.namespace.clone(),
            name: operator.name.clone(),
            maximum,
            is_exceeded,
            declared_in,
            invalid,
            superseded: operator.superseded.as_ref().map(before),
            targets: targets.unwrap_or_default(),
            missing_apis,
        }
    }

    /// Whether it cannot be told of some target that all APIs would be there.
    fn is_in_doubt(&self) -> bool {
        let apis = self.targets.iter().filter_map(|target| target.apis.as_ref());
        apis.map(|apis| apis.answer).any(|answer| answer == ApisAnswer::CannotTell)
    }
}

impl Target {
    fn new(operator: &Operator, policy: Policy, running: Stream, version: &Version) -> Self {
        let to = Stream::of(version);
        let verdict = policy.verdict(&operator.declared, running, to);
        let way_out =
            (verdict == Verdict::WillNotRun).then(|| operator.way_out(policy, running, to));
        let apis = operator.apis.as_ref().and_then(|apis| apis.on(to));
        Self {
            version: version.clone(),
            verdict,
            way_out: way_out.flatten().cloned(),
            apis: apis.map(Apis::of),
        }
    }
}

impl Apis {
    fn of(outlook: &Outlook) -> Self {
        let answer = match outlook {
            Outlook::AllPresent => ApisAnswer::AllPresent,
            Outlook::Missing(_) => ApisAnswer::Missing,
            Outlook::CannotTell { .. } => ApisAnswer::CannotTell,
        };
        Self { answer, message: outlook.to_string() }
    }
}

fn before(declared: &Declaration) -> String {
    match declared {
        Declaration::Missing => "nothing".to_owned(),
        Declaration::Maximum(maximum, origin) => format!("{maximum} in the {origin}"),
        Declaration::Invalid(why) => why.to_string(),
    }
}

#[cfg(test)]
mod tests;
