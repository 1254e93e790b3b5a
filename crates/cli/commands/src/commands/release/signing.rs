//! What signing and verifying have in common: which image is meant, and how keys are read.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context;

use super::input::Pinned;
use crate::args::registry::AccessArgs;
use crate::commands::registry;
use crate::errors::WithHint;

/// Bytes that are read of a file with keys: a byte more than anybody uses, so that too many are
/// refused as such.
const MOST_BYTES: u64 = (1 << 20) + 1;

/// Resolves an image to its digest.
pub(super) fn resolve(name: &str, access: &AccessArgs) -> anyhow::Result<Pinned> {
    let image = registry::image(name, access, "cannot find the release")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let digest = runtime.block_on(image.resolve()).with_context(|| WithHint {
        message: format!("cannot find the release {name}"),
        hint: "check the image name and the credentials in --pull-secret".to_owned(),
    })?;
    Ok(Pinned { repository: image.source().name().to_owned(), digest })
}

/// A file with keys, or with what opens them.
pub(super) fn file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut content))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(content)
}
