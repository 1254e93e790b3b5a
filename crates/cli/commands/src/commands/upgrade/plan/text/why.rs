//! Why a version is not offered, as administrators read it.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::leap::MOST_MINORS;
use fairway_insight::plan::{GraphSource, NotOffered, Plan};

use super::Names;
use crate::foreign_text::OneLine;

/// That there is no way, why, and where else to look.
pub(super) fn write_no_way(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    write!(f, "No upgrade path from {} to {}", OneLine(&plan.from), OneLine(&plan.goal))?;
    let Some(why) = &plan.not_offered else { return f.write_str(".") };
    write!(f, ": {}", Told(plan, why))?;
    match why {
        NotOffered::NotInChannel { channels } if !channels.is_empty() => {
            let here = plan.channel.as_deref().unwrap_or_default();
            let last = like(here, channels).into_iter().next_back().unwrap_or_default();
            write!(f, "\nTo include that channel, add --channel={}.", OneLine(last))
        }
        _ => Ok(()),
    }
}

/// Those of the channels that are of one kind with `here`; all of them where none is.
fn like<'a>(here: &str, channels: &'a [String]) -> BTreeSet<&'a str> {
    let kind = here.rsplit_once('-').map(|(kind, _)| kind);
    let is_like = |channel: &&str| channel.rsplit_once('-').map(|(kind, _)| kind) == kind;
    let all = channels.iter().map(String::as_str);
    let like: BTreeSet<&str> = all.clone().filter(is_like).collect();
    if like.is_empty() { all.collect() } else { like }
}

/// Why the version of a plan is not offered.
pub(super) struct Told<'a>(pub(super) &'a Plan, pub(super) &'a NotOffered);

impl fmt::Display for Told<'_> {
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
                 {MOST_MINORS}."
            ),
            NotOffered::Guard { minor_distance: None } => {
                f.write_str("the only update to another major version is from 4.y to 5.0.")
            }
        }
    }
}
