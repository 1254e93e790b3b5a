//! Goals of a plan.

use std::fmt;
use std::str::FromStr;

use fairway_api::Version;
use fairway_graph::{Graph, NodeId};

/// Goal of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Goal {
    /// A version.
    Version(Version),
    /// The latest release of a minor version.
    Stream {
        /// Major version.
        major: u64,
        /// Minor version.
        minor: u64,
    },
    /// The latest release of a channel.
    Channel(String),
    /// The latest release of the channel of the cluster.
    Latest,
}

/// Text that is not a valid goal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a version such as 5.2.3, a minor version such as 5.2, a channel such as \
     stable-5.2, or `latest`"
)]
pub struct GoalError(String);

impl FromStr for Goal {
    type Err = GoalError;

    fn from_str(text: &str) -> Result<Self, GoalError> {
        if text == "latest" {
            return Ok(Self::Latest);
        }
        if let Ok(version) = Version::parse(text) {
            return Ok(Self::Version(version.without_build()));
        }
        if let Some((major, minor)) = stream(text) {
            return Ok(Self::Stream { major, minor });
        }
        let legal = |letter: char| letter.is_ascii_alphanumeric() || "-._".contains(letter);
        let starts_with_letter = text.starts_with(|letter: char| letter.is_ascii_alphabetic());
        if starts_with_letter && text.contains('-') && text.chars().all(legal) {
            return Ok(Self::Channel(text.to_owned()));
        }
        Err(GoalError(text.chars().take(80).collect()))
    }
}

/// Parses a minor version `X.Y`.
pub(super) fn stream(text: &str) -> Option<(u64, u64)> {
    let (major, minor) = text.split_once('.')?;
    let number = |digits: &str| {
        let all = digits.bytes().all(|byte| byte.is_ascii_digit());
        all.then(|| digits.parse().ok()).flatten()
    };
    Some((number(major)?, number(minor)?))
}

impl Goal {
    /// Last minor version of the plan, if the goal determines it.
    pub(super) fn stream(&self) -> Option<(u64, u64)> {
        match self {
            Self::Version(version) => Some((version.major(), version.minor())),
            Self::Stream { major, minor } => Some((*major, *minor)),
            Self::Channel(name) => super::channels::family(name).map(|(_, stream)| stream),
            Self::Latest => None,
        }
    }

    /// Releases of the graph that match the goal, latest first.
    ///
    /// Pre-releases match only if the goal names one, or if there are no other releases. A channel
    /// such as `stable-5.2` also contains earlier minor versions; only releases of its own minor
    /// version match. Releases without channels match `latest`: ClusterVersion lists them for the
    /// channel of the cluster.
    pub(super) fn releases(&self, graph: &Graph, channel: Option<&str>) -> Vec<NodeId> {
        let channel = match self {
            Self::Channel(name) => Some(name.as_str()),
            Self::Latest => channel,
            _ => None,
        };
        let matches_goal = |(id, node): (NodeId, &fairway_graph::Node)| {
            let version = &node.version;
            let fits = match self {
                Self::Version(goal) => version == goal,
                Self::Stream { major, minor } => {
                    (version.major(), version.minor()) == (*major, *minor)
                }
                Self::Channel(_) | Self::Latest => {
                    channel.is_none_or(|channel| node.channels().any(|name| name == channel))
                        || *self == Self::Latest && node.channels().next().is_none()
                }
            };
            (fits && node.release.is_some()).then_some(id)
        };
        let mut found: Vec<NodeId> = graph.node_ids().rev().filter_map(matches_goal).collect();
        let version = |id: &NodeId| &graph.node(*id).version;
        let is_of_stream = |id: &NodeId| {
            self.stream().is_none_or(|stream| stream == (version(id).major(), version(id).minor()))
        };
        if found.iter().any(is_of_stream) {
            found.retain(is_of_stream);
        }
        let is_release = |id: &NodeId| version(id).pre_release().is_empty();
        if !matches!(self, Self::Version(_)) && found.iter().any(is_release) {
            found.retain(is_release);
        }
        found
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "{version}"),
            Self::Stream { major, minor } => write!(f, "{major}.{minor}"),
            Self::Channel(name) => f.write_str(name),
            Self::Latest => f.write_str("latest"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_accepts_versions_streams_channels_and_latest() {
        for (text, goal) in [
            ("5.2.3", Goal::Version(Version::new(5, 2, 3))),
            ("5.2", Goal::Stream { major: 5, minor: 2 }),
            ("4.21", Goal::Stream { major: 4, minor: 21 }),
            ("stable-5.2", Goal::Channel("stable-5.2".to_owned())),
            ("latest", Goal::Latest),
        ] {
            assert_eq!(text.parse(), Ok(goal), "{text}");
            assert_eq!(text.parse::<Goal>().unwrap().to_string(), text);
        }
        for text in ["", "5", "5.x", "v5.2", "stable", "-5.2", "a b-5.2", "+5.2", "5.2.3.4"] {
            assert!(text.parse::<Goal>().is_err(), "{text}");
        }
        let error = "5.x".parse::<Goal>().unwrap_err();
        insta::assert_snapshot!(error, @r#""5.x" is not a version such as 5.2.3, a minor version such as 5.2, a channel such as stable-5.2, or `latest`"#);
    }
}
