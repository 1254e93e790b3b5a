//! Arguments of `fairway upgrade accept`.

use std::collections::{BTreeMap, BTreeSet};

use fairway_risk::{AcceptanceTerms, VersionRange};
use jiff::Timestamp;

use super::super::acceptance::OtherRisks;
use crate::args::upgrade::AcceptArgs;
use crate::errors::WrongUsage;

/// Requested changes of the accepted risks.
#[derive(Debug)]
pub(super) struct AcceptRequest {
    /// Risks to accept, with their terms.
    pub(super) accept: BTreeMap<String, AcceptanceTerms>,
    /// Risks to remove.
    pub(super) remove: BTreeSet<String>,
    /// What happens to other accepted risks.
    pub(super) others: OtherRisks,
}

impl AcceptRequest {
    /// The request of the arguments.
    pub(super) fn of(args: &AcceptArgs, now: Timestamp) -> Result<Self, WrongUsage> {
        let named = |accept: bool| -> BTreeSet<String> {
            let chosen = args.risks.iter().filter(|choice| choice.accept == accept);
            chosen.map(|choice| choice.name.clone()).collect()
        };
        let (accept, remove) = (named(true), named(false));
        if let Some(both) = accept.intersection(&remove).next() {
            return Err(WrongUsage(format!("{both} and {both}- cannot be used together")));
        }
        if args.replace && !remove.is_empty() {
            return Err(WrongUsage(
                "NAME- has no effect with --replace, which removes all risks that are not named"
                    .to_owned(),
            ));
        }
        let terms = terms(args, now)?;
        if accept.is_empty() && terms != AcceptanceTerms::default() {
            return Err(WrongUsage(
                "--reason, --until and --for require at least one risk to accept".to_owned(),
            ));
        }
        if args.risks.is_empty() && !args.clear {
            return Err(WrongUsage(
                "no risk is named; run `fairway upgrade accept --export` to list the accepted risks"
                    .to_owned(),
            ));
        }
        let others = if args.replace || args.clear { OtherRisks::Remove } else { OtherRisks::Keep };
        let accept = accept.into_iter().map(|name| (name, terms.clone())).collect();
        Ok(Self { accept, remove, others })
    }

    /// Request to accept imported risks.
    pub(super) fn imported(accept: BTreeMap<String, AcceptanceTerms>, others: OtherRisks) -> Self {
        Self { accept, remove: BTreeSet::new(), others }
    }

    /// Whether an accepted risk stays accepted.
    pub(super) fn keeps(&self, name: &str) -> bool {
        match self.others {
            OtherRisks::Keep => !self.remove.contains(name),
            OtherRisks::Remove => self.accept.contains_key(name),
        }
    }

    /// Sets the user of terms without one.
    pub(super) fn set_user(&mut self, user: Option<&str>) {
        for terms in self.accept.values_mut() {
            terms.by = terms.by.take().or_else(|| user.map(str::to_owned));
        }
    }
}

fn terms(args: &AcceptArgs, now: Timestamp) -> Result<AcceptanceTerms, WrongUsage> {
    let until = args.until.as_ref().map(|until| until.from(now)).transpose();
    let until = until.map_err(|why| WrongUsage(format!("--until: {why}")))?;
    if let Some(until) = until.as_ref().filter(|until| until.end() <= now) {
        return Err(WrongUsage(format!("--until: {until} is in the past")));
    }
    Ok(AcceptanceTerms {
        reason: args.reason.clone(),
        until,
        versions: any_of(&args.versions)?,
        ..AcceptanceTerms::default()
    })
}

/// Range that matches any of several.
fn any_of(ranges: &[VersionRange]) -> Result<Option<VersionRange>, WrongUsage> {
    let texts: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    let joined = (!texts.is_empty()).then(|| texts.join(" || ").parse::<VersionRange>());
    joined.transpose().map_err(|error| WrongUsage(format!("--for: {error}")))
}
