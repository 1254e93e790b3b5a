//! `olm-apis`: which operators that OLM has installed use APIs that the target does not serve.
//!
//! Gone are the APIs of Kubernetes that the target's Kubernetes removes, and the versions of custom
//! resources that its definitions do not serve, of those that the cluster serves now. An operator
//! uses what it owns, requires, has a webhook about or asked for within a day, and what its
//! permissions name if no version of it stays (`OperatorApisMissing`). Where permissions have
//! wildcards, or name what stays in another version, nobody can tell (`OperatorApisUnknown`, for
//! information).

mod lost;

use fairway_compat::Minor;
use fairway_compat::olm::Operator;
use fairway_compat::olm::apis::{Needs, Outlook, Requests};
use fairway_findings::Finding;
use fairway_text::chain;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use kube::api::DynamicObject;

use crate::check::{Answer, BuiltIn, CannotTell};
use crate::checks::removed_apis::COUNTS;
use crate::cluster::{Cluster, Resource, Unseen};
use crate::definitions::DEFINITIONS;
use crate::installed_operators::{InstalledOperators, NO_OLM, OPERATORS};
use crate::target::Target;
use crate::wording::{counted, listed, quoted};

const GUIDE: &str = "https://kubernetes.io/docs/reference/using-api/deprecation-guide/";

/// Which operators that OLM has installed use APIs that the target does not serve.
pub(crate) struct OlmApis;

impl BuiltIn for OlmApis {
    fn name(&self) -> &'static str {
        "olm-apis"
    }

    fn looks_at(&self) -> &[Resource] {
        &[OPERATORS, DEFINITIONS]
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
    let operators = match InstalledOperators::declaring(cluster).await {
        Ok(operators) => operators,
        Err(Unseen::NotServed(_)) => return Err(CannotTell::DoesNotApply(NO_OLM.to_owned())),
        Err(error) => return Err(error.into()),
    };
    let kubernetes = target.content.image_references.component("kubernetes").and_then(Minor::parse);
    let mut unknown = Vec::new();
    if kubernetes.is_none() && !operators.is_empty() {
        unknown.push(
            "the target release does not declare its Kubernetes version, so only custom resources \
             were compared"
                .to_owned(),
        );
    }
    let lost = lost::all(cluster, target, kubernetes).await?;
    let requests = match requests(cluster).await {
        Ok(requests) => requests,
        Err(Unseen::NotServed(_)) => Requests::default(),
        Err(why) => {
            unknown.push(quoted(&chain(&why)));
            Requests::default()
        }
    };
    let mut outlooks = Vec::new();
    for operator in operators {
        let csv = cluster.one_of(&OPERATORS.into(), &operator.namespace, &operator.name).await?;
        let Some(csv) = csv else { continue };
        let needs = Needs::read(&serde_json::to_value(csv).unwrap_or_default());
        let needs = needs.with_requests(&requests);
        outlooks.push((operator, Outlook::of(&needs, &lost)));
    }
    Ok(Answer { findings: judge(&outlooks), unknown, left_out: String::new() })
}

/// Who asked for which API within a day.
async fn requests(cluster: &Cluster) -> Result<Requests, Unseen> {
    let mut requests = Requests::default();
    let take =
        |count: DynamicObject| requests.add(&serde_json::to_value(count).unwrap_or_default());
    cluster.each_of(&COUNTS.into(), take).await?;
    Ok(requests)
}

/// What is to be said of all operators.
fn judge(outlooks: &[(Operator, Outlook)]) -> Vec<Finding> {
    let told = |is_it: fn(&Outlook) -> bool| -> Vec<String> {
        let those = outlooks.iter().filter(|(_, outlook)| is_it(outlook));
        those.map(|(operator, outlook)| format!("{operator}: {outlook}")).collect()
    };
    let missing = told(|outlook| matches!(outlook, Outlook::Missing(_)));
    let unknown = told(|outlook| matches!(outlook, Outlook::CannotTell { .. }));
    let mut findings = Vec::new();
    if !missing.is_empty() {
        let message = format!(
            "{} may stop working after the update: {}.",
            counted(missing.len(), "operator"),
            listed(&missing)
        );
        let remediation = "Update these operators to versions that use the replacement of each API";
        let finding = Finding::warning("OperatorApisMissing", message);
        findings.push(finding.remediation(remediation).url(GUIDE));
    }
    if !unknown.is_empty() {
        let message = format!(
            "Unknown for {} whether the target release serves all required APIs: {}.",
            counted(unknown.len(), "operator"),
            listed(&unknown)
        );
        let remediation = "Ask the vendors of these operators. Fairway can tell only if their \
                           permissions name each API instead of using wildcards";
        findings.push(Finding::info("OperatorApisUnknown", message).remediation(remediation));
    }
    findings
}

#[cfg(test)]
mod tests;
