//! Images and key files of `sign` and `verify`.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::Context;

use super::input::PinnedImage;
use crate::args::registry::AccessArgs;
use crate::commands::registry;
use crate::errors::HintExt as _;

/// Maximum size of a key file plus one byte, so that the parser refuses larger ones.
const MAX_BYTES: u64 = (1 << 20) + 1;

/// Resolves an image to its digest.
pub(super) fn resolve(name: &str, access: &AccessArgs) -> anyhow::Result<PinnedImage> {
    let image = registry::image(name, access, "cannot find the release")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let digest = runtime.block_on(image.resolve()).with_hint(
        format!("cannot find the release {name}"),
        "check the image name and the credentials in --pull-secret",
    )?;
    Ok(PinnedImage { repository: image.source().name().to_owned(), digest })
}

/// Reads a key or passphrase file.
pub(super) fn file(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut content = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_BYTES).read_to_end(&mut content))
        .with_context(|| format!("cannot read {}", path.display()))?;
    Ok(content)
}
