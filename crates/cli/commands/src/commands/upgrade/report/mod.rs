//! `fairway upgrade` without a request: the report on releases, updates and accepted risks.

pub(super) mod text;

use fairway_api::cluster_version::{ConditionalUpdate, Update, UpdateState};
use fairway_api::reason::{recommended, retrieved_updates};
use fairway_api::{ClusterVersion, ClusterVersionStatus, Conditions as _, OperatorCondition};
use fairway_insight::request::{has_architecture, is_observed};
use fairway_risk::{Acceptance, AcceptanceState};
use futures::try_join;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::Serialize;

use super::acceptance::{parse_terms, read_terms};
use super::notes::{self, Note};
use super::risks::{self, Exposure};
use crate::args::upgrade::UpgradeArgs;
use crate::cluster::block_on;
use crate::exit::ExitStatus;
use crate::output::{self, TypedReport};
use crate::printer::Printer;
use crate::source::Source;

impl TypedReport for Report {
    const KIND: &'static str = "UpgradeReport";
}

pub(super) fn run(args: &UpgradeArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let (cluster_version, components, observation) = block_on(async {
        let source = Source::open(&args.source).await?;
        let (version, components) = try_join!(source.cluster_version(), source.components())?;
        let observation = source.observation_time(&version, &components);
        Ok((version, components, observation))
    })?;
    let report = Report::of(&cluster_version, observation.now())
        .with_notes(notes::read(&components, &cluster_version))
        .in_full(args.include_not_recommended);
    output::report(printer.stdout(), args.output.output, &report)?;
    Ok(if report.updates_retrieved { ExitStatus::Success } else { ExitStatus::Unknown })
}

/// Releases, conditions, updates and accepted risks of a cluster.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Report {
    /// Latest completed release.
    current: Option<Release>,
    /// Release that the operator rolls out or maintains.
    desired: Option<Release>,
    /// Requested update: `spec.desiredUpdate`.
    requested: Option<Requested>,
    /// Whether the operator has observed the latest generation of the spec.
    spec_observed: bool,
    /// Conditions of ClusterVersion.
    conditions: Vec<Condition>,
    /// URL of the update service, `null` if the operator uses its default.
    upstream: Option<String>,
    /// Channel of the cluster.
    channel: Option<String>,
    /// Channels that contain the desired release.
    channels: Vec<String>,
    /// Whether the operator has retrieved updates at least once, even if the latest attempt failed.
    updates_retrieved: bool,
    /// Recommended updates, latest first.
    recommended: Vec<Release>,
    /// Other updates, latest first.
    not_recommended: Vec<NotRecommended>,
    /// Notes of components about the updates.
    notes: Vec<Note>,
    /// Accepted risks.
    accepted_risks: Vec<AcceptedRisk>,
    /// Whether the text has the updates that are not recommended.
    #[serde(skip)]
    in_full: bool,
}

/// A release.
#[derive(Debug, Serialize, JsonSchema)]
struct Release {
    /// Version of the release.
    version: Option<String>,
    /// Image of the release.
    image: String,
    /// Page about the release.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
}

/// Requested update: `spec.desiredUpdate`.
#[derive(Debug, Serialize, JsonSchema)]
struct Requested {
    /// Requested version.
    version: Option<String>,
    /// Requested image.
    image: Option<String>,
    /// Requested architecture.
    architecture: Option<String>,
    /// Mode of the request, such as `Preflight`.
    mode: Option<String>,
    /// Whether signature verification, preconditions and risks are waived.
    force: bool,
    /// Whether the cluster has the requested architecture.
    #[serde(skip)]
    fits_architecture: bool,
}

/// Condition of ClusterVersion.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Condition {
    /// Type of the condition.
    #[serde(rename = "type")]
    type_: String,
    /// `True`, `False` or `Unknown`.
    status: String,
    /// Reason, one CamelCase word.
    reason: Option<String>,
    /// Human-readable details.
    message: Option<String>,
    /// Time of the latest change of `status`.
    #[schemars(with = "Option<String>")]
    last_transition_time: Option<Timestamp>,
    /// Seconds since `lastTransitionTime`.
    age_seconds: Option<i64>,
}

/// Update that is not recommended for this cluster.
#[derive(Debug, Serialize, JsonSchema)]
struct NotRecommended {
    #[serde(flatten)]
    release: Release,
    /// Status of the condition `Recommended`: `False` or `Unknown`.
    recommended: String,
    /// Reason of the condition.
    reason: Option<String>,
    /// Message of the condition.
    message: Option<String>,
    /// Risks of the update.
    risks: Vec<Risk>,
}

/// Risk of an update.
#[derive(Debug, Serialize, JsonSchema)]
struct Risk {
    /// Name by which the risk is accepted.
    name: String,
    /// Page about the risk.
    url: Option<String>,
    /// Whether the risk applies to the cluster.
    exposure: Exposure,
    /// State of the acceptance.
    acceptance: &'static str,
    #[serde(skip)]
    acceptance_state: AcceptanceState,
}

/// Accepted risk, with its terms.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct AcceptedRisk {
    /// Name of the risk.
    name: String,
    #[serde(flatten)]
    terms: fairway_risk::AcceptanceTerms,
    /// Whether the acceptance is valid: not expired, and with valid terms.
    effective: bool,
    /// Versions of the listed updates with this risk.
    updates: Vec<String>,
    #[serde(skip)]
    acceptance_state: AcceptanceState,
}

impl Report {
    /// Report on a ClusterVersion.
    fn of(cluster_version: &ClusterVersion, now: Timestamp) -> Self {
        let nothing = ClusterVersionStatus::default();
        let status = cluster_version.status.as_ref().unwrap_or(&nothing);
        let spec = &cluster_version.spec;
        let acceptance = risks::acceptance(cluster_version);
        let mut recommended: Vec<Release> =
            status.available_updates.iter().flatten().map(Release::of).collect();
        recommended.sort_by_cached_key(latest_first);
        let not_recommended = not_recommended(status, &acceptance, now);
        let retrieved = status.conditions.is_true(retrieved_updates::TYPE);
        Self {
            current: current(status),
            desired: Some(Release::of(&status.desired)).filter(|release| !release.is_empty()),
            requested: spec
                .desired_update
                .as_ref()
                .and_then(|update| Requested::of(update, status)),
            spec_observed: is_observed(cluster_version),
            conditions: status.conditions.iter().map(|one| Condition::of(one, now)).collect(),
            upstream: spec.upstream.clone().filter(|upstream| !upstream.is_empty()),
            channel: spec.channel.clone().filter(|channel| !channel.is_empty()),
            channels: status.desired.channels.clone(),
            updates_retrieved: retrieved || !recommended.is_empty() || !not_recommended.is_empty(),
            recommended,
            not_recommended,
            notes: Vec::new(),
            accepted_risks: accepted_risks(cluster_version, status, &acceptance, now),
            in_full: false,
        }
    }

    /// Adds the notes of components.
    fn with_notes(self, notes: Vec<Note>) -> Self {
        Self { notes, ..self }
    }

    /// Sets whether the text has the updates that are not recommended.
    fn in_full(self, in_full: bool) -> Self {
        Self { in_full, ..self }
    }
}

impl Release {
    fn of(release: &fairway_api::cluster_version::Release) -> Self {
        Self {
            version: Some(release.version.clone()).filter(|version| !version.is_empty()),
            image: release.image.clone(),
            url: release.url.clone(),
        }
    }

    fn is_empty(&self) -> bool {
        self.version.is_none() && self.image.is_empty()
    }

    /// Version, or the image without a version.
    fn name(&self) -> &str {
        self.version.as_deref().unwrap_or(&self.image)
    }
}

fn latest_first(release: &Release) -> impl Ord + use<> {
    risks::latest_first(release.name())
}

/// Latest completed release.
fn current(status: &ClusterVersionStatus) -> Option<Release> {
    let completed = status.history.iter().find(|entry| entry.state == UpdateState::Completed)?;
    Some(Release {
        version: completed.version.clone(),
        image: completed.image.clone(),
        url: Some(&status.desired)
            .filter(|desired| desired.image == completed.image)
            .and_then(|desired| desired.url.clone()),
    })
}

impl Requested {
    fn of(update: &Update, status: &ClusterVersionStatus) -> Option<Self> {
        let architecture = update.architecture();
        (update.names_a_release() || update.mode.is_some()).then(|| Self {
            version: update.version().map(str::to_owned),
            image: update.image().map(str::to_owned),
            architecture: architecture.map(ToString::to_string),
            fits_architecture: architecture.is_none_or(|one| has_architecture(status, one)),
            mode: update.mode.as_ref().map(ToString::to_string),
            force: update.forced(),
        })
    }
}

impl Condition {
    fn of(condition: &OperatorCondition, now: Timestamp) -> Self {
        let since = condition.last_transition_time.as_ref().map(|Time(since)| *since);
        Self {
            type_: condition.type_.clone(),
            status: condition.status.to_string(),
            reason: condition.reason.clone(),
            message: condition.message.clone(),
            last_transition_time: since,
            age_seconds: since.map(|since| now.duration_since(since).as_secs()),
        }
    }
}

fn not_recommended(
    status: &ClusterVersionStatus,
    acceptance: &Acceptance,
    now: Timestamp,
) -> Vec<NotRecommended> {
    let others = status.conditional_updates.iter();
    let others = others.filter(|update| !update.conditions.is_true(recommended::TYPE));
    let mut others: Vec<_> =
        others.map(|update| NotRecommended::of(status, update, acceptance, now)).collect();
    others.sort_by_cached_key(|update| latest_first(&update.release));
    others
}

impl NotRecommended {
    fn of(
        status: &ClusterVersionStatus,
        update: &ConditionalUpdate,
        acceptance: &Acceptance,
        now: Timestamp,
    ) -> Self {
        let condition = update.conditions.find(recommended::TYPE);
        let risk = |name: &str| {
            let hash = risks::definition_hash(status, name);
            let acceptance_state = acceptance.state(name, &update.release.version, &hash, now);
            Risk {
                name: name.to_owned(),
                url: risks::definition(status, name).map(|risk| risk.url.clone()),
                exposure: Exposure::of(status, update, name, acceptance_state.is_accepted()),
                acceptance: acceptance_state.as_str(),
                acceptance_state,
            }
        };
        Self {
            release: Release::of(&update.release),
            recommended: condition
                .map_or_else(|| "Unknown".to_owned(), |condition| condition.status.to_string()),
            reason: condition.map(|condition| condition.reason.clone()),
            message: condition.map(|condition| condition.message.clone()),
            risks: risks::names(update).into_iter().map(risk).collect(),
        }
    }
}

fn accepted_risks(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
    acceptance: &Acceptance,
    now: Timestamp,
) -> Vec<AcceptedRisk> {
    let stored = read_terms(risks::annotation(cluster_version)).unwrap_or_default();
    let affected_updates = |name: &str| {
        let updates = status.conditional_updates.iter();
        let mut versions: Vec<String> = updates
            .filter(|update| risks::names(update).contains(name))
            .map(|update| update.release.version.clone())
            .collect();
        versions.sort_by_cached_key(|version| risks::latest_first(version));
        versions
    };
    let accepted = |name: &str| {
        let hash = risks::definition_hash(status, name);
        let acceptance_state = acceptance.state(name, "", &hash, now);
        AcceptedRisk {
            name: name.to_owned(),
            terms: stored.get(name).and_then(parse_terms).unwrap_or_default(),
            effective: acceptance_state.is_accepted()
                || matches!(acceptance_state, AcceptanceState::OutOfScope(_)),
            updates: affected_updates(name),
            acceptance_state,
        }
    };
    acceptance.names().map(accepted).collect()
}

#[cfg(test)]
mod tests;
