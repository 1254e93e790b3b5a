//! Rollback to the previous release.

use anyhow::anyhow;
use fairway_api::cluster_version::{Update, UpdateHistory};
use fairway_api::image::same_content;
use fairway_api::reason::progressing;
use fairway_api::version::VersionChange;
use fairway_api::{
    ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _, Version,
};

use super::super::acceptance::accepted_risks;
use super::super::change::{Change, desired_update_patch};
use super::super::release::ReleaseReference;
use super::decision::{is_same_request, names_of, verify_release};
use super::outcome::{Action, UpdateOutcome};
use crate::errors::{CannotTell, Refused, WithHint};
use crate::foreign_text::OneLine;

/// Requests the previous release. The operator has the same rules; checking them here reports a
/// violation before anything is written.
pub(super) fn decide(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
) -> anyhow::Result<Change<UpdateOutcome>> {
    let current = version("the current release", Some(&status.desired.version))?;
    let entry = previous_release(status).ok_or_else(|| no_previous_release(status))?;
    let previous = version("the previous release", entry.version.as_deref())?;
    if previous >= current {
        return Err(not_earlier(&previous, &current).into());
    }
    if previous.stream() != current.stream() {
        return Err(other_minor(&previous, &current).into());
    }
    let update = Update {
        version: entry.version.clone(),
        image: Some(entry.image.clone()),
        accept_risks: accepted_risks(cluster_version).to_vec(),
        ..Update::default()
    };
    let requested = cluster_version.spec.desired_update.as_ref();
    let is_requested = requested.is_some_and(|requested| is_same_request(requested, &update));
    if !is_requested {
        check_no_update_in_progress(status)?;
    }
    let patch = desired_update_patch(cluster_version, &update)?;
    let action = if is_requested { Action::AlreadyRequested } else { Action::RolledBack };
    Ok(Change {
        patch: (!is_requested).then_some(patch),
        verify: verify_release(&update),
        outcome: UpdateOutcome {
            release: Some(ReleaseReference::requested(&update)),
            from: Some(status.desired.version.clone()),
            step: Some(VersionChange::Downgrade),
            accept_risks: names_of(&update.accept_risks),
            update,
            ..UpdateOutcome::new(action)
        },
    })
}

/// Latest other release in the history, complete or not.
fn previous_release(status: &ClusterVersionStatus) -> Option<&UpdateHistory> {
    let desired = &status.desired;
    status.history.iter().find(|entry| {
        entry.version.as_deref().unwrap_or_default() != desired.version
            || !same_content(&entry.image, &desired.image)
    })
}

fn version(of: &str, text: Option<&str>) -> anyhow::Result<Version> {
    let text = text.unwrap_or_default();
    Version::parse(text).map_err(|error| {
        anyhow!("{}", OneLine(&error.to_string())).context(CannotTell::new(
            format!("cannot parse the version of {of}"),
            "run `kubectl get clusterversion version -o yaml` to inspect it; to use an \
             image, pass --to-image and --allow-explicit-upgrade",
        ))
    })
}

fn check_no_update_in_progress(status: &ClusterVersionStatus) -> anyhow::Result<()> {
    let Some(progress) = status.conditions.find(progressing::TYPE) else {
        return Err(CannotTell::new(
            "ClusterVersion has no condition Progressing, so the state of the update is \
             unknown",
            "run `kubectl get clusterversion version -o yaml` to inspect ClusterVersion",
        )
        .into());
    };
    if progress.status == ConditionStatus::False {
        return Ok(());
    }
    let texts = [&progress.reason, &progress.message].into_iter().flatten();
    let texts: Vec<&str> = texts.map(String::as_str).filter(|text| !text.is_empty()).collect();
    let refused = Refused::new(
        format!("an update is in progress: Progressing={}", progress.status),
        "wait until it is complete (`fairway upgrade status`), or withdraw it with \
         `fairway upgrade --clear`",
    );
    Err(match texts.as_slice() {
        [] => refused.into(),
        texts => anyhow!("{}", OneLine(&texts.join(": "))).context(refused),
    })
}

fn no_previous_release(status: &ClusterVersionStatus) -> Refused {
    Refused::new(
        format!(
            "this cluster has no release before {} ({})",
            OneLine(&status.desired.version),
            OneLine(&status.desired.image)
        ),
        "a rollback requires a previous release in the history of ClusterVersion",
    )
}

fn not_earlier(previous: &Version, current: &Version) -> WithHint {
    WithHint::new(
        format!("the previous release {previous} is not older than {current}"),
        if previous == current {
            "it is another image of the same version: request it with --to-image".to_owned()
        } else {
            format!("this is an update: request it with `fairway upgrade --to={previous}`")
        },
    )
}

fn other_minor(previous: &Version, current: &Version) -> Refused {
    Refused::new(
        format!(
            "the previous release {previous} has another minor version than {current}, and a \
             rollback is possible only within a minor version"
        ),
        "update to a later release instead: run `fairway upgrade` to list updates",
    )
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::UpdateState;
    use fairway_testkit::objects;
    use serde_json::{Value, json};

    use super::super::arguments::UpdateRequest;
    use super::super::decision;
    use super::*;
    use crate::commands::upgrade::fixtures::{accept, condition, hold, now};
    use crate::errors;

    /// Cluster with a history, latest version first.
    fn cluster(history: &[&str]) -> ClusterVersion {
        let mut object = objects::cluster_version();
        object.metadata.resource_version = Some("7".to_owned());
        let mut status = objects::status_at(history[0]);
        let complete = status.history[0].clone();
        let entry = |version: &&str| UpdateHistory {
            version: Some((*version).to_owned()),
            image: objects::release(version).image,
            ..complete.clone()
        };
        status.history = history.iter().map(entry).collect();
        object.status = Some(status);
        object
    }

    fn planned(object: &ClusterVersion) -> anyhow::Result<Change<UpdateOutcome>> {
        decision::decide(object, &UpdateRequest::Rollback, now())
    }

    /// Output and exit code.
    fn output(object: &ClusterVersion) -> String {
        match planned(object) {
            Ok(change) => change.outcome.to_string(),
            Err(error) => {
                let (code, hint) = (errors::status(&error).code(), errors::hint(&error));
                let why = errors::chain(&error).join("\n  ");
                format!("{code}: {why}\nhint: {}", hint.unwrap_or_default())
            }
        }
    }

    fn desired_update(object: &ClusterVersion) -> Value {
        planned(object).unwrap().patch.as_ref().expect("a patch")["spec"]["desiredUpdate"].clone()
    }

    #[test]
    fn rollback_accepts_partial_release() {
        let mut object = cluster(&["5.1.4", "5.1.3", "5.1.2"]);
        object.status.as_mut().unwrap().history[1].state = UpdateState::Partial;
        assert_eq!(desired_update(&object)["version"], "5.1.3");
    }

    #[test]
    fn rollback_replaces_request_and_keeps_accepted_risks() {
        let mut object = cluster(&["5.1.4", "5.1.3"]);
        accept(&mut object, &["Zeta"], None);
        let requested = object.spec.desired_update.as_mut().unwrap();
        requested.mode = Some("Preflight".into());
        requested.force = Some(true);
        let left = desired_update(&object);
        assert_eq!((&left["mode"], &left["force"]), (&Value::Null, &Value::Null));
        assert_eq!(left["acceptRisks"], json!([{ "name": "Zeta" }]));
    }

    #[test]
    fn rollback_of_degraded_cluster_is_allowed() {
        let mut object = cluster(&["5.1.4", "5.1.3"]);
        hold(&mut object, condition("Failing", true, "MultipleErrors", "All of it."));
        assert_eq!(desired_update(&object)["version"], "5.1.3");
    }

    #[test]
    fn rollback_without_valid_previous_release_is_refused() {
        let of = |history: &[&str], change: &dyn Fn(&mut ClusterVersionStatus)| {
            let mut object = cluster(history);
            change(object.status.as_mut().unwrap());
            output(&object)
        };
        let as_it_is = |_: &mut ClusterVersionStatus| {};
        let refused = [
            of(&["5.1.4", "5.1.3"], &|status| status.desired.version = "five".to_owned()),
            of(&["5.1.4"], &as_it_is),
            of(&["5.1.4", "now"], &as_it_is),
            of(&["5.1.4", "5.1.5"], &as_it_is),
            of(&["5.1.4", "5.1.4"], &|status| {
                status.history[1].image = objects::release("another").image;
            }),
            of(&["5.1.4", "5.0.9"], &as_it_is),
            of(&["5.0.0", "4.22.3"], &as_it_is),
            of(&["5.1.4", "5.1.3"], &|status| {
                status.conditions.retain(|condition| condition.type_ != "Progressing");
            }),
        ];
        insta::assert_snapshot!(refused.join("\n\n"), @r#"
        4: cannot parse the version of the current release
          "five" is not a semantic version such as 5.1.0 or 5.2.0-rc.1
        hint: run `kubectl get clusterversion version -o yaml` to inspect it; to use an image, pass --to-image and --allow-explicit-upgrade

        3: this cluster has no release before 5.1.4 (registry.example/release@sha256:e79bf2dcdfa1d3009d2481ce420f929cd5c2b4a832a273ecb159d9f78f5d8e87)
        hint: a rollback requires a previous release in the history of ClusterVersion

        4: cannot parse the version of the previous release
          "now" is not a semantic version such as 5.1.0 or 5.2.0-rc.1
        hint: run `kubectl get clusterversion version -o yaml` to inspect it; to use an image, pass --to-image and --allow-explicit-upgrade

        1: the previous release 5.1.5 is not older than 5.1.4
        hint: this is an update: request it with `fairway upgrade --to=5.1.5`

        1: the previous release 5.1.4 is not older than 5.1.4
        hint: it is another image of the same version: request it with --to-image

        3: the previous release 5.0.9 has another minor version than 5.1.4, and a rollback is possible only within a minor version
        hint: update to a later release instead: run `fairway upgrade` to list updates

        3: the previous release 4.22.3 has another minor version than 5.0.0, and a rollback is possible only within a minor version
        hint: update to a later release instead: run `fairway upgrade` to list updates

        4: ClusterVersion has no condition Progressing, so the state of the update is unknown
        hint: run `kubectl get clusterversion version -o yaml` to inspect ClusterVersion
        "#);
        let mut object = cluster(&["5.1.4", "5.1.3"]);
        hold(&mut object, condition("Progressing", true, "Busy", "Working towards\n5.1.4"));
        let busy = output(&object);
        hold(&mut object, condition("Progressing", ConditionStatus::Unknown, "", ""));
        insta::assert_snapshot!([busy, output(&object)].join("\n\n"), @"
        3: an update is in progress: Progressing=True
          Busy: Working towards 5.1.4
        hint: wait until it is complete (`fairway upgrade status`), or withdraw it with `fairway upgrade --clear`

        3: an update is in progress: Progressing=Unknown
        hint: wait until it is complete (`fairway upgrade status`), or withdraw it with `fairway upgrade --clear`
        ");
    }

    #[test]
    fn rollback_already_requested_changes_nothing() {
        let mut object = cluster(&["5.1.4", "5.1.3"]);
        let requested = planned(&object).unwrap().outcome.update;
        object.spec.desired_update = Some(requested);
        hold(&mut object, condition("Progressing", true, "", "Working towards 5.1.3"));
        let again = planned(&object).unwrap();
        assert!(again.patch.is_none() && again.outcome.needs_decision());
        insta::assert_snapshot!(again.outcome, @"An update to 5.1.3 is already requested");
    }
}
