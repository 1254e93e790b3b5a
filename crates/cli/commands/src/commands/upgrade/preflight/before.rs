//! What is asked for before a preflight is.

use fairway_api::ClusterVersionStatus;
use fairway_api::cluster_version::{Update, UpdateState};

use super::super::request::outcome::Named;
use super::release::is_same;

/// What is asked for already.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Before<'a> {
    /// No release.
    Nothing,
    /// A preflight, or another mode.
    Mode(&'a Update),
    /// An update that is complete.
    Done(&'a Update),
    /// An update on its way.
    UnderWay(&'a Update),
    /// An update that has not begun.
    Waiting(&'a Update),
}

impl<'a> Before<'a> {
    pub(super) fn of(asked: Option<&'a Update>, status: &ClusterVersionStatus) -> Self {
        match asked {
            Some(asked) if asked.mode.is_some() => Self::Mode(asked),
            Some(asked) if asked.is_update() => {
                let has_begun = is_same(&Named::asked(asked), &Named::of(&status.desired));
                match under_way(status) {
                    _ if !has_begun => Self::Waiting(asked),
                    Some(_) => Self::UnderWay(asked),
                    None => Self::Done(asked),
                }
            }
            _ => Self::Nothing,
        }
    }
}

/// The update that the cluster is on its way through, as a request for it. Whoever withdraws a
/// preflight leaves that: with nothing asked for, the operator would go back.
pub(in super::super) fn under_way(status: &ClusterVersionStatus) -> Option<Update> {
    let newest = status.history.first()?;
    let is_partial = newest.state == UpdateState::Partial && !status.desired.image.is_empty();
    is_partial.then(|| Update {
        version: Some(status.desired.version.clone()).filter(|version| !version.is_empty()),
        image: Some(status.desired.image.clone()),
        ..Update::default()
    })
}
