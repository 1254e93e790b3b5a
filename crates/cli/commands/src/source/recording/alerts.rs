//! Alerts in files.

use std::path::{Path, PathBuf};

use fairway_insight::{Alerts, alerts};

use super::file;

/// How the names of files end that have what is firing: the answers of a monitoring to
/// `/api/v1/alerts` and `/api/v1/rules`. `oc adm must-gather` writes the latter.
const ENDINGS: [&str; 3] = ["/alerts.json", "-alerts.json", "/rules.json"];

/// The first of some files that has alerts.
pub(super) fn file_among(files: &[PathBuf]) -> Option<&PathBuf> {
    let ends = |path: &Path, ending: &str| path.to_str().is_some_and(|path| path.ends_with(ending));
    ENDINGS.iter().find_map(|ending| files.iter().find(|path| ends(path, ending)))
}

/// What is firing; `None` where there is no such file.
pub(super) fn recorded_in(path: &Path) -> Option<Alerts> {
    let bytes = match file::bytes(path) {
        Ok(bytes) => bytes?,
        Err(error) => return Some(Alerts::Unreadable(format!("{error:#}"))),
    };
    Some(match alerts::read(&bytes) {
        Ok(alerts) => Alerts::Known(alerts),
        Err(error) => Alerts::Unreadable(format!("{}: {error}", path.display())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_are_found_by_the_names_of_files() {
        let files: Vec<PathBuf> = ["a/rules.json", "a/x-alerts.json", "b/alerts.json", "c/x.json"]
            .map(PathBuf::from)
            .into();
        assert_eq!(file_among(&files), Some(&files[2]));
        assert_eq!(file_among(&files[..2]), Some(&files[1]));
        assert_eq!(file_among(&files[..1]), Some(&files[0]));
        assert_eq!(file_among(&files[3..]), None);
    }
}
