//! From one architecture to several, in the same version: what is to be written.

use fairway_api::cluster_version::{Architecture, Update};
use fairway_api::{ClusterVersion, ClusterVersionStatus};
use serde_json::json;

use super::super::stored::accepted;
use super::checks;
use super::outcome::{Action, Outcome};
use super::plan::{Plan, names_of};
use super::unusual::UpdateCaution;
use super::wish::MultiArchWish;
use crate::errors::CannotTell;

/// Asks for the release of the cluster, for several architectures.
pub(super) fn plan(
    cluster_version: &ClusterVersion,
    status: &ClusterVersionStatus,
    wish: &MultiArchWish,
) -> anyhow::Result<Plan> {
    let version = &status.desired.version;
    if version.is_empty() {
        return Err(versionless().into());
    }
    let update = Update {
        architecture: Some(Architecture::Multi),
        version: Some(version.clone()),
        force: wish.force.then_some(true),
        accept_risks: accepted(cluster_version).to_vec(),
        ..Update::default()
    };
    let asked = cluster_version.spec.desired_update.as_ref();
    let is_asked = asked.is_some_and(|asked| {
        asked.is_update()
            && asked.architecture() == Some(&Architecture::Multi)
            && asked.version() == update.version()
            && asked.forced() == update.forced()
    });
    let action = match status.desired.architecture {
        Some(Architecture::Multi) => Action::AlreadyMultiArch,
        _ if is_asked => Action::AlreadyRequestedMultiArch,
        _ => Action::RequestedMultiArch,
    };
    let is_new = action == Action::RequestedMultiArch;
    let warnings = if is_new { checks::check(status, wish.allow_warnings)? } else { Vec::new() };
    let patch = json!({
        "metadata": { "resourceVersion": cluster_version.metadata.resource_version },
        "spec": { "desiredUpdate": update.merge_patch()? },
    });
    let outcome = Outcome {
        from: Some(version.clone()),
        force: wish.force,
        accept_risks: names_of(&update.accept_risks),
        cautions: (is_new && wish.force).then_some(UpdateCaution::Forced).into_iter().collect(),
        warnings,
        ..Outcome::new(action)
    };
    Ok(Plan { patch: is_new.then_some(patch), update, outcome })
}

fn versionless() -> CannotTell {
    CannotTell {
        message: "the version of this cluster is unknown: ClusterVersion does not report it"
            .to_owned(),
        hint: "run `kubectl get clusterversion version -o yaml` to inspect ClusterVersion"
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use fairway_testkit::objects;
    use serde_json::Value;

    use super::super::answer::RequestStatus;
    use super::super::wish::Wish;
    use super::*;
    use crate::commands::upgrade::change::Change as _;
    use crate::commands::upgrade::fixtures::{accept, cluster_version, condition, hold, now};

    fn planned(object: &ClusterVersion) -> Plan {
        let wish = Wish::MultiArch(MultiArchWish { allow_warnings: false, force: false });
        Plan::of(object, &wish, now()).unwrap()
    }

    #[test]
    fn the_version_stays_and_the_architecture_changes() {
        let mut object = cluster_version();
        accept(&mut object, &["Zeta"], None);
        let asked = object.spec.desired_update.as_mut().unwrap();
        (asked.version, asked.image) = (Some("5.1.9".to_owned()), Some("image".to_owned()));
        asked.mode = Some("Preflight".into());
        let plan = planned(&object);
        assert_eq!(
            plan.patch().unwrap()["spec"]["desiredUpdate"],
            json!({
                "architecture": "Multi",
                "version": "5.1.0",
                "image": null,
                "force": null,
                "acceptRisks": [{ "name": "Zeta" }],
                "mode": null,
            })
        );
        insta::assert_snapshot!(plan.outcome, @"Requested update to multi cluster architecture");
    }

    #[test]
    fn what_is_there_or_asked_for_is_not_asked_for_again() {
        let mut object = cluster_version();
        object.spec.desired_update = Some(planned(&object).update);
        let asked = planned(&object);
        assert!(asked.patch().is_none() && asked.outcome.awaits_an_answer());
        object.status.as_mut().unwrap().desired.architecture = Some(Architecture::Multi);
        let there = planned(&object);
        assert!(there.patch().is_none() && !there.outcome.awaits_an_answer());
        insta::assert_snapshot!(format!("{}\n{}", asked.outcome, there.outcome), @"
        Update to multi cluster architecture has already been requested
        Cluster already has the multi cluster architecture
        ");
    }

    #[test]
    fn what_is_withdrawn_before_it_has_begun_is_cancelled() {
        let mut object = cluster_version();
        object.spec.desired_update = Some(planned(&object).update);
        let plan = Plan::of(&object, &Wish::Clear, now()).unwrap();
        assert_eq!(plan.outcome.action, Action::CancelledMultiArch);
        object.status.as_mut().unwrap().desired.architecture = Some(Architecture::Multi);
        let plan = Plan::of(&object, &Wish::Clear, now()).unwrap();
        assert_eq!(plan.outcome.action, Action::Cleared);
    }

    #[test]
    fn it_is_a_bad_time_while_the_cluster_fails_and_force_has_to_be_confirmed() {
        let mut object = cluster_version();
        let planned = |object: &ClusterVersion, allow_warnings, force| {
            Plan::of(object, &Wish::MultiArch(MultiArchWish { allow_warnings, force }), now())
        };
        hold(&mut object, condition("Failing", true, "MultipleErrors", "All of it."));
        assert!(planned(&object, false, false).is_err());
        let plan = planned(&object, true, true).unwrap();
        assert_eq!(plan.outcome.cautions, [UpdateCaution::Forced]);
        assert_eq!(plan.patch().unwrap()["spec"]["desiredUpdate"]["force"], Value::Bool(true));
    }

    #[test]
    fn the_version_alone_is_no_answer() {
        let mut object = cluster_version();
        let asked = planned(&object).update;
        object.spec.desired_update = Some(asked.clone());
        hold(&mut object, condition("ReleaseAccepted", true, "PayloadLoaded", ""));
        assert!(
            !RequestStatus::of(&object, &asked).is_one(),
            "it has that version, but one architecture"
        );
        let status = object.status.as_mut().unwrap();
        status.desired.architecture = Some(Architecture::Multi);
        status.desired.image = objects::release("5.1.0-multi").image;
        assert!(RequestStatus::of(&object, &asked).is_one());
        hold(&mut object, condition("ReleaseAccepted", false, "RetrievePayload", "No."));
        insta::assert_snapshot!(RequestStatus::of(&object, &asked), @"
        The operator refuses the release:

          Reason: RetrievePayload
          Message: No.

        The request remains, and the operator re-evaluates it when the cluster changes. Withdraw it with
          fairway upgrade --clear
        ");
    }
}
