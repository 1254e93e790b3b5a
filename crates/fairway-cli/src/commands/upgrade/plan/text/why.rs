//! Why a version is not offered, as administrators read it.

use std::collections::BTreeSet;
use std::fmt;

use fairway_api::leap::MOST_MINORS;
use fairway_insight::plan::{NotOffered, Plan};

use super::Names;
use crate::foreign_text::OneLine;

/// That there is no way, why, and where else to look.
pub(super) fn write_no_way(f: &mut fmt::Formatter<'_>, plan: &Plan) -> fmt::Result {
    write!(f, "No way leads from {} to {}.", OneLine(&plan.from), OneLine(&plan.goal))?;
    let Some(why) = &plan.not_offered else { return Ok(()) };
    write!(f, "\n{}", Told(plan, why))?;
    match why {
        NotOffered::Channel { channels } if !channels.is_empty() => {
            let last = channels.last().map_or("", String::as_str);
            write!(f, "\n--channel={} looks there as well.", OneLine(last))
        }
        _ => Ok(()),
    }
}

/// Why the version of a plan is not offered.
pub(super) struct Told<'a>(pub(super) &'a Plan, pub(super) &'a NotOffered);

impl fmt::Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(plan, why) = self;
        let (from, to) = (OneLine(&plan.from), OneLine(plan.to.as_deref().unwrap_or(&plan.goal)));
        match why {
            NotOffered::UnknownHere => {
                write!(f, "{from} is not in the graph, so nobody knows where it leads.")
            }
            NotOffered::UnknownVersion => write!(f, "There is no release of {to} in the graph."),
            NotOffered::Older => {
                write!(f, "{to} is older than {from}, and updates lead to later versions alone.")
            }
            NotOffered::Channel { channels } => {
                let here = plan.channel.as_deref().unwrap_or("the channel of the cluster");
                let channels: BTreeSet<&str> = channels.iter().map(String::as_str).collect();
                write!(f, "{} does not have it; it is in {}.", OneLine(here), Names(channels))
            }
            NotOffered::Tombstoned { channel, file } => {
                write!(f, "{} keeps it out of {}.", OneLine(file), OneLine(channel))
            }
            NotOffered::Blocked { causes } => {
                write!(f, "maintainers have removed the update from {from}.")?;
                causes.iter().try_for_each(|cause| write!(f, "\n  {}", OneLine(&cause.to_string())))
            }
            NotOffered::NoEdge { from: others } if others.is_empty() => {
                f.write_str("no update leads there.")
            }
            NotOffered::NoEdge { from: others } => {
                let others = others.join(", ");
                write!(f, "no update leads there from {from}, only from {}.", OneLine(&others))
            }
            NotOffered::Guard { minors: Some(minors) } => write!(
                f,
                "it is {minors} minor versions after {from}, and one update crosses at most \
                 {MOST_MINORS}."
            ),
            NotOffered::Guard { minors: None } => {
                f.write_str("the only update to another major version is from 4.y to 5.0.")
            }
        }
    }
}
