//! Recorded clusters.

mod file;
mod must_gather;
mod object;
mod recorded_files;

use std::collections::BTreeSet;
use std::path::PathBuf;

use fairway_api::{ClusterOperator, ClusterVersion};
use fairway_insight::{Alerts, ObservationTime};
use jiff::Timestamp;
use serde::de::DeserializeOwned;

use crate::cluster::kind::{CLUSTER_VERSIONS, Kind, Selection};
use crate::errors::{CannotTell, WrongUsage};
use crate::input;
use object::Object;
pub(crate) use recorded_files::CLUSTER_VERSION_FILE;
use recorded_files::RecordedFiles;

/// Recorded objects of a cluster, and the time of the recording if given.
pub(crate) struct Recording {
    files: Vec<RecordedFiles>,
    at: Option<Timestamp>,
}

impl Recording {
    /// Opens recorded files.
    pub(crate) fn open(paths: &[PathBuf], at: Option<Timestamp>) -> anyhow::Result<Self> {
        if paths.iter().filter(|path| input::is_stdin(path)).count() > 1 {
            return Err(WrongUsage("standard input can be read only once".to_owned()).into());
        }
        let files =
            paths.iter().map(|path| RecordedFiles::open(path)).collect::<anyhow::Result<_>>()?;
        Ok(Self { files, at })
    }

    /// ClusterVersion of the recording. The files must belong to one cluster.
    pub(super) fn cluster_version(&self) -> anyhow::Result<ClusterVersion> {
        let mut found = Vec::new();
        for recorded in &self.files {
            found.extend(recorded.of_kind(&CLUSTER_VERSIONS)?.into_iter().flatten());
        }
        let Some(first) = found.first() else { return Err(self.missing_kind(&CLUSTER_VERSIONS)) };
        match found.iter().find(|other| !other.may_share_cluster_with(first)) {
            Some(other) => Err(recorded_files::several_clusters(first, other)),
            None => first.read(),
        }
    }

    /// Selected objects; `None` if no file has objects of the kind.
    pub(crate) fn every<T: DeserializeOwned>(
        &self,
        wanted: Selection<'_>,
    ) -> anyhow::Result<Option<Vec<T>>> {
        self.objects(wanted.kind, |object| object.is_in(wanted))
    }

    /// Selected object of a name.
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
        for recorded in &self.files {
            let Some(found) = recorded.of_kind(kind)? else { continue };
            let all = all.get_or_insert_with(Vec::new);
            // A must-gather has some objects twice, in a list and alone. A copy with another name
            // is another object.
            let mut is_new = |it: &Object| {
                it.uid().is_empty() || seen.insert((it.uid().to_owned(), it.list_key()))
            };
            for object in found.iter().filter(|object| wanted(object) && is_new(object)) {
                all.push(object.read()?);
            }
        }
        Ok(all)
    }

    /// Recorded alerts.
    pub(crate) fn alerts(&self) -> Alerts {
        let recorded = self.files.iter().find_map(RecordedFiles::alerts);
        recorded.unwrap_or(Alerts::NotRecorded)
    }

    /// Time of the recording.
    pub(super) fn observation_time(
        &self,
        version: &ClusterVersion,
        components: &[ClusterOperator],
    ) -> ObservationTime {
        match self.at {
            Some(at) => ObservationTime::Recorded(at),
            None => ObservationTime::of_recording(version, components),
        }
    }

    /// Error for a kind that is not recorded.
    pub(super) fn missing_kind(&self, kind: &Kind) -> anyhow::Error {
        let place = |recorded: &RecordedFiles| {
            let place = recorded.path_of(kind);
            let shown = input::name(&place);
            if place.exists() || input::is_stdin(&place) {
                format!("none in {shown}")
            } else {
                format!("{shown} does not exist")
            }
        };
        let places: Vec<String> = self.files.iter().map(place).collect();
        let Kind { name, plural, .. } = kind;
        CannotTell::new(
            format!("no {name} recorded: {}", places.join(", ")),
            format!("record it with `kubectl get {plural} -o yaml`"),
        )
        .into()
    }
}

#[cfg(test)]
mod tests;
