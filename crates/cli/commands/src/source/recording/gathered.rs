//! What `oc adm must-gather` or `oc adm inspect` wrote down. The path of a file tells which kind
//! of objects it has, so nothing is read that nobody asks for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::file;
use super::object::{self, Object};
use crate::cluster::kind::Kind;

/// The directory of objects that are in no namespace.
const CLUSTER_SCOPED: &str = "cluster-scoped-resources";

/// The directory of those that are in one, by namespace.
const NAMESPACES: &str = "namespaces";

/// The directory of kinds without a group.
const CORE: &str = "core";

/// The files of each kind.
pub(super) struct Gathered {
    files: BTreeMap<(String, String), Vec<PathBuf>>,
}

impl Gathered {
    /// What those files are, if one is where such objects are.
    pub(super) fn of(root: &Path, files: &[PathBuf]) -> Option<Self> {
        let mut by_kind: BTreeMap<_, Vec<PathBuf>> = BTreeMap::new();
        let mut is_one = false;
        for file in files {
            let Some(path) = file.strip_prefix(root).ok().and_then(Path::to_str) else { continue };
            is_one |= path.split('/').any(|directory| directory == CLUSTER_SCOPED);
            if let Some((group, plural)) = kind_at(path) {
                by_kind
                    .entry((group.to_owned(), plural.to_owned()))
                    .or_default()
                    .push(file.clone());
            }
        }
        is_one.then_some(Self { files: by_kind })
    }

    /// The objects of a kind; `None` where nobody gathered them.
    pub(super) fn of_kind(&self, kind: &Kind) -> anyhow::Result<Option<Vec<Object>>> {
        let files = self.files.get(&(kind.group.to_owned(), kind.plural.to_owned()));
        let Some(files) = files else { return Ok(None) };
        let mut objects = file::each(files, object::of_bytes)?;
        objects.sort_by_cached_key(Object::place_in_lists);
        Ok(Some(objects))
    }
}

/// The group and the plural of the kind whose objects are at a path.
fn kind_at(path: &str) -> Option<(&str, &str)> {
    let mut parts = path.split('/').skip_while(|part| ![CLUSTER_SCOPED, NAMESPACES].contains(part));
    if parts.next()? == NAMESPACES {
        parts.next()?;
    }
    let group = parts.next()?;
    let group = if group == CORE { "" } else { group };
    match (parts.next()?, parts.next(), parts.next()) {
        (file, None, None) => Some((group, file.strip_suffix(".yaml")?)),
        (plural, Some(_), None) => Some((group, plural)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_kinds() {
        for (path, kind) in [
            ("cluster-scoped-resources/core/nodes/a.yaml", Some(("", "nodes"))),
            (
                "must-gather/quay-io-x/cluster-scoped-resources/config.openshift.io/clusteroperators.yaml",
                Some(("config.openshift.io", "clusteroperators")),
            ),
            ("x/namespaces/ns/core/configmaps.yaml", Some(("", "configmaps"))),
            ("x/namespaces/ns/apps/deployments/a.yaml", Some(("apps", "deployments"))),
            ("x/namespaces/ns/pods/a/b/logs/current.yaml", None),
            ("x/namespaces/ns/ns.yaml", None),
            ("namespaces/ns", None),
            ("cluster-scoped-resources", None),
            ("cluster-scoped-resources/core/nodes.json", None),
            ("monitoring/prometheus/rules.json", None),
            ("", None),
        ] {
            assert_eq!(kind_at(path), kind, "{path}");
        }
    }
}
