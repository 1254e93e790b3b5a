//! `fairway preflight copy-manifests`: copies the manifests of this release for a check in another image.

use fairway_registry::payload::read_unpacked;

use crate::args::preflight::CopyManifestsArgs;
use crate::errors::HintExt as _;
use crate::exit::ExitStatus;
use crate::output;

pub(super) fn run(args: &CopyManifestsArgs) -> anyhow::Result<ExitStatus> {
    let files = read_unpacked(&args.payload).with_hint(
        "cannot read the manifests of this release",
        "run the command in the release image, or specify the directory of a payload with \
         --payload",
    )?;
    for (path, content) in files {
        let path = args.to.join(path);
        if let Some(directory) = path.parent() {
            output::directory(directory)?;
        }
        output::file(&path, content)?;
    }
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use fairway_testkit::releases::TestRelease;

    use super::*;

    #[test]
    fn copy_manifests_copies_release_files() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        TestRelease::new("5.1.0").write(from.path()).unwrap();
        std::fs::write(from.path().join("release-manifests/notes.txt"), "no manifest").unwrap();
        let args = CopyManifestsArgs { to: to.path().join("a"), payload: from.path().to_owned() };
        assert_eq!(run(&args).unwrap(), ExitStatus::Success);
        let copied = read_unpacked(&args.to).unwrap();
        assert_eq!(copied, read_unpacked(from.path()).unwrap());
        assert_eq!(copied.len(), 2);
        assert!(!args.to.join("release-manifests/notes.txt").exists());
    }
}
