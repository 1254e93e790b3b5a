//! What can be learned from a block file that is not YAML, or not what it should be.

use fairway_api::{Version, read};
use serde::Deserialize;
use serde_json::{Map, Value};

/// What an unreadable block still says.
#[derive(Default)]
pub(super) struct Salvage {
    /// The target.
    pub to: Option<String>,
    /// Where to come from, if it is known that this is all of it.
    pub from: Option<String>,
    /// The properties of a risk that are texts.
    pub texts: Map<String, Value>,
}

#[derive(Deserialize)]
struct Essentials {
    to: Option<String>,
    from: Option<String>,
}

/// Reads the essentials alone, and where even that fails, looks for a line with the target.
pub(super) fn salvage(path: &str, bytes: &[u8]) -> Salvage {
    match read::document::<Essentials>(path, bytes) {
        Ok(Essentials { to, from }) => {
            let mut texts = read::document::<Map<String, Value>>(path, bytes).unwrap_or_default();
            texts.retain(|_, value| value.is_string());
            Salvage { to, from, texts }
        }
        Err(_) => Salvage { to: line(bytes, "to:"), ..Salvage::default() },
    }
}

fn line(bytes: &[u8], key: &str) -> Option<String> {
    let text = String::from_utf8_lossy(bytes);
    let value = text.lines().find_map(|line| line.strip_prefix(key))?;
    let value = value.split(" #").next().unwrap_or_default();
    Some(value.trim().trim_matches(['"', '\'']).to_owned())
}

/// The target that the name of a file says: people call it `5.1.0-Risk.yaml`, or
/// `5.0.9-to-5.1.0.yaml`.
pub(super) fn named(path: &str) -> Option<Version> {
    let file = path.rsplit('/').next()?;
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    let target = stem.split_once("-to-").map_or(stem, |(_, target)| target);
    let mut parts = target.split('-');
    let release = parts.next()?;
    let candidate = parts.next().filter(|part| is_pre_release(part));
    let whole = candidate.map(|candidate| format!("{release}-{candidate}"));
    Version::parse(whole.as_deref().unwrap_or(release)).ok()
}

/// Whether it is something like `rc.1`, and not the name of a risk.
fn is_pre_release(text: &str) -> bool {
    let Some((word, number)) = text.split_once('.') else { return false };
    let is_all = |text: &str, is: fn(u8) -> bool| !text.is_empty() && text.bytes().all(is);
    is_all(word, |byte| byte.is_ascii_lowercase()) && is_all(number, |byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_say_what_they_are_about() {
        let cases = [
            ("blocked-edges/5.1.0-LeakyProxy.yaml", Some("5.1.0")),
            ("blocked-edges/5.1.0.yaml", Some("5.1.0")),
            ("blocked-edges/5.1.0-zz-last.yml", Some("5.1.0")),
            ("blocked-edges/5.1.0-rc.2-LeakyProxy.yaml", Some("5.1.0-rc.2")),
            ("blocked-edges/5.0.9-to-5.1.0.yaml", Some("5.1.0")),
            ("blocked-edges/LeakyProxy.yaml", None),
            ("blocked-edges/5.1-LeakyProxy.yaml", None),
            ("blocked-edges/.yaml", None),
        ];
        for (path, expected) in cases {
            let version = named(path).map(|version| version.to_string());
            assert_eq!(version.as_deref(), expected, "{path}");
        }
    }
}
