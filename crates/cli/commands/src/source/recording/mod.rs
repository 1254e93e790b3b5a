//! A cluster that somebody wrote down.

mod alerts;
mod file;
mod gathered;
mod object;
mod part;
mod saved;
mod siblings;

use std::collections::BTreeSet;
use std::path::PathBuf;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::{Alerts, Moment};
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::cluster::kind::{CLUSTER_VERSIONS, Kind, Selection};
use crate::errors::{CannotTell, WrongUsage};
use crate::input;
use object::Object;
use part::Part;
pub(crate) use siblings::CLUSTER_VERSION_FILE;

/// What is written down about a cluster, and when.
pub(crate) struct Recording {
    parts: Vec<Part>,
    at: Option<Timestamp>,
}

impl Recording {
    /// What is in those files. The time is that of the last change in them, if nobody names one.
    pub(crate) fn open(paths: &[PathBuf], at: Option<Timestamp>) -> anyhow::Result<Self> {
        if paths.iter().filter(|path| input::is_stdin(path)).count() > 1 {
            return Err(WrongUsage("standard input can be read only once".to_owned()).into());
        }
        let parts = paths.iter().map(|path| Part::open(path)).collect::<anyhow::Result<_>>()?;
        Ok(Self { parts, at })
    }

    /// The cluster's version. What somebody named may be of several clusters, and must not be mixed.
    pub(super) fn cluster_version(&self) -> anyhow::Result<ClusterVersion> {
        let mut found = Vec::new();
        for part in &self.parts {
            found.extend(part.of_kind(&CLUSTER_VERSIONS)?.into_iter().flatten());
        }
        let Some(first) = found.first() else { return Err(self.lacks(&CLUSTER_VERSIONS)) };
        match found.iter().find(|other| !other.may_be_of_the_cluster_of(first)) {
            Some(other) => Err(saved::several_clusters(first, other)),
            None => first.read(),
        }
    }

    /// The objects that are wanted; none where no file has objects of the kind.
    pub(crate) fn every<T: DeserializeOwned>(
        &self,
        wanted: Selection<'_>,
    ) -> anyhow::Result<Option<Vec<T>>> {
        self.objects(wanted.kind, |object| object.is_in(wanted))
    }

    /// The one of them that has that name.
    pub(super) fn one<T: DeserializeOwned>(
        &self,
        wanted: Selection<'_>,
        name: &str,
    ) -> anyhow::Result<Option<T>> {
        let found = self.objects(wanted.kind, |it| it.is_in(wanted) && it.name() == name)?;
        Ok(found.into_iter().flatten().next())
    }

    fn objects<T: DeserializeOwned>(
        &self,
        kind: &Kind,
        wanted: impl Fn(&Object) -> bool,
    ) -> anyhow::Result<Option<Vec<T>>> {
        let (mut all, mut seen) = (None, BTreeSet::new());
        for part in &self.parts {
            let Some(found) = part.of_kind(kind)? else { continue };
            let all = all.get_or_insert_with(Vec::new);
            // Some of what is gathered is there twice, in a list and alone. What was copied by hand
            // and given another name is another object.
            let mut is_new = |it: &Object| {
                it.uid().is_empty() || seen.insert((it.uid().to_owned(), it.place_in_lists()))
            };
            for object in found.iter().filter(|object| wanted(object) && is_new(object)) {
                all.push(object.read()?);
            }
        }
        Ok(all)
    }

    /// What is firing.
    pub(crate) fn alerts(&self) -> Alerts {
        let recorded = self.parts.iter().find_map(Part::alerts);
        recorded.unwrap_or(Alerts::NotRecorded)
    }

    /// When it was written down.
    pub(super) fn moment(
        &self,
        version: &ClusterVersion,
        components: &[ClusterOperator],
    ) -> Moment {
        match self.at {
            Some(at) => Moment::Recorded(at),
            None => Moment::of_recording(version, components),
        }
    }

    /// That it has no objects of a kind, and where they come from.
    pub(super) fn lacks(&self, kind: &Kind) -> anyhow::Error {
        let place = |part: &Part| {
            let place = part.place_of(kind);
            let shown = input::name(&place);
            if place.exists() || input::is_stdin(&place) {
                format!("none in {shown}")
            } else {
                format!("{shown} does not exist")
            }
        };
        let places: Vec<String> = self.parts.iter().map(place).collect();
        let Kind { name, plural, .. } = kind;
        CannotTell {
            message: format!("no {name} recorded: {}", places.join(", ")),
            hint: format!("record it with `kubectl get {plural} -o yaml`"),
        }
        .into()
    }
}

#[cfg(test)]
mod tests;
