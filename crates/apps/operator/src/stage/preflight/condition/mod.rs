//! The conditions `PreflightRunning`, `PreflightCompleted` and `PreflightFailed`: what people are
//! told. They are always there: a client that wants to ask for a preflight finds out by them whether
//! anybody would understand it.

mod completed;
mod failed;
mod running;

use std::fmt;

use fairway_api::reason::Reason;
use fairway_api::{ConditionStatus, OperatorCondition, limits};
use fairway_findings::Document;

use super::diagnosis::Trouble;
use super::request::Held;
use crate::text;

/// How things are, for people to know.
#[derive(Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) phase: Phase<'a>,
    /// What the target has said about this cluster so far.
    pub(super) document: Option<&'a Document>,
    /// What stands in the way.
    pub(super) troubles: &'a [Trouble],
    /// Releases whose results are kept, and are not brought up to date.
    pub(super) kept: &'a [String],
}

/// How far a request is.
#[derive(Clone, Copy)]
pub(super) enum Phase<'a> {
    /// There is none.
    NotRequested,
    /// It cannot be carried out.
    Held(&'a Held),
    /// Its release is looked for.
    LookingUp(&'a str),
    /// Its release is fetched and verified.
    Retrieving(Named<'a>),
    /// What another run left behind goes first.
    Clearing(Named<'a>),
    /// Its release is being started.
    Starting(Named<'a>),
    /// The same, for the second time: the operator is on another node.
    Restarting(Named<'a>, &'a str),
    /// Its release is there.
    Running(Named<'a>),
    /// It was given up.
    Stopped(Named<'a>),
}

/// A release, as people call it.
#[derive(Clone, Copy)]
pub(super) struct Named<'a> {
    pub(super) version: Option<&'a str>,
    pub(super) image: &'a str,
    /// Why its signature does not count, where it does not have to.
    pub(super) unverified: Option<&'a str>,
}

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => f.write_str(&text::excerpt(version)),
            None => f.write_str(&fairway_text::excerpt(self.image, 1024)),
        }
    }
}

/// What people are told.
pub(super) fn conditions(situation: &Situation) -> [OperatorCondition; 3] {
    [running::condition(situation), completed::condition(situation), failed::condition(situation)]
}

fn condition(
    type_: &str,
    status: impl Into<ConditionStatus>,
    reason: Reason,
    message: &str,
) -> OperatorCondition {
    let message = fairway_text::excerpt(message, limits::MESSAGE);
    OperatorCondition::new(type_, status).reason(reason).message(message)
}

impl Phase<'_> {
    /// The release that it is about.
    fn target(&self) -> Option<&Named<'_>> {
        match self {
            Self::NotRequested | Self::Held(_) | Self::LookingUp(_) => None,
            Self::Retrieving(named)
            | Self::Clearing(named)
            | Self::Starting(named)
            | Self::Restarting(named, _)
            | Self::Running(named)
            | Self::Stopped(named) => Some(named),
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownMode { mode } => {
                write!(f, "this operator does not support the mode {:?}", text::excerpt(mode))
            }
            Self::Disabled => f.write_str("preflights are disabled in this operator"),
            Self::NoRelease => {
                f.write_str("the request has no release; set --to=VERSION or --to-image=IMAGE")
            }
            Self::NotRetrieved { version, why } => write!(
                f,
                "cannot look up {} in the update service: {} Request the release by its image with \
                 --to-image=IMAGE, or retry later",
                text::excerpt(version),
                text::one_line(why)
            ),
            Self::NotFound { version, channel: Some(channel) } => write!(
                f,
                "channel {} does not contain {}; set another channel with `fairway upgrade channel \
                 CHANNEL`, or request the release by its image with --to-image=IMAGE",
                text::excerpt(channel),
                text::excerpt(version)
            ),
            Self::NotFound { version, channel: None } => write!(
                f,
                "cannot look up {} without a channel; set one with `fairway upgrade channel \
                 CHANNEL`, or request the release by its image with --to-image=IMAGE",
                text::excerpt(version)
            ),
            Self::Several { version } => write!(
                f,
                "several releases have version {}; request one by its image with --to-image=IMAGE",
                text::excerpt(version)
            ),
            Self::NotByDigest { image } => write!(
                f,
                "image {} is not pinned to a digest; use a digest, as in \
                 registry.example/release@sha256:…",
                fairway_text::excerpt(image, 1024)
            ),
        }
    }
}

#[cfg(test)]
mod tests;
