//! Manifests for some major versions: one payload serves two while a platform moves to the next.

use std::collections::BTreeSet;

use super::{Exclusion, annotation};
use crate::manifest::{Manifest, ObjectId};

/// Whether a manifest is for releases of a major version.
pub(super) fn check(manifest: &Manifest, release: u64) -> Result<(), Exclusion> {
    let Some(text) = manifest.annotation(annotation::MAJOR_VERSION) else { return Ok(()) };
    if !may_be_bound(&manifest.id) {
        return Err(Exclusion::MajorVersionMisplaced { kind: manifest.id.kind.clone() });
    }
    let (wanted, unwanted) =
        read(text).ok_or_else(|| Exclusion::MajorVersionUnreadable { text: text.to_owned() })?;
    if let Some(major) = wanted.intersection(&unwanted).next() {
        return Err(Exclusion::MajorVersionContradiction { major: *major });
    }
    if wanted.contains(&release) || (wanted.is_empty() && !unwanted.contains(&release)) {
        return Ok(());
    }
    Err(Exclusion::OtherMajorVersion { wanted: text.to_owned(), release })
}

fn may_be_bound(id: &ObjectId) -> bool {
    matches!(
        (id.group.as_str(), id.kind.as_str()),
        ("config.openshift.io", "FeatureGate")
            | ("apiextensions.k8s.io", "CustomResourceDefinition")
    )
}

fn read(text: &str) -> Option<(BTreeSet<u64>, BTreeSet<u64>)> {
    let number = |text: &str| {
        // `+5` is a number to Rust, but nobody writes a version like that.
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u64>().ok()).flatten()
    };
    let (mut wanted, mut unwanted) = (BTreeSet::new(), BTreeSet::new());
    for entry in text.split(',').map(str::trim) {
        match entry.strip_prefix('-') {
            Some(entry) => unwanted.insert(number(entry)?),
            None => wanted.insert(number(entry)?),
        };
    }
    Some((wanted, unwanted))
}
