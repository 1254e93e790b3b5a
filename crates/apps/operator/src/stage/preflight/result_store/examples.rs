//! Examples of the enhancement proposal for preflights, as ClusterVersion reports them.

use fairway_api::ClusterVersionStatus;
use fairway_findings::{CheckKind, CheckReport, CheckStatus, ExecutionStatus, Finding, Reason};
use fairway_risk::{
    Acceptance, CandidateUpdate, EvaluationInput, Ledger, LedgerEvaluation, PreviousEvaluation,
    QueryOutcomes, QueryPolicy,
};
use fairway_testkit::objects::release;

use super::ResultStore;
use super::tests::{at, begin, check, document, image, store};

/// Evaluates the risks of a cluster at 5.0.0 with updates to 5.1.0, 5.2.0 and 5.3.0.
fn evaluated(store: &ResultStore) -> LedgerEvaluation {
    let offer = |version: &&str| CandidateUpdate { release: release(version), risks: Vec::new() };
    let candidates = ["5.1.0", "5.2.0", "5.3.0"].iter().map(offer).collect();
    Ledger::new("5.0.0", candidates, store.risks()).evaluate(EvaluationInput {
        outcomes: &QueryOutcomes::new(),
        policy: &QueryPolicy::default(),
        acceptance: &Acceptance::default(),
        previous: &PreviousEvaluation::default(),
        now: at(0),
    })
}

/// `status.conditionalUpdateRisks`, the risks of each update, and the available updates.
fn latest(store: &ResultStore) -> String {
    let evaluated = evaluated(store);
    let status = ClusterVersionStatus {
        conditional_update_risks: evaluated.conditional_update_risks,
        ..ClusterVersionStatus::default()
    };
    let status = serde_json::to_value(status).unwrap();
    let risks = serde_saphyr::to_string(&status["conditionalUpdateRisks"]).unwrap();
    let names = evaluated
        .conditional_updates
        .iter()
        .map(|update| format!("{}: {}\n", update.release.version, update.risk_names.join(", ")));
    let names: String = names.collect();
    let available: Vec<String> =
        evaluated.available_updates.into_iter().map(|release| release.version).collect();
    format!("{risks}---\n{names}available: {}\n", available.join(", "))
}

fn operators(answered: usize, of: usize, rest: CheckStatus) -> Vec<CheckReport> {
    let status = |number| if number < answered { CheckStatus::Passed } else { rest };
    (0..of).map(|number| check(&format!("operator-{number}"), status(number))).collect()
}

fn risk(name: &str, message: &str, url: &str) -> Finding {
    Finding {
        name: name.to_owned(),
        message: message.to_owned(),
        url: url.to_owned(),
        check: "operator-0".to_owned(),
        ..Finding::default()
    }
}

fn run(
    store: &mut ResultStore,
    version: &str,
    status: ExecutionStatus,
    checks: Vec<CheckReport>,
    risks: Vec<Finding>,
) {
    begin(store, version, version);
    store.record(&image(version), document(version, version, status, checks, risks), at(1));
}

#[test]
fn risks_of_aborted_run() {
    let mut store = store();
    let mut checks = operators(3, 6, CheckStatus::Waiting);
    checks.push(check("networking", CheckStatus::Failed));
    let message = "Networking compatibility could not be determined due to preflight failure.";
    let unknown = Finding {
        check: "networking".to_owned(),
        reason: Reason::PreflightPartial,
        ..risk("NetworkingCompatibilityUnknown", message, "")
    };
    run(&mut store, "5.2.0", ExecutionStatus::Running, checks, vec![unknown]);
    store.abort(&image("5.2.0"), "OOMKilled", "it needs more memory", at(2));
    insta::assert_snapshot!(latest(&store), @r#"
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: Risk assessment incomplete - networking operator preflight check failed
        reason: PreflightPartial
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: Networking compatibility could not be determined due to preflight failure.
      name: NetworkingCompatibilityUnknown
      url: https://fairway.dev/docs/risks#preflights
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: >-
          Preflight execution failed after checking 3 of 7 operators. Results are
          incomplete.
        reason: PreflightFailed
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: >-
        Preflight check for 5.2.0 failed to complete. Partial results may not reflect
        all compatibility risks.
      name: PreflightIncomplete
      url: https://fairway.dev/docs/risks#preflights
    ---
    5.2.0: NetworkingCompatibilityUnknown, PreflightIncomplete
    available: 5.3.0, 5.2.0, 5.1.0
    "#);
}

#[test]
fn risks_of_partial_results() {
    let mut store = store();
    let mut checks = operators(6, 6, CheckStatus::Passed);
    checks.push(check("networking", CheckStatus::Failed));
    checks.push(CheckReport { kind: CheckKind::BuiltIn, ..check("etcd", CheckStatus::TimedOut) });
    let message = "Networking compatibility could not be determined due to preflight failure.";
    let unknown = Finding {
        check: "networking".to_owned(),
        reason: Reason::PreflightPartial,
        ..risk("NetworkingCompatibilityUnknown", message, "")
    };
    run(&mut store, "5.2.0", ExecutionStatus::Completed, checks, vec![unknown]);
    insta::assert_snapshot!(latest(&store), @r#"
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: Risk assessment incomplete - networking operator preflight check failed
        reason: PreflightPartial
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: Networking compatibility could not be determined due to preflight failure.
      name: NetworkingCompatibilityUnknown
      url: https://fairway.dev/docs/risks#preflights
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: >-
          Risk assessment incomplete - etcd preflight check timed out; networking
          operator preflight check failed
        reason: PreflightPartial
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: >-
        Preflight check for 5.2.0 is incomplete. Partial results may not reflect all
        compatibility risks.
      name: PreflightIncomplete
      url: https://fairway.dev/docs/risks#preflights
    ---
    5.2.0: NetworkingCompatibilityUnknown, PreflightIncomplete
    available: 5.3.0, 5.2.0, 5.1.0
    "#);
}

#[test]
#[expect(clippy::too_many_lines, reason = "the status that is compared is that long")]
fn risks_of_three_targets() {
    let mut store = store();
    let dual_stack = "Dual-stack networking configuration will be deprecated in 5.1.0. Migration to single-stack recommended.";
    let risks = vec![risk(
        "NetworkingDualStackDeprecated",
        dual_stack,
        "https://docs.openshift.com/container-platform/5.1/networking/dual-stack-migration.html",
    )];
    run(
        &mut store,
        "5.1.0",
        ExecutionStatus::Completed,
        operators(8, 8, CheckStatus::Passed),
        risks,
    );
    store.end(&image("5.1.0"), at(2));
    let risks = vec![
        risk(
            "StorageCSIDriverIncompatible",
            "Current CSI driver version 2.3.1 incompatible with OpenShift 5.2.0. Minimum version 2.4.0 required.",
            "https://issues.redhat.com/browse/STOR-4521",
        ),
        risk(
            "MachineConfigKernelVersionMismatch",
            "Current kernel version 4.18.0 may have performance degradation with 5.2.0 container runtime.",
            "https://docs.openshift.com/container-platform/5.2/updating/kernel-compatibility.html",
        ),
    ];
    run(
        &mut store,
        "5.2.0",
        ExecutionStatus::Completed,
        operators(8, 8, CheckStatus::Passed),
        risks,
    );
    store.end(&image("5.2.0"), at(2));
    run(
        &mut store,
        "5.3.0",
        ExecutionStatus::Running,
        operators(6, 8, CheckStatus::Running),
        vec![],
    );
    insta::assert_snapshot!(latest(&store), @r#"
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: Risk identified during preflight check for 5.2.0
        reason: PreflightValidation
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: >-
        Current kernel version 4.18.0 may have performance degradation with 5.2.0
        container runtime.
      name: MachineConfigKernelVersionMismatch
      url: >-
        https://docs.openshift.com/container-platform/5.2/updating/kernel-compatibility.html
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: Risk identified during preflight check for 5.1.0
        reason: PreflightValidation
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: >-
        Dual-stack networking configuration will be deprecated in 5.1.0. Migration to
        single-stack recommended.
      name: NetworkingDualStackDeprecated
      url: >-
        https://docs.openshift.com/container-platform/5.1/networking/dual-stack-migration.html
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: 6 of 8 operators checked successfully, 2 remaining
        reason: PreflightRunning
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: >-
        Preflight check for 5.3.0 in progress. Results will be updated as checks
        complete.
      name: PreflightInProgress
      url: https://fairway.dev/docs/risks#preflights
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: Risk identified during preflight check for 5.2.0
        reason: PreflightValidation
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: >-
        Current CSI driver version 2.3.1 incompatible with OpenShift 5.2.0. Minimum
        version 2.4.0 required.
      name: StorageCSIDriverIncompatible
      url: https://issues.redhat.com/browse/STOR-4521
    ---
    5.3.0: PreflightInProgress
    5.2.0: MachineConfigKernelVersionMismatch, StorageCSIDriverIncompatible
    5.1.0: NetworkingDualStackDeprecated
    available: 5.3.0
    "#);
}

#[test]
fn risks_with_same_name_in_two_targets_are_merged() {
    let mut store = store();
    for version in ["5.1.0", "5.2.0"] {
        let risks = vec![risk("OldDriver", "The driver is too old.", "https://example.com/driver")];
        run(
            &mut store,
            version,
            ExecutionStatus::Running,
            operators(1, 1, CheckStatus::Passed),
            risks,
        );
        store.abort(&image(version), "Evicted", "the node is full", at(2));
    }
    insta::assert_snapshot!(latest(&store), @r#"
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: |-
          Risk identified during preflight check for 5.1.0
          Risk identified during preflight check for 5.2.0
        reason: PreflightValidation
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: The driver is too old.
      name: OldDriver
      url: https://example.com/driver
    - conditions:
      - lastTransitionTime: "2026-02-02T02:40:00Z"
        message: >-
          Preflight execution failed after checking 1 of 1 operators. Results are
          incomplete.
        reason: PreflightFailed
        status: "True"
        type: Applies
      matchingRules:
      - type: Always
      message: |-
        Preflight check for 5.1.0 failed to complete. Partial results may not reflect all compatibility risks.
        Preflight check for 5.2.0 failed to complete. Partial results may not reflect all compatibility risks.
      name: PreflightIncomplete
      url: https://fairway.dev/docs/risks#preflights
    ---
    5.2.0: OldDriver, PreflightIncomplete
    5.1.0: OldDriver, PreflightIncomplete
    available: 5.3.0
    "#);
    let mut own = evaluated(&store).conditional_updates.into_iter().map(|update| {
        let applies = &update.risks[0].conditions[0];
        format!("{}: {}", update.release.version, applies.message)
    });
    assert_eq!(own.next().unwrap(), "5.2.0: Risk identified during preflight check for 5.2.0");
}
