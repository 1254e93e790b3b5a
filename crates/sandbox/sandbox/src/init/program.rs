//! Finding the program of a container, and saying why there is none as container engines say it.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::plain;
use super::plan::{Confinement, Plan};

/// Where programs without a path are looked for if the environment does not say it.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How a program is looked for.
pub(super) struct Search<'a> {
    /// The variable `PATH` of the container.
    pub(super) path: &'a str,
    pub(super) plan: &'a Plan,
}

impl Search<'_> {
    pub(super) fn find(&self, name: &str) -> Result<PathBuf, String> {
        if name.contains('/') {
            let places = self.places(Path::new(name));
            return Ok(places.iter().find(|place| place.exists()).unwrap_or(&places[0]).clone());
        }
        let path = if self.path.is_empty() { DEFAULT_PATH } else { self.path };
        let directories = path.split(':').map(|directory| Path::new(directory).join(name));
        let mut places = directories.flat_map(|place| self.places(&place));
        places
            .find(|place| is_program(place))
            .ok_or_else(|| format!("exec: {name:?}: executable file not found in $PATH"))
    }

    /// Without a root of its own, a container has its programs in the image or on the machine.
    fn places(&self, path: &Path) -> Vec<PathBuf> {
        match self.plan.confinement {
            Confinement::Plain => vec![plain::outside(self.plan, path), path.to_owned()],
            Confinement::Root | Confinement::User => vec![path.to_owned()],
        }
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

/// Why a program that was found could not be run.
pub(super) fn failure(name: &str, error: &io::Error) -> String {
    let reason = match error.raw_os_error().map(rustix::io::Errno::from_raw_os_error) {
        Some(rustix::io::Errno::NOENT) => format!("stat {name}: no such file or directory"),
        Some(rustix::io::Errno::ACCESS) => "permission denied".to_owned(),
        Some(rustix::io::Errno::NOEXEC) => "exec format error".to_owned(),
        Some(rustix::io::Errno::ISDIR) => "is a directory".to_owned(),
        _ => error.to_string(),
    };
    format!("exec: {name:?}: {reason}")
}
