//! The selected part of a graph, and hints for unknown versions and channels.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use fairway_api::Version;
use fairway_graph::analysis::UpgradePathError;
use fairway_graph::{Graph, Node, Scope};

use crate::args::graph::ViewArgs;
use crate::errors::CannotTell;
use crate::printer::Printer;

/// The default architecture, as in update services.
pub(in crate::commands) const USUAL_ARCHITECTURE: &str = "amd64";

/// Maximum number of names in a hint.
const MAX_HINT_NAMES: usize = 12;

/// A graph and its selected part.
pub(super) struct View<'a> {
    whole: Graph,
    pub(super) scope: Scope<'a>,
    pub(super) graph: Graph,
}

impl<'a> View<'a> {
    /// Reads a graph and selects a part.
    pub(super) fn read(args: &'a ViewArgs, printer: &Printer) -> anyhow::Result<Self> {
        let whole = super::input::graph(&args.input, printer)?;
        Self::select(whole, args.input.arch.as_deref(), args.channel.as_deref())
    }

    /// Selects a part of a graph, with one architecture if it has any.
    pub(super) fn select(
        whole: Graph,
        architecture: Option<&'a str>,
        channel: Option<&'a str>,
    ) -> anyhow::Result<Self> {
        let scope = Scope { architecture: usual(&whole, architecture)?, channel };
        check_scope(&whole, scope)?;
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

    /// The error for a version that is not in this part.
    pub(super) fn explain(&self, error: &UpgradePathError) -> CannotTell {
        explain(&self.whole, self.scope, error)
    }
}

/// The selected architecture, if the graph has any.
pub(in crate::commands) fn usual<'a>(
    graph: &Graph,
    chosen: Option<&'a str>,
) -> Result<Option<&'a str>, CannotTell> {
    let known = graph.architectures();
    match chosen {
        Some(_) => Ok(chosen),
        None if known.is_empty() => Ok(None),
        None if known.contains(USUAL_ARCHITECTURE) => Ok(Some(USUAL_ARCHITECTURE)),
        None => Err(CannotTell::new(
            format!("no release for architecture {USUAL_ARCHITECTURE}"),
            format!("select one of {} with --arch", join(known.into_iter())),
        )),
    }
}

/// Fails if the architecture or the channel does not exist.
pub(super) fn check_scope(graph: &Graph, scope: Scope<'_>) -> Result<(), CannotTell> {
    let architectures = graph.architectures();
    if let Some(wanted) = scope.architecture.filter(|wanted| !architectures.contains(wanted)) {
        return Err(CannotTell::new(
            format!("no release for architecture {wanted}"),
            alternatives("architectures", architectures.into_iter().collect()),
        ));
    }
    let channels: BTreeSet<&str> = graph.nodes().iter().flat_map(Node::channels).collect();
    if let Some(wanted) = scope.channel.filter(|wanted| !channels.contains(wanted)) {
        return Err(CannotTell::new(
            format!("no release in channel {wanted}"),
            alternatives("channels", similar_channels(wanted, channels)),
        ));
    }
    Ok(())
}

/// The error for a version that is not in a part of a graph.
pub(super) fn explain(graph: &Graph, scope: Scope<'_>, error: &UpgradePathError) -> CannotTell {
    let unknown = match error {
        UpgradePathError::Unknown(text) => Version::parse(text).ok(),
        _ => None,
    };
    match unknown.map(|version| version.without_build()) {
        Some(version) => CannotTell::new(
            format!("cannot find version {version}{}", describe(scope)),
            locations(graph, scope, &version),
        ),
        None => CannotTell::new(error.to_string(), "select an architecture with --arch"),
    }
}

/// Describes the scope of a search.
fn describe(scope: Scope<'_>) -> String {
    let architecture = scope.architecture.map(|name| format!(" for {name}"));
    let channel = scope.channel.map(|name| format!(" in {name}"));
    architecture.unwrap_or_default() + &channel.unwrap_or_default()
}

/// Hint with the architectures or channels of a version outside of the scope.
fn locations(graph: &Graph, scope: Scope<'_>, version: &Version) -> String {
    let nodes: Vec<&Node> = graph.find(version).map(|id| graph.node(id)).collect();
    if nodes.is_empty() {
        return nearest_versions(graph, scope, version);
    }
    let within = |architecture| Scope { architecture: Some(architecture), channel: None };
    let here: Vec<&&Node> = nodes
        .iter()
        .filter(|node| scope.architecture.is_none_or(|wanted| within(wanted).contains(node)))
        .collect();
    if here.is_empty() {
        let architectures: BTreeSet<&str> =
            nodes.iter().flat_map(|node| node.architectures()).collect();
        if architectures.is_empty() {
            return format!("other releases refer to {version}, but no release has this version");
        }
        return format!(
            "available for {}; select one with --arch",
            join(architectures.into_iter())
        );
    }
    let channels: BTreeSet<&str> = here.iter().flat_map(|node| node.channels()).collect();
    if channels.is_empty() {
        return "the version is in no channel; omit --channel".to_owned();
    }
    format!(
        "available in {}; select one with --channel, or omit --channel",
        join(latest_first(channels).into_iter())
    )
}

/// The versions before and after an unknown one.
fn nearest_versions(graph: &Graph, scope: Scope<'_>, version: &Version) -> String {
    let shown =
        || graph.nodes().iter().filter(|node| scope.contains(node)).map(|node| &node.version);
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

/// Channels with the kind or the version of an unknown one, latest first.
fn similar_channels<'a>(wanted: &str, known: BTreeSet<&'a str>) -> Vec<&'a str> {
    let (kind, stream) = wanted.rsplit_once('-').unwrap_or((wanted, ""));
    let same_stream = |name: &&str| name.rsplit_once('-').is_some_and(|(_, known)| known == stream);
    let same_kind = |name: &&str| name.rsplit_once('-').is_some_and(|(known, _)| known == kind);
    let latest_first = latest_first(known);
    let streams: Vec<&str> = latest_first.iter().copied().filter(same_stream).collect();
    let kinds: Vec<&str> = latest_first.iter().copied().filter(same_kind).collect();
    [streams, kinds].into_iter().find(|names| !names.is_empty()).unwrap_or(latest_first)
}

/// Channels by the numbers in their names, latest first.
fn latest_first(channels: BTreeSet<&str>) -> Vec<&str> {
    let numbers = |name: &str| -> Vec<u64> {
        let parts = name.split(|letter: char| !letter.is_ascii_digit());
        parts.filter_map(|digits| digits.parse().ok()).collect()
    };
    let mut names: Vec<&str> = channels.into_iter().collect();
    names.sort_by_key(|name| Reverse(numbers(name)));
    names
}

fn alternatives(what: &str, names: Vec<&str>) -> String {
    if names.is_empty() {
        return format!("the graph contains no {what}; specify graph-data with --graph-data");
    }
    format!("{what} with releases: {}", join(names.into_iter()))
}

fn join<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let hidden = names.len().saturating_sub(MAX_HINT_NAMES);
    let shown = names.take(MAX_HINT_NAMES).collect::<Vec<_>>().join(", ");
    if hidden == 0 { shown } else { format!("{shown} and {hidden} more") }
}
