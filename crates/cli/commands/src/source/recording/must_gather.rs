//! Directories of `oc adm must-gather` and `oc adm inspect`. The path of a file states the kind of
//! its objects, so only requested kinds are read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::file;
use super::object::{self, Object};
use crate::cluster::kind::Kind;

/// Directory of cluster-scoped objects.
const CLUSTER_SCOPED: &str = "cluster-scoped-resources";

/// Directory of namespaced objects, by namespace.
const NAMESPACES: &str = "namespaces";

/// Directory of the core API group.
const CORE: &str = "core";

/// Files by group and plural name of the kind.
pub(super) struct MustGather {
    files: BTreeMap<(String, String), Vec<PathBuf>>,
}

impl MustGather {
    /// The files of a must-gather, `None` if they are not one.
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

    /// Objects of a kind, `None` if none were gathered.
    pub(super) fn of_kind(&self, kind: &Kind) -> anyhow::Result<Option<Vec<Object>>> {
        let files = self.files.get(&(kind.group.to_owned(), kind.plural.to_owned()));
        let Some(files) = files else { return Ok(None) };
        let mut objects = file::each(files, object::of_bytes)?;
        objects.sort_by_cached_key(Object::list_key);
        Ok(Some(objects))
    }
}

/// Group and plural name of the kind at a path.
fn kind_at(path: &str) -> Option<(&str, &str)> {
    let mut files =
        path.split('/').skip_while(|recorded| ![CLUSTER_SCOPED, NAMESPACES].contains(recorded));
    if files.next()? == NAMESPACES {
        files.next()?;
    }
    let group = files.next()?;
    let group = if group == CORE { "" } else { group };
    match (files.next()?, files.next(), files.next()) {
        (file, None, None) => Some((group, file.strip_suffix(".yaml")?)),
        (plural, Some(_), None) => Some((group, plural)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_at_parses_must_gather_paths() {
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
