//! Text of plans.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::reason::{failing, invalid};
use fairway_api::version::MAX_SKIPPED_MINORS;
use fairway_insight::plan::{
    GraphSource, Hop, HopRisk, Limitation, MetricsSource, NotOffered, Plan, Prerequisite,
    SkippedTarget, UpgradePath,
};
use fairway_insight::{Exposure, Verdict};
use fairway_risk::AcceptanceState;
use fairway_text::counted;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::report::text::Age;
use crate::foreign_text::{OneLine, lines};

/// Upgrade paths of a cluster to a goal.
#[derive(Serialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct PlanText<'a>(pub(super) &'a Plan);

impl fmt::Display for PlanText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plan = self.0;
        match &plan.least_risk {
            None => write_without_path(f, plan)?,
            Some(path) => self.write_path(f, path)?,
        }
        self.write_shorter(f)?;
        for skipped in &plan.skipped_targets {
            write!(f, "\n\n{}", SkippedText(skipped))?;
        }
        self.write_sources(f)
    }
}

impl PlanText<'_> {
    fn write_path(&self, f: &mut fmt::Formatter<'_>, path: &UpgradePath) -> fmt::Result {
        let plan = self.0;
        let to = OneLine(plan.target.as_deref().unwrap_or(&plan.goal));
        if path.hops.is_empty() && plan.in_progress {
            return write!(
                f,
                "The update to {to} is in progress. Run `fairway upgrade status` for details."
            );
        }
        if path.hops.is_empty() {
            return write!(f, "The cluster runs {to}.");
        }
        let hops = counted(path.hops.len(), "hop");
        write!(
            f,
            "From {} to {to} in {hops}. {}",
            OneLine(&plan.from),
            VerdictText(plan.verdict(), path)
        )?;
        for (place, hop) in path.hops.iter().enumerate() {
            write!(f, "\n\n{}. {}", place + 1, HopText(hop))?;
        }
        match &plan.not_offered {
            Some(why) => write!(f, "\n\n{to} is not available now: {}", NotOfferedText(plan, why)),
            None => Ok(()),
        }
    }

    /// Writes the path with the fewest hops, if it is another one.
    fn write_shorter(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(safe), Some(short)) = (&self.0.least_risk, &self.0.fewest_hops) else {
            return Ok(());
        };
        if short.hops.len() >= safe.hops.len() {
            return Ok(());
        }
        let stops: Vec<&str> = short.hops.iter().map(|hop| hop.to.as_str()).collect();
        let hops = counted(short.hops.len(), "hop");
        write!(f, "\n\nFaster, in {hops}: {} -> ", OneLine(&self.0.from))?;
        write!(f, "{}, with {}.", OneLine(&stops.join(" -> ")), Names(unaccepted(short)))
    }

    fn write_sources(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\n")?;
        for limitation in &self.0.limitations {
            write!(f, "\n{}", LimitationText(limitation))?;
        }
        match &self.0.graph_source {
            GraphSource::UpdateService { url, channels, .. } => {
                let channels = channels.iter().map(String::as_str).collect();
                write!(f, "\nSource of updates: {}, for {}.", OneLine(url), Names(channels))
            }
            GraphSource::File { file } => write!(f, "\nSource of updates: {}.", OneLine(file)),
            GraphSource::ClusterVersion { message } => {
                let message = message.trim_end_matches('.');
                write!(
                    f,
                    "\nSource of updates: ClusterVersion, next updates only ({}).",
                    OneLine(message)
                )
            }
        }?;
        match &self.0.metrics_source {
            None => Ok(()),
            Some(MetricsSource { file, observation_time: None }) => {
                write!(f, "\nSource of metrics: {}.", OneLine(file))
            }
            Some(MetricsSource { file, observation_time: Some(at) }) => {
                let (file, age) =
                    (OneLine(file), self.0.observation_time.duration_since(*at).as_secs());
                write!(f, "\nSource of metrics: {file}, as of {at}, {} ago.", Age(age))
            }
        }
    }
}

/// Distinct unaccepted risks of a path.
fn unaccepted(path: &UpgradePath) -> BTreeSet<&str> {
    path.unaccepted().map(|risk| risk.name.as_str()).collect()
}

/// Comma-separated names.
struct Names<'a>(BTreeSet<&'a str>);

impl fmt::Display for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<String> = self.0.iter().map(|name| OneLine(name).to_string()).collect();
        if names.is_empty() {
            return f.write_str("no unaccepted risks");
        }
        f.write_str(&names.join(", "))
    }
}

/// Verdict on a path in one sentence.
struct VerdictText<'a>(Verdict, &'a UpgradePath);

impl fmt::Display for VerdictText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(verdict, path) = self;
        let names = unaccepted(path);
        let count = names.len();
        if let Some(first) = path.repairs().next() {
            return write!(f, "{} before any update.", RepairText(first));
        }
        match verdict {
            Verdict::Yes => f.write_str("No known issues."),
            Verdict::No if count == 1 => write!(f, "Blocked by {}.", Names(names)),
            Verdict::No => write!(f, "Blocked by {count} risks."),
            Verdict::Unknown if count == 0 => {
                f.write_str("Compatibility of OLM operators is unknown.")
            }
            Verdict::Unknown if count == 1 => {
                write!(f, "Exposure to {} is unknown.", Names(names))
            }
            Verdict::Unknown => {
                write!(f, "Exposure to {count} risks is unknown.")
            }
        }
    }
}

/// Problem of the cluster that must be repaired.
struct RepairText<'a>(&'a Prerequisite);

impl fmt::Display for RepairText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Prerequisite::Repair { condition, .. } if condition == failing::TYPE => {
                f.write_str("The cluster is failing and must be repaired")
            }
            Prerequisite::Repair { condition, .. } if condition == invalid::TYPE => {
                f.write_str("ClusterVersion is invalid and must be corrected")
            }
            _ => f.write_str("The cluster is not upgradeable and must be repaired"),
        }
    }
}

/// Text of one hop.
struct HopText<'a>(&'a Hop);

impl fmt::Display for HopText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hop = self.0;
        write!(f, "{} -> {}, {}", OneLine(&hop.from), OneLine(&hop.to), hop.step)?;
        for need in hop.prerequisites.iter().filter(|need| need.risk().is_none()) {
            if let Prerequisite::Repair { message, .. } = need {
                write!(f, "\n   {}", RepairText(need))?;
                lines(message).try_for_each(|line| write!(f, "\n     {line}"))?;
            }
        }
        for risk in hop.unaccepted() {
            write_risk(
                f,
                risk,
                hop.prerequisites.iter().find(|need| need.risk() == Some(&risk.name)),
            )?;
        }
        let others = hop.risks.iter().filter(|risk| !risk.blocking && is_exposed(risk));
        let (accepted, advice): (Vec<_>, Vec<_>) = others.partition(|risk| is_accepted(risk));
        for (what, risks) in [("Accepted", accepted), ("Advisory", advice)] {
            if !risks.is_empty() {
                let names = risks.iter().map(|risk| risk.name.as_str()).collect();
                write!(f, "\n   {what}: {}", Names(names))?;
            }
        }
        hop.commands.iter().try_for_each(|command| write!(f, "\n   $ {}", OneLine(command)))
    }
}

fn is_exposed(risk: &HopRisk) -> bool {
    risk.exposure != Exposure::NotExposed
}

fn is_accepted(risk: &HopRisk) -> bool {
    risk.acceptance_state.is_accepted()
}

fn write_risk(
    f: &mut fmt::Formatter<'_>,
    risk: &HopRisk,
    need: Option<&Prerequisite>,
) -> fmt::Result {
    let name = OneLine(&risk.name);
    let mut message = risk.message.as_str();
    match need {
        Some(Prerequisite::Operator { operator, .. }) => {
            write!(f, "\n   Update operator {} first, or accept {name}", OneLine(operator))?;
        }
        Some(Prerequisite::Component { component, .. }) => {
            write!(
                f,
                "\n   Component {} is not ready: resolve this, or accept {name}",
                OneLine(component)
            )?;
        }
        Some(Prerequisite::Confirmation { message: text, .. }) => {
            write!(f, "\n   Admin ack required: {name}")?;
            message = text;
        }
        Some(need @ Prerequisite::Repair { .. }) => write!(f, "\n   {name}: {}", RepairText(need))?,
        _ => write!(f, "\n   {name} {}", exposed(risk))?,
    }
    if risk.exposure == Exposure::Unknown {
        lines(&risk.exposure_message).try_for_each(|line| write!(f, "\n     {line}"))?;
    }
    for line in lines(message) {
        write!(f, "\n     {line}")?;
    }
    match need {
        Some(Prerequisite::Confirmation { .. }) => Ok(()),
        _ => write!(f, "\n     {}", OneLine(&risk.url)),
    }
}

fn exposed(risk: &HopRisk) -> &'static str {
    match (risk.exposure, &risk.acceptance_state) {
        (Exposure::NotEvaluated, _) => "may apply: not evaluated yet",
        (Exposure::Unknown, _) => "may apply: cannot be evaluated",
        (_, AcceptanceState::Expired(_)) => "applies, and its acceptance has expired",
        (_, AcceptanceState::OutOfScope(_)) => "applies, and is accepted only for other versions",
        (_, AcceptanceState::TermsUnreadable(_)) => "applies, and its acceptance terms are invalid",
        _ => "applies",
    }
}

/// Text of a skipped target.
struct SkippedText<'a>(&'a SkippedTarget);

impl fmt::Display for SkippedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SkippedTarget { version, risks } = self.0;
        let version = OneLine(version);
        let names: BTreeSet<&str> = risks.iter().map(String::as_str).collect();
        match names.len() {
            0 => write!(f, "{version} is later, but has no upgrade path."),
            1 => write!(f, "{version} is later, but blocked by {}.", Names(names)),
            _ => write!(f, "{version} is later, but blocked by these risks: {}.", Names(names)),
        }
    }
}

/// Text of a limitation.
struct LimitationText<'a>(&'a Limitation);

impl fmt::Display for LimitationText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Limitation::Operators { message } => {
                write!(f, "OLM operators are unknown: {}.", OneLine(message))
            }
            Limitation::Queries { message } => {
                write!(f, "PromQL rules cannot be evaluated: {}.", OneLine(message))
            }
            Limitation::Channels { channels, message } => {
                let channels = Names(channels.iter().map(String::as_str).collect());
                write!(f, "Updates of {channels} are unknown: {}.", OneLine(message))
            }
            Limitation::EmptyChannel { channel } => {
                write!(f, "Channel {} has no releases: check its name.", OneLine(channel))
            }
            Limitation::LaterReleases => f.write_str(
                "Each release on this path can add risks: run `fairway upgrade plan` again \
                 after each update.",
            ),
        }
    }
}

/// Writes why there is no path, and a hint.
fn write_without_path(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    write!(f, "No upgrade path from {} to {}", OneLine(&plan.from), OneLine(&plan.goal))?;
    let Some(why) = &plan.not_offered else { return f.write_str(".") };
    write!(f, ": {}", NotOfferedText(plan, why))?;
    match why {
        NotOffered::NotInChannel { channels } if !channels.is_empty() => {
            let here = plan.channel.as_deref().unwrap_or_default();
            let last = like(here, channels).into_iter().next_back().unwrap_or_default();
            write!(f, "\nTo include that channel, add --channel={}.", OneLine(last))
        }
        _ => Ok(()),
    }
}

/// Channels of the same family as `here`, or all if there are none.
fn like<'a>(here: &str, channels: &'a [String]) -> BTreeSet<&'a str> {
    let kind = here.rsplit_once('-').map(|(kind, _)| kind);
    let is_like = |channel: &&str| channel.rsplit_once('-').map(|(kind, _)| kind) == kind;
    let all = channels.iter().map(String::as_str);
    let like: BTreeSet<&str> = all.clone().filter(is_like).collect();
    if like.is_empty() { all.collect() } else { like }
}

/// Text of the reason why the target is not offered.
struct NotOfferedText<'a>(&'a Plan, &'a NotOffered);

impl fmt::Display for NotOfferedText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(plan, why) = self;
        let (from, to) =
            (OneLine(&plan.from), OneLine(plan.target.as_deref().unwrap_or(&plan.goal)));
        match why {
            NotOffered::UnknownCurrentVersion => {
                write!(f, "{from} is not in the update graph")?;
                if let GraphSource::UpdateService { architecture, .. } = &plan.graph_source {
                    write!(f, " for the architecture {}", OneLine(architecture))?;
                }
                f.write_str(", so its updates are unknown.")
            }
            NotOffered::UnknownVersion => match plan.graph_source {
                GraphSource::ClusterVersion { .. } => {
                    write!(f, "ClusterVersion lists no update to {to}.")
                }
                _ => write!(f, "the update graph has no release {to}."),
            },
            NotOffered::Older => {
                write!(f, "{to} is older than {from}, and updates lead only to later versions.")
            }
            NotOffered::NotInChannel { channels } => {
                let here = plan.channel.as_deref().unwrap_or("the channel of the cluster");
                let channels = Names(like(here, channels));
                write!(f, "it is not in {}, but in {channels}.", OneLine(here))
            }
            NotOffered::Tombstoned { channel, file } => {
                write!(f, "{} removes it from {}.", OneLine(file), OneLine(channel))
            }
            NotOffered::Blocked { causes } => {
                write!(f, "graph-data blocks the update from {from}.")?;
                causes.iter().try_for_each(|cause| write!(f, "\n  {}", OneLine(&cause.to_string())))
            }
            NotOffered::NoEdge { from_versions: others } if others.is_empty() => {
                f.write_str("no update leads to it.")
            }
            NotOffered::NoEdge { from_versions: others } => {
                let others = others.join(", ");
                write!(f, "no update leads to it from {from}, only from {}.", OneLine(&others))
            }
            NotOffered::Guard { minor_distance: Some(minors) } => write!(
                f,
                "it is {minors} minor versions after {from}, and an update can cross at most \
                 {MAX_SKIPPED_MINORS}."
            ),
            NotOffered::Guard { minor_distance: None } => {
                f.write_str("the only update to another major version is from 4.y to 5.0.")
            }
        }
    }
}
