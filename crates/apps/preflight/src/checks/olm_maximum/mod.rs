//! `olm-maximum`: which operators that OLM has installed run on the target, by what they declare.
//!
//! Those that do not are `OperatorsWillNotRun`, with the nearest version of each that does. Of those
//! that declare nothing, or nothing that makes sense, nobody knows (`OperatorsMayNotRun`, for
//! information), unless the guard in the cluster counts them among the former. Within the running
//! minor version nothing is asked.

use fairway_api::ClusterOperator;
use fairway_compat::olm::{Declaration, Operator, Policy, Stream, Verdict};
use fairway_findings::Finding;
use futures::FutureExt as _;
use futures::future::BoxFuture;

use crate::check::{Answer, BuiltIn, CannotTell};
use crate::cluster::{Cluster, Resource, Unseen};
use crate::installed_operators::{InstalledOperators, NO_OLM, OPERATORS, SUBSCRIPTIONS};
use crate::target::Target;
use crate::wording::{counted, listed};

/// Which operators that OLM has installed run on the target.
pub(crate) struct OlmMaximum;

impl BuiltIn for OlmMaximum {
    fn name(&self) -> &'static str {
        "olm-maximum"
    }

    fn looks_at(&self) -> &[Resource] {
        &[OPERATORS, SUBSCRIPTIONS]
    }

    fn run<'a>(
        &'a self,
        cluster: &'a Cluster,
        target: &'a Target,
    ) -> BoxFuture<'a, Result<Answer, CannotTell>> {
        look(cluster, target).boxed()
    }
}

async fn look(cluster: &Cluster, target: &Target) -> Result<Answer, CannotTell> {
    let installed = match InstalledOperators::of(cluster).await {
        Ok(installed) => installed,
        Err(Unseen::NotServed(_)) => return Err(CannotTell::DoesNotApply(NO_OLM.to_owned())),
        Err(error) => return Err(error.into()),
    };
    let (running, to) = (Stream::of(&target.source), Stream::of(&target.version));
    let findings = judge(&installed.operators, policy(cluster).await?, running, to);
    Ok(Answer { findings, unknown: installed.unknown, left_out: String::new() })
}

/// The policy of the guard, whatever its ClusterOperator is called; the usual one where there is no
/// guard.
async fn policy(cluster: &Cluster) -> Result<Policy, Unseen> {
    let mut policy = None;
    let take = |component: ClusterOperator| {
        let extension = component.status.and_then(|status| status.extension);
        policy = policy.or(extension.as_ref().and_then(Policy::of_report));
    };
    match cluster.each(take).await {
        Ok(()) | Err(Unseen::NotServed(_)) => Ok(policy.unwrap_or_default()),
        Err(unseen) => Err(unseen),
    }
}

/// What operators have against a target.
fn judge(operators: &[Operator], policy: Policy, running: Stream, target: Stream) -> Vec<Finding> {
    let having = |verdict: Verdict| -> Vec<&Operator> {
        let has = |it: &&Operator| policy.verdict(&it.declared, running, target) == verdict;
        operators.iter().filter(has).collect()
    };
    let remedy = |operator: &Operator| {
        let way_out = operator.way_out(policy, running, target)?;
        Some(format!("for {operator}, {way_out}"))
    };
    let failing = having(Verdict::WillNotRun);
    let ways_out: Vec<String> = failing.iter().filter_map(|operator| remedy(operator)).collect();
    let found = [
        will_not_run(&failing, &ways_out, target),
        may_not_run(&having(Verdict::MayNotRun), target),
    ];
    found.into_iter().flatten().collect()
}

fn will_not_run(operators: &[&Operator], ways_out: &[String], target: Stream) -> Option<Finding> {
    if operators.is_empty() {
        return None;
    }
    let told: Vec<String> = operators.iter().map(|operator| limit(operator)).collect();
    let message = format!(
        "{} will not run on {target}, according to the declared maximum version: {}.",
        counted(operators.len(), "operator"),
        listed(&told)
    );
    let remediation = match ways_out {
        [] => "Remove these operators before the update, or ask their vendors for versions that \
             support the target"
            .to_owned(),
        _ => format!("Before the update: {}", listed(ways_out)),
    };
    Some(Finding::warning("OperatorsWillNotRun", message).remediation(remediation))
}

fn limit(operator: &Operator) -> String {
    match &operator.declared {
        Declaration::Maximum(maximum, origin) => format!("{operator} (up to {maximum}; {origin})"),
        Declaration::Missing => {
            format!("{operator} (no maximum version declared, and the OLM guard requires one)")
        }
        Declaration::Invalid(why) => format!("{operator} ({why})"),
    }
}

fn may_not_run(operators: &[&Operator], target: Stream) -> Option<Finding> {
    if operators.is_empty() {
        return None;
    }
    let told: Vec<String> = operators
        .iter()
        .map(|operator| match &operator.declared {
            Declaration::Invalid(why) => format!("{operator} ({why})"),
            Declaration::Missing | Declaration::Maximum(..) => operator.to_string(),
        })
        .collect();
    let message = format!(
        "{} may not run on {target}, because no valid maximum version is declared: {}.",
        counted(operators.len(), "operator"),
        listed(&told)
    );
    let remediation = "Ask the vendors whether these operators support the target release, or test \
                       them on it. This finding does not block the update";
    Some(Finding::info("OperatorsMayNotRun", message).remediation(remediation))
}

#[cfg(test)]
mod tests;
