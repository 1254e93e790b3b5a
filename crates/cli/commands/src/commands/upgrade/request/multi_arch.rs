//! Change to the multi-architecture release of the same version.

use fairway_api::cluster_version::{Architecture, Update};
use fairway_api::{ClusterVersion, ClusterVersionStatus};

use super::super::acceptance::accepted_risks;
use super::super::change::{Change, desired_update_patch};
use super::arguments::MultiArchRequest;
use super::cautions::UpdateCaution;
use super::decision::{cluster_warnings, names_of, verify_release};
use super::outcome::{Action, UpdateOutcome};
use crate::errors::CannotTell;

/// Requests the multi-architecture release of the cluster's version.
pub(super) fn decide(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
    request: &MultiArchRequest,
) -> anyhow::Result<Change<UpdateOutcome>> {
    let version = &status.desired.version;
    if version.is_empty() {
        return Err(unknown_version().into());
    }
    let update = Update {
        architecture: Some(Architecture::Multi),
        version: Some(version.clone()),
        force: request.force.then_some(true),
        accept_risks: accepted_risks(cluster_version).to_vec(),
        ..Update::default()
    };
    let requested = cluster_version.spec.desired_update.as_ref();
    let is_requested = requested.is_some_and(|requested| {
        requested.is_update()
            && requested.architecture() == Some(&Architecture::Multi)
            && requested.version() == update.version()
            && requested.forced() == update.forced()
    });
    let action = match status.desired.architecture {
        Some(Architecture::Multi) => Action::AlreadyMultiArch,
        _ if is_requested => Action::AlreadyRequestedMultiArch,
        _ => Action::RequestedMultiArch,
    };
    let is_new = action == Action::RequestedMultiArch;
    let warnings =
        if is_new { cluster_warnings(status, request.allow_warnings)? } else { Vec::new() };
    let patch = desired_update_patch(cluster_version, &update)?;
    Ok(Change {
        patch: is_new.then_some(patch),
        verify: verify_release(&update),
        outcome: UpdateOutcome {
            from: Some(version.clone()),
            force: request.force,
            accept_risks: names_of(&update.accept_risks),
            cautions: (is_new && request.force)
                .then_some(UpdateCaution::Forced)
                .into_iter()
                .collect(),
            warnings,
            update,
            ..UpdateOutcome::new(action)
        },
    })
}

fn unknown_version() -> CannotTell {
    CannotTell::new(
        "the version of this cluster is unknown: ClusterVersion does not report it",
        "run `kubectl get clusterversion version -o yaml` to inspect ClusterVersion",
    )
}

#[cfg(test)]
mod tests {
    use fairway_api::ClusterVersion;
    use fairway_insight::RequestStatus;
    use fairway_testkit::objects;
    use serde_json::{Value, json};

    use super::super::arguments::UpdateRequest;
    use super::super::decision::decide;
    use super::super::outcome::StatusText;
    use super::{Action, Architecture, Change, MultiArchRequest, UpdateCaution, UpdateOutcome};
    use crate::commands::upgrade::fixtures::{accept, cluster_version, condition, hold, now};

    fn planned(object: &ClusterVersion) -> Change<UpdateOutcome> {
        let request =
            UpdateRequest::MultiArch(MultiArchRequest { allow_warnings: false, force: false });
        decide(object, &request, now()).unwrap()
    }

    #[test]
    fn multi_arch_requests_same_version() {
        let mut object = cluster_version();
        accept(&mut object, &["Zeta"], None);
        let requested = object.spec.desired_update.as_mut().unwrap();
        (requested.version, requested.image) = (Some("5.1.9".to_owned()), Some("image".to_owned()));
        requested.mode = Some("Preflight".into());
        let change = planned(&object);
        assert_eq!(
            change.patch.as_ref().unwrap()["spec"]["desiredUpdate"],
            json!({
                "architecture": "Multi",
                "version": "5.1.0",
                "image": null,
                "force": null,
                "acceptRisks": [{ "name": "Zeta" }],
                "mode": null,
            })
        );
        insta::assert_snapshot!(change.outcome, @"Requested update to multi cluster architecture");
    }

    #[test]
    fn multi_arch_present_or_requested_changes_nothing() {
        let mut object = cluster_version();
        object.spec.desired_update = Some(planned(&object).outcome.update);
        let requested = planned(&object);
        assert!(requested.patch.is_none() && requested.outcome.needs_decision());
        object.status.as_mut().unwrap().desired.architecture = Some(Architecture::Multi);
        let there = planned(&object);
        assert!(there.patch.is_none() && !there.outcome.needs_decision());
        insta::assert_snapshot!(format!("{}\n{}", requested.outcome, there.outcome), @"
        Update to multi cluster architecture has already been requested
        Cluster already has the multi cluster architecture
        ");
    }

    #[test]
    fn clear_before_start_cancels_multi_arch() {
        let mut object = cluster_version();
        object.spec.desired_update = Some(planned(&object).outcome.update);
        let change = decide(&object, &UpdateRequest::Clear, now()).unwrap();
        assert_eq!(change.outcome.action, Action::CancelledMultiArch);
        object.status.as_mut().unwrap().desired.architecture = Some(Architecture::Multi);
        let change = decide(&object, &UpdateRequest::Clear, now()).unwrap();
        assert_eq!(change.outcome.action, Action::Cleared);
    }

    #[test]
    fn multi_arch_of_failing_cluster_is_refused() {
        let mut object = cluster_version();
        let planned = |object: &ClusterVersion, allow_warnings, force| {
            decide(
                object,
                &UpdateRequest::MultiArch(MultiArchRequest { allow_warnings, force }),
                now(),
            )
        };
        hold(&mut object, condition("Failing", true, "MultipleErrors", "All of it."));
        assert!(planned(&object, false, false).is_err());
        let change = planned(&object, true, true).unwrap();
        assert_eq!(change.outcome.cautions, [UpdateCaution::Forced]);
        assert_eq!(
            change.patch.as_ref().unwrap()["spec"]["desiredUpdate"]["force"],
            Value::Bool(true)
        );
    }

    #[test]
    fn status_of_multi_arch_request_needs_architecture() {
        let mut object = cluster_version();
        let requested = planned(&object).outcome.update;
        object.spec.desired_update = Some(requested.clone());
        hold(&mut object, condition("ReleaseAccepted", true, "PayloadLoaded", ""));
        assert!(
            !RequestStatus::of(&object, &requested).is_decided(),
            "it has that version, but one architecture"
        );
        let status = object.status.as_mut().unwrap();
        status.desired.architecture = Some(Architecture::Multi);
        status.desired.image = objects::release("5.1.0-multi").image;
        assert!(RequestStatus::of(&object, &requested).is_decided());
        hold(&mut object, condition("ReleaseAccepted", false, "RetrievePayload", "No."));
        insta::assert_snapshot!(StatusText(&RequestStatus::of(&object, &requested)), @"
        The operator refuses the release:

          Reason: RetrievePayload
          Message: No.

        The request remains, and the operator re-evaluates it when the cluster changes. Withdraw it with
          fairway upgrade --clear
        ");
    }
}
