//! What becomes of an object because of its owners and of what it owns.

use super::graph::{Item, Uid};
use crate::api::Propagation;

/// What an object carries whose dependents go before it does.
pub(super) const FOREGROUND: &str = "foregroundDeletion";
/// What an object carries whose dependents stay when it goes.
pub(super) const ORPHAN: &str = "orphan";

/// What has become of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is there, and is the one that was meant.
    There,
    /// It is being deleted and waits for what it owns.
    Waits,
    /// It is gone, or is another one of the same name.
    Gone,
    /// Nobody can tell: its kind is not served, or it cannot be an owner.
    Unknown,
}

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// These owners are struck off.
    Disown(Vec<Uid>),
    /// It goes.
    Delete(Propagation),
    /// It does not keep this dependent from going.
    Unblock(Uid),
    /// It is struck off as owner of this dependent.
    Orphan(Uid),
    /// It waits no longer for this.
    Finish(&'static str),
}

/// What becomes of an object, given what has become of its owners, and what it owns.
pub(super) fn plan(item: &Item, owners: &[Owner], dependents: &[&Item]) -> Vec<Action> {
    if item.leaves {
        return last_steps(item, dependents);
    }
    if owners.is_empty() || owners.contains(&Owner::Unknown) {
        return Vec::new();
    }
    if owners.contains(&Owner::There) {
        let of_no_use = item.owners.iter().zip(owners).filter(|(_, state)| **state != Owner::There);
        let uids: Vec<_> = of_no_use.map(|(owner, _)| owner.uid.clone()).collect();
        return if uids.is_empty() { Vec::new() } else { vec![Action::Disown(uids)] };
    }
    if owners.contains(&Owner::Waits) && !dependents.is_empty() {
        // Where the dependents wait for this one in turn, nobody would ever go.
        let circle = dependents.iter().filter(|dependent| dependent.waits());
        let circle = circle.map(|dependent| Action::Unblock(dependent.uid.clone()));
        return circle.chain([Action::Delete(Propagation::Foreground)]).collect();
    }
    vec![Action::Delete(match item {
        Item { orphans: true, .. } => Propagation::Orphan,
        Item { foreground: true, .. } => Propagation::Foreground,
        _ => Propagation::Background,
    })]
}

/// What an object that is being deleted still has to do for what it owns.
fn last_steps(item: &Item, dependents: &[&Item]) -> Vec<Action> {
    if item.orphans {
        let orphans = dependents.iter().map(|dependent| Action::Orphan(dependent.uid.clone()));
        return orphans.chain([Action::Finish(ORPHAN)]).collect();
    }
    let is_blocked = dependents.iter().any(|dependent| dependent.blocks(&item.uid));
    if item.foreground && !is_blocked { vec![Action::Finish(FOREGROUND)] } else { Vec::new() }
}
