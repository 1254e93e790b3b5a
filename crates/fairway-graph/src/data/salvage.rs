//! What can be learned from a block file that is not YAML, or not what it should be.

use fairway_api::read;
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
