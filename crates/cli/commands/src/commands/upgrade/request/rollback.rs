//! Back to the release before: what is to be written.

use anyhow::anyhow;
use fairway_api::cluster_version::{Update, UpdateHistory};
use fairway_api::image::same_content;
use fairway_api::reason::progressing;
use fairway_api::version::Move;
use fairway_api::{
    ClusterVersion, ClusterVersionStatus, ConditionStatus, Conditions as _, Version,
};
use serde_json::json;

use super::super::stored::accepted;
use super::outcome::{Action, Named, Outcome};
use super::plan::{Plan, is_same, names_of};
use crate::errors::{CannotTell, Refused, WithHint};
use crate::foreign_text::OneLine;

/// Asks for the release before. The operator has the same rules, and this is where people hear of
/// them before anything is written.
pub(super) fn plan(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
) -> anyhow::Result<Plan> {
    let current = version("the current release", Some(&status.desired.version))?;
    let before = before(status).ok_or_else(|| nothing_before(status))?;
    let previous = version("the previous release", before.version.as_deref())?;
    if previous >= current {
        return Err(not_earlier(&previous, &current).into());
    }
    if previous.stream() != current.stream() {
        return Err(too_far(&previous, &current).into());
    }
    let update = Update {
        version: before.version.clone(),
        image: Some(before.image.clone()),
        accept_risks: accepted(cluster_version).to_vec(),
        ..Update::default()
    };
    let asked = cluster_version.spec.desired_update.as_ref();
    let is_asked = asked.is_some_and(|asked| is_same(asked, &update));
    if !is_asked {
        nothing_is_under_way(status)?;
    }
    let patch = json!({
        "metadata": { "resourceVersion": cluster_version.metadata.resource_version },
        "spec": { "desiredUpdate": update.merge_patch()? },
    });
    let outcome = Outcome {
        release: Some(Named::asked(&update)),
        from: Some(status.desired.version.clone()),
        step: Some(Move::Downgrade),
        accept_risks: names_of(&update.accept_risks),
        ..Outcome::new(if is_asked { Action::AlreadyRequested } else { Action::RolledBack })
    };
    Ok(Plan { patch: (!is_asked).then_some(patch), update, outcome })
}

/// The latest release that is another one, whether it was ever complete or not.
fn before(status: &ClusterVersionStatus) -> Option<&UpdateHistory> {
    let desired = &status.desired;
    status.history.iter().find(|entry| {
        entry.version.as_deref().unwrap_or_default() != desired.version
            || !same_content(&entry.image, &desired.image)
    })
}

fn version(of: &str, text: Option<&str>) -> anyhow::Result<Version> {
    let text = text.unwrap_or_default();
    Version::parse(text).map_err(|error| {
        anyhow!("{}", OneLine(&error.to_string())).context(CannotTell {
            message: format!("cannot parse the version of {of}"),
            hint: "run `kubectl get clusterversion version -o yaml` to inspect it; to use an \
                   image, pass --to-image and --allow-explicit-upgrade"
                .to_owned(),
        })
    })
}

fn nothing_is_under_way(status: &ClusterVersionStatus) -> anyhow::Result<()> {
    let Some(progress) = status.conditions.find(progressing::TYPE) else {
        return Err(CannotTell {
            message: "ClusterVersion has no condition Progressing, so the state of the update is \
                      unknown"
                .to_owned(),
            hint: "run `kubectl get clusterversion version -o yaml` to inspect ClusterVersion"
                .to_owned(),
        }
        .into());
    };
    if progress.status == ConditionStatus::False {
        return Ok(());
    }
    let said = [&progress.reason, &progress.message].into_iter().flatten();
    let said: Vec<&str> = said.map(String::as_str).filter(|said| !said.is_empty()).collect();
    let refused = Refused {
        message: format!("an update is in progress: Progressing={}", progress.status),
        hint: "wait until it is complete (`fairway upgrade status`), or withdraw it with \
               `fairway upgrade --clear`"
            .to_owned(),
    };
    Err(match said.as_slice() {
        [] => refused.into(),
        said => anyhow!("{}", OneLine(&said.join(": "))).context(refused),
    })
}

fn nothing_before(status: &ClusterVersionStatus) -> Refused {
    Refused {
        message: format!(
            "this cluster has no release before {} ({})",
            OneLine(&status.desired.version),
            OneLine(&status.desired.image)
        ),
        hint: "a rollback requires a previous release in the history of ClusterVersion".to_owned(),
    }
}

fn not_earlier(previous: &Version, current: &Version) -> WithHint {
    WithHint {
        message: format!("the previous release {previous} is not older than {current}"),
        hint: if previous == current {
            "it is another image of the same version: request it with --to-image".to_owned()
        } else {
            format!("this is an update: request it with `fairway upgrade --to={previous}`")
        },
    }
}

fn too_far(previous: &Version, current: &Version) -> Refused {
    Refused {
        message: format!(
            "the previous release {previous} has another minor version than {current}, and a \
             rollback is possible only within a minor version"
        ),
        hint: "update to a later release instead: run `fairway upgrade` to list updates".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::UpdateState;
    use fairway_testkit::objects;
    use serde_json::{Value, json};

    use super::super::wish::Wish;
    use super::*;
    use crate::commands::upgrade::change::Change as _;
    use crate::commands::upgrade::fixtures::{accept, condition, hold, now};
    use crate::errors;

    /// A cluster at the first of these versions, which came from the others.
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

    fn planned(object: &ClusterVersion) -> anyhow::Result<Plan> {
        Plan::of(object, &Wish::Rollback, now())
    }

    /// What is said, and how it ends.
    fn said(object: &ClusterVersion) -> String {
        match planned(object) {
            Ok(plan) => plan.outcome.to_string(),
            Err(error) => {
                let (code, hint) = (errors::status(&error).code(), errors::hint(&error));
                let why = errors::chain(&error).join("\n  ");
                format!("{code}: {why}\nhint: {}", hint.unwrap_or_default())
            }
        }
    }

    fn desired_update(object: &ClusterVersion) -> Value {
        planned(object).unwrap().patch().expect("a patch")["spec"]["desiredUpdate"].clone()
    }

    #[test]
    fn a_cluster_goes_back_to_the_release_before() {
        let object = cluster(&["5.1.4", "5.1.2", "5.1.3"]);
        assert_eq!(
            *planned(&object).unwrap().patch().unwrap(),
            json!({
                "metadata": { "resourceVersion": "7" },
                "spec": { "desiredUpdate": {
                    "architecture": null,
                    "version": "5.1.2",
                    "image": objects::release("5.1.2").image,
                    "force": null,
                    "acceptRisks": null,
                    "mode": null,
                }},
            })
        );
        insta::assert_snapshot!(said(&object), @"Requested rollback from 5.1.4 to 5.1.2");
    }

    #[test]
    fn a_release_that_was_never_complete_is_one_that_it_had() {
        let mut object = cluster(&["5.1.4", "5.1.3", "5.1.2"]);
        object.status.as_mut().unwrap().history[1].state = UpdateState::Partial;
        assert_eq!(desired_update(&object)["version"], "5.1.3");
    }

    #[test]
    fn nothing_of_another_request_is_left_but_the_risks_that_are_accepted() {
        let mut object = cluster(&["5.1.4", "5.1.3"]);
        accept(&mut object, &["Zeta"], None);
        let asked = object.spec.desired_update.as_mut().unwrap();
        asked.mode = Some("Preflight".into());
        asked.force = Some(true);
        let left = desired_update(&object);
        assert_eq!((&left["mode"], &left["force"]), (&Value::Null, &Value::Null));
        assert_eq!(left["acceptRisks"], json!([{ "name": "Zeta" }]));
    }

    #[test]
    fn a_degraded_cluster_may_leave_its_release() {
        let mut object = cluster(&["5.1.4", "5.1.3"]);
        hold(&mut object, condition("Failing", true, "MultipleErrors", "All of it."));
        assert_eq!(desired_update(&object)["version"], "5.1.3");
    }

    #[test]
    fn where_there_is_no_way_back_it_is_said_why() {
        let of = |history: &[&str], change: &dyn Fn(&mut ClusterVersionStatus)| {
            let mut object = cluster(history);
            change(object.status.as_mut().unwrap());
            said(&object)
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
        let busy = said(&object);
        hold(&mut object, condition("Progressing", ConditionStatus::Unknown, "", ""));
        insta::assert_snapshot!([busy, said(&object)].join("\n\n"), @"
        3: an update is in progress: Progressing=True
          Busy: Working towards 5.1.4
        hint: wait until it is complete (`fairway upgrade status`), or withdraw it with `fairway upgrade --clear`

        3: an update is in progress: Progressing=Unknown
        hint: wait until it is complete (`fairway upgrade status`), or withdraw it with `fairway upgrade --clear`
        ");
    }

    #[test]
    fn who_asks_twice_changes_nothing() {
        let mut object = cluster(&["5.1.4", "5.1.3"]);
        let asked = planned(&object).unwrap().update;
        object.spec.desired_update = Some(asked);
        hold(&mut object, condition("Progressing", true, "", "Working towards 5.1.3"));
        let again = planned(&object).unwrap();
        assert!(again.patch().is_none() && again.outcome.awaits_an_answer());
        insta::assert_snapshot!(again.outcome, @"An update to 5.1.3 is already requested");
    }
}
