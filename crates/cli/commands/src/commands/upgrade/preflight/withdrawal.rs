//! A preflight that is asked for no more: what is left of the request.

use anyhow::ensure;
use fairway_api::cluster_version::Update;
use fairway_api::{ClusterVersion, ClusterVersionStatus};
use fairway_findings::record::KEEP_RESULTS;
use serde_json::{Value, json};

use super::super::change::Change;
use super::super::request::outcome::Named;
use super::super::stored::accepted;
use super::before::under_way;
use super::request::is_asked;

/// What is to be written.
#[derive(Debug)]
pub(super) struct Plan {
    /// A merge patch of ClusterVersion; none where there is nothing to withdraw.
    patch: Option<Value>,
    /// What is asked for then.
    pub(super) left: Update,
    /// The preflight that is withdrawn.
    pub(super) target: Option<Named>,
    /// The update that is asked for, and left alone.
    pub(super) update: Option<Named>,
}

impl Plan {
    /// Withdraws whatever preflight is asked for. An update on its way is asked for again.
    pub(super) fn clear(object: &ClusterVersion, keep_results: bool) -> anyhow::Result<Self> {
        let nothing = Update::default();
        let asked = object.spec.desired_update.as_ref().unwrap_or(&nothing);
        if asked.mode.is_none() {
            let update = asked.is_update().then(|| Named::asked(asked));
            return Ok(Self { patch: None, left: asked.clone(), target: None, update });
        }
        Self::leave(object, asked, left(object, None), keep_results)
    }

    /// Withdraws that preflight, and asks for what was asked for before; whatever somebody else
    /// asked for meanwhile is left alone.
    pub(super) fn give_back(
        object: &ClusterVersion,
        ours: &Update,
        before: Option<&Update>,
        keep_results: bool,
    ) -> anyhow::Result<Self> {
        let asked = object.spec.desired_update.as_ref().filter(|asked| is_asked(asked, ours));
        let Some(asked) = asked else {
            return Ok(Self { patch: None, left: Update::default(), target: None, update: None });
        };
        Self::leave(object, asked, left(object, before), keep_results)
    }

    fn leave(
        object: &ClusterVersion,
        asked: &Update,
        left: Update,
        keep_results: bool,
    ) -> anyhow::Result<Self> {
        let mut metadata = json!({ "resourceVersion": object.metadata.resource_version });
        let annotations = object.metadata.annotations.as_ref();
        if keep_results || annotations.is_some_and(|all| all.contains_key(KEEP_RESULTS)) {
            metadata["annotations"] = json!({ KEEP_RESULTS: keep_results.then_some("true") });
        }
        // A `desiredUpdate` with nothing in it is invalid.
        let desired = if left == Update::default() { Value::Null } else { left.merge_patch()? };
        Ok(Self {
            patch: Some(json!({ "metadata": metadata, "spec": { "desiredUpdate": desired } })),
            target: Some(Named::asked(asked)),
            update: left.is_update().then(|| Named::asked(&left)),
            left,
        })
    }

    /// Whether something is withdrawn.
    pub(super) fn changes_something(&self) -> bool {
        self.patch.is_some()
    }
}

/// What stays asked for, with the risks that are accepted by now.
fn left(object: &ClusterVersion, before: Option<&Update>) -> Update {
    let nothing = ClusterVersionStatus::default();
    let status = object.status.as_ref().unwrap_or(&nothing);
    let before = before.filter(|before| before.names_a_release() || before.mode.is_some());
    let left = before.cloned().or_else(|| under_way(status)).unwrap_or_default();
    Update { accept_risks: accepted(object).to_vec(), ..left }
}

impl Change for Plan {
    fn patch(&self) -> Option<&Value> {
        self.patch.as_ref()
    }

    fn check(&self, result: &ClusterVersion) -> anyhow::Result<()> {
        let nothing = Update::default();
        let kept = result.spec.desired_update.as_ref().unwrap_or(&nothing);
        ensure!(
            is_asked(kept, &self.left),
            "the API server would not store the remaining request; nothing changed"
        );
        Ok(())
    }
}
