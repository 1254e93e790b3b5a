//! What the administrator wants.

use std::collections::{BTreeMap, BTreeSet};

use fairway_risk::{Range, Terms};
use jiff::Timestamp;

use super::super::stored::Others;
use crate::args::upgrade::AcceptArgs;
use crate::errors::WrongUsage;

/// Which risks are to be accepted from now on, and on which terms.
#[derive(Debug)]
pub(super) struct Wish {
    /// To be accepted on these terms, whether they are already or not.
    pub(super) accept: BTreeMap<String, Terms>,
    /// To be accepted no more.
    pub(super) remove: BTreeSet<String>,
    /// What becomes of all others.
    pub(super) others: Others,
}

impl Wish {
    /// What the arguments say.
    pub(super) fn of(args: &AcceptArgs, now: Timestamp) -> Result<Self, WrongUsage> {
        let named = |accept: bool| -> BTreeSet<String> {
            let chosen = args.risks.iter().filter(|choice| choice.accept == accept);
            chosen.map(|choice| choice.name.clone()).collect()
        };
        let (accept, remove) = (named(true), named(false));
        if let Some(both) = accept.intersection(&remove).next() {
            return Err(WrongUsage(format!("{both} and {both}- exclude each other")));
        }
        if args.replace && !remove.is_empty() {
            return Err(WrongUsage(
                "NAME- has no effect with --replace, which removes all risks that are not named"
                    .to_owned(),
            ));
        }
        let terms = terms(args, now)?;
        if accept.is_empty() && terms != Terms::default() {
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
        let others = if args.replace || args.clear { Others::Go } else { Others::Stay };
        let accept = accept.into_iter().map(|name| (name, terms.clone())).collect();
        Ok(Self { accept, remove, others })
    }

    /// To accept these, each on its own terms.
    pub(super) fn imported(accept: BTreeMap<String, Terms>, others: Others) -> Self {
        Self { accept, remove: BTreeSet::new(), others }
    }

    /// Whether a risk that is accepted stays so.
    pub(super) fn keeps(&self, name: &str) -> bool {
        match self.others {
            Others::Stay => !self.remove.contains(name),
            Others::Go => self.accept.contains_key(name),
        }
    }

    /// Whether a risk is to be accepted.
    pub(super) fn accepts_something(&self) -> bool {
        !self.accept.is_empty()
    }

    /// Notes who wishes it, where nobody is named yet.
    pub(super) fn by(&mut self, user: Option<&str>) {
        for terms in self.accept.values_mut() {
            terms.by = terms.by.take().or_else(|| user.map(str::to_owned));
        }
    }
}

fn terms(args: &AcceptArgs, now: Timestamp) -> Result<Terms, WrongUsage> {
    let until = args.until.as_ref().map(|until| until.from(now)).transpose();
    let until = until.map_err(|why| WrongUsage(format!("--until: {why}")))?;
    if let Some(until) = until.as_ref().filter(|until| until.end() <= now) {
        return Err(WrongUsage(format!("--until: {until} is in the past")));
    }
    Ok(Terms {
        reason: args.reason.clone(),
        until,
        versions: any_of(&args.versions)?,
        ..Terms::default()
    })
}

/// One range for several.
fn any_of(ranges: &[Range]) -> Result<Option<Range>, WrongUsage> {
    let texts: Vec<String> = ranges.iter().map(ToString::to_string).collect();
    let joined = (!texts.is_empty()).then(|| texts.join(" || ").parse::<Range>());
    joined.transpose().map_err(|error| WrongUsage(format!("--for: {error}")))
}
