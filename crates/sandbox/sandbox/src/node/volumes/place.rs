//! Where a volume is mounted in a container.

use std::fs;
use std::path::{Component, Path, PathBuf};

use k8s_openapi::api::core::v1::VolumeMount;

use crate::init::Mount;

/// A mount of a container, from the directory of its volume. `expand` replaces variables.
pub(crate) fn mount(
    volume: &Path,
    asked: &VolumeMount,
    expand: impl Fn(&str) -> String,
) -> Result<Mount, String> {
    let sub_path = match (&asked.sub_path_expr, &asked.sub_path) {
        (Some(expression), _) => expand(expression),
        (None, sub_path) => sub_path.clone().unwrap_or_default(),
    };
    let source = below(volume, &sub_path)?;
    let target = Path::new("/").join(&asked.mount_path);
    Ok(Mount { source, target, read_only: asked.read_only == Some(true) })
}

fn below(volume: &Path, sub_path: &str) -> Result<PathBuf, String> {
    let failed = |error| format!("failed to prepare subPath for volumeMount: {error}");
    let normal = |part: Component<'_>| matches!(part, Component::Normal(_));
    if !Path::new(sub_path).components().all(normal) {
        return Err(format!("subPath {sub_path:?} is outside of its volume"));
    }
    let place = volume.join(sub_path);
    if fs::symlink_metadata(&place).is_err() {
        fs::create_dir_all(&place).map_err(failed)?;
    }
    let (place, volume) =
        (place.canonicalize().map_err(failed)?, volume.canonicalize().map_err(failed)?);
    if place.starts_with(&volume) {
        Ok(place)
    } else {
        Err(format!("subPath {sub_path:?} is outside of its volume"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_part_of_a_volume_is_mounted_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let volume = directory.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc", volume.join("link")).unwrap();
        let place = |asked: serde_json::Value| {
            let mut asked = asked;
            asked["name"] = json!("v");
            asked["mountPath"] = json!("data");
            let asked = serde_json::from_value(asked).unwrap();
            mount(&volume, &asked, |text| text.replace("$(A)", "a"))
        };
        let mounted = place(json!({ "subPathExpr": "x-$(A)", "readOnly": true })).unwrap();
        assert_eq!(mounted.source, volume.join("x-a"));
        assert_eq!((mounted.target, mounted.read_only), (PathBuf::from("/data"), true));
        assert_eq!(place(json!({})).unwrap().source, volume);
        for sub_path in ["../x", "/etc", "link", "a/../../x"] {
            assert!(place(json!({ "subPath": sub_path })).is_err(), "{sub_path}");
        }
    }
}
