//! Files that belong together.

use std::path::{Path, PathBuf};

use fairway_insight::Alerts;

use super::gathered::Gathered;
use super::object::Object;
use super::saved::Saved;
use super::siblings::Siblings;
use super::{alerts, file};
use crate::cluster::kind::Kind;

/// What somebody named: a file, or a directory.
pub(super) struct Part {
    path: PathBuf,
    form: Form,
    /// The file that has what is firing.
    alerts: Option<PathBuf>,
}

/// How objects are found in it.
enum Form {
    /// By the names of files beside `X-cv.yaml`.
    Siblings(Siblings),
    /// By where `oc adm must-gather` puts them.
    Gathered(Gathered),
    /// By what they say about themselves.
    Saved(Saved),
}

impl Part {
    /// What is there.
    pub(super) fn open(path: &Path) -> anyhow::Result<Self> {
        let part = |form, alerts| Self { path: path.to_owned(), form, alerts };
        if let Some(siblings) = Siblings::of(path) {
            let alerts = siblings.alerts();
            return Ok(part(Form::Siblings(siblings), Some(alerts)));
        }
        if !path.is_dir() {
            return Ok(part(Form::Saved(Saved::in_file(path)?), None));
        }
        let files = file::below(path)?;
        let form = match Gathered::of(path, &files) {
            Some(gathered) => Form::Gathered(gathered),
            None => Form::Saved(Saved::in_files(&files)?),
        };
        Ok(part(form, alerts::file_among(&files).cloned()))
    }

    /// The objects of a kind; `None` where nobody wrote them down.
    pub(super) fn of_kind(&self, kind: &Kind) -> anyhow::Result<Option<Vec<Object>>> {
        match &self.form {
            Form::Siblings(siblings) => siblings.of_kind(kind),
            Form::Gathered(gathered) => gathered.of_kind(kind),
            Form::Saved(saved) => Ok(saved.of_kind(kind)),
        }
    }

    /// What is firing; `None` where nobody wrote it down.
    pub(super) fn alerts(&self) -> Option<Alerts> {
        self.alerts.as_ref().and_then(|path| alerts::recorded_in(path))
    }

    /// Where objects of a kind would be.
    pub(super) fn place_of(&self, kind: &Kind) -> PathBuf {
        let named = match &self.form {
            Form::Siblings(siblings) => siblings.file_of(kind),
            Form::Gathered(_) | Form::Saved(_) => None,
        };
        named.unwrap_or_else(|| self.path.clone())
    }
}
