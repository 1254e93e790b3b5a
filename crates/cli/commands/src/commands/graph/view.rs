//! The part of a graph that a question is about, and what to ask instead when it is not there.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use fairway_api::Version;
use fairway_graph::question::PathsError;
use fairway_graph::{Graph, Node, Scope};

use crate::args::graph::ViewArgs;
use crate::errors::CannotTell;
use crate::printer::Printer;

/// What clusters are taken to be that do not say it, here and by update services.
pub(in crate::commands) const USUAL_ARCHITECTURE: &str = "amd64";

/// Names in a hint: more would not be read.
const FEW_NAMES: usize = 12;

/// A graph, and the part of it that a question is about.
pub(super) struct View<'a> {
    whole: Graph,
    pub(super) scope: Scope<'a>,
    pub(super) graph: Graph,
}

impl<'a> View<'a> {
    /// Reads a graph and chooses a part of it.
    pub(super) fn read(args: &'a ViewArgs, printer: &Printer) -> anyhow::Result<Self> {
        let whole = super::input::graph(&args.input, printer)?;
        Self::choose(whole, args.input.arch.as_deref(), args.channel.as_deref())
    }

    /// Chooses a part of a graph: of one architecture, if it has any.
    pub(super) fn choose(
        whole: Graph,
        architecture: Option<&'a str>,
        channel: Option<&'a str>,
    ) -> anyhow::Result<Self> {
        let scope = Scope { architecture: usual(&whole, architecture)?, channel };
        exists(&whole, scope)?;
        Ok(Self { graph: whole.within(scope), scope, whole })
    }

    /// Title of this part.
    pub(super) fn title(&self) -> String {
        let channel = self.scope.channel.unwrap_or("all channels");
        match self.scope.architecture {
            Some(architecture) => format!("{channel}, {architecture}"),
            None => channel.to_owned(),
        }
    }

    /// Why a version is not found here, and where it is.
    pub(super) fn explain(&self, error: &PathsError) -> CannotTell {
        explain(&self.whole, self.scope, error)
    }
}

/// The architecture that is meant, if the graph knows any.
pub(in crate::commands) fn usual<'a>(
    graph: &Graph,
    chosen: Option<&'a str>,
) -> Result<Option<&'a str>, CannotTell> {
    let known = graph.architectures();
    match chosen {
        Some(_) => Ok(chosen),
        None if known.is_empty() => Ok(None),
        None if known.contains(USUAL_ARCHITECTURE) => Ok(Some(USUAL_ARCHITECTURE)),
        None => Err(CannotTell {
            message: format!("no release for architecture {USUAL_ARCHITECTURE}"),
            hint: format!("select one of {} with --arch", listed(known.into_iter())),
        }),
    }
}

/// Whether there are such an architecture and such a channel.
pub(super) fn exists(graph: &Graph, scope: Scope<'_>) -> Result<(), CannotTell> {
    let architectures = graph.architectures();
    if let Some(wanted) = scope.architecture.filter(|wanted| !architectures.contains(wanted)) {
        return Err(CannotTell {
            message: format!("no release for architecture {wanted}"),
            hint: instead("architectures", architectures.into_iter().collect()),
        });
    }
    let channels: BTreeSet<&str> = graph.nodes().iter().flat_map(Node::channels).collect();
    if let Some(wanted) = scope.channel.filter(|wanted| !channels.contains(wanted)) {
        return Err(CannotTell {
            message: format!("no release in channel {wanted}"),
            hint: instead("channels", alike(wanted, channels)),
        });
    }
    Ok(())
}

/// Why a version is not found in a part of a graph, and where it is.
pub(super) fn explain(graph: &Graph, scope: Scope<'_>, error: &PathsError) -> CannotTell {
    let unknown = match error {
        PathsError::Unknown(text) => Version::parse(text).ok(),
        _ => None,
    };
    match unknown.map(|version| version.without_build()) {
        Some(version) => CannotTell {
            message: format!("cannot find version {version}{}", place(scope)),
            hint: whereabouts(graph, scope, &version),
        },
        None => CannotTell {
            message: error.to_string(),
            hint: "select an architecture with --arch".to_owned(),
        },
    }
}

/// Describes the scope of a search.
fn place(scope: Scope<'_>) -> String {
    let architecture = scope.architecture.map(|name| format!(" for {name}"));
    let channel = scope.channel.map(|name| format!(" in {name}"));
    architecture.unwrap_or_default() + &channel.unwrap_or_default()
}

/// Hint with the architectures or channels of a version outside of the scope.
fn whereabouts(graph: &Graph, scope: Scope<'_>, version: &Version) -> String {
    let nodes: Vec<&Node> = graph.find(version).map(|id| graph.node(id)).collect();
    if nodes.is_empty() {
        return neighbours(graph, scope, version);
    }
    let within = |architecture| Scope { architecture: Some(architecture), channel: None };
    let here: Vec<&&Node> = nodes
        .iter()
        .filter(|node| scope.architecture.is_none_or(|wanted| within(wanted).shows(node)))
        .collect();
    if here.is_empty() {
        let architectures: BTreeSet<&str> =
            nodes.iter().flat_map(|node| node.architectures()).collect();
        if architectures.is_empty() {
            return format!("other releases refer to {version}, but no release has this version");
        }
        return format!(
            "available for {}; select one with --arch",
            listed(architectures.into_iter())
        );
    }
    let channels: BTreeSet<&str> = here.iter().flat_map(|node| node.channels()).collect();
    if channels.is_empty() {
        return "the version is in no channel; omit --channel".to_owned();
    }
    format!(
        "available in {}; select one with --channel, or omit --channel",
        listed(latest_first(channels).into_iter())
    )
}

/// The versions before and after one that does not exist.
fn neighbours(graph: &Graph, scope: Scope<'_>, version: &Version) -> String {
    let shown = || graph.nodes().iter().filter(|node| scope.shows(node)).map(|node| &node.version);
    let before = shown().rfind(|known| *known < version);
    let after = shown().find(|known| *known > version);
    let text = |version: &Version| version.without_build().to_string();
    match (before, after) {
        (Some(before), Some(after)) => {
            format!("nearest versions: {} and {}", text(before), text(after))
        }
        (Some(last), None) => format!("latest version: {}", text(last)),
        (None, Some(first)) => format!("earliest version: {}", text(first)),
        (None, None) => "the graph contains no versions".to_owned(),
    }
}

/// Channels that share their kind or their version with one that is unknown, the latest first.
fn alike<'a>(wanted: &str, known: BTreeSet<&'a str>) -> Vec<&'a str> {
    let (kind, stream) = wanted.rsplit_once('-').unwrap_or((wanted, ""));
    let same_stream = |name: &&str| name.rsplit_once('-').is_some_and(|(_, known)| known == stream);
    let same_kind = |name: &&str| name.rsplit_once('-').is_some_and(|(known, _)| known == kind);
    let latest_first = latest_first(known);
    let streams: Vec<&str> = latest_first.iter().copied().filter(same_stream).collect();
    let kinds: Vec<&str> = latest_first.iter().copied().filter(same_kind).collect();
    [streams, kinds].into_iter().find(|names| !names.is_empty()).unwrap_or(latest_first)
}

/// Channels by the numbers in their names, the latest first.
fn latest_first(channels: BTreeSet<&str>) -> Vec<&str> {
    let numbers = |name: &str| -> Vec<u64> {
        let parts = name.split(|letter: char| !letter.is_ascii_digit());
        parts.filter_map(|digits| digits.parse().ok()).collect()
    };
    let mut names: Vec<&str> = channels.into_iter().collect();
    names.sort_by_key(|name| Reverse(numbers(name)));
    names
}

fn instead(what: &str, names: Vec<&str>) -> String {
    if names.is_empty() {
        return format!("the graph contains no {what}; specify graph-data with --graph-data");
    }
    format!("{what} with releases: {}", listed(names.into_iter()))
}

fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let hidden = names.len().saturating_sub(FEW_NAMES);
    let shown = names.take(FEW_NAMES).collect::<Vec<_>>().join(", ");
    if hidden == 0 { shown } else { format!("{shown} and {hidden} more") }
}
