//! Files whose names begin alike, each with the objects of one kind.

use std::path::{Path, PathBuf};

use super::object::{self, Object};
use super::saved;
use crate::cluster::kind::{
    CLUSTER_OPERATORS, CLUSTER_VERSIONS, DEPLOYMENTS, Kind, MACHINE_CONFIG_POOLS, MACHINE_CONFIGS,
    NODES,
};

/// How the name of the file with ClusterVersion ends; the others are found by it.
pub(crate) const CLUSTER_VERSION_FILE: &str = "-cv.yaml";

/// How the names of the others end.
const ENDINGS: [(&str, &Kind); 6] = [
    (CLUSTER_VERSION_FILE, &CLUSTER_VERSIONS),
    ("-co.yaml", &CLUSTER_OPERATORS),
    ("-mcp.yaml", &MACHINE_CONFIG_POOLS),
    ("-mc.yaml", &MACHINE_CONFIGS),
    ("-node.yaml", &NODES),
    ("-mco-deployment.yaml", &DEPLOYMENTS),
];

/// Files whose names begin alike.
pub(super) struct Siblings {
    /// How their names begin, with their directory.
    stem: String,
}

impl Siblings {
    /// Those of that ClusterVersion, if its name is made for it.
    pub(super) fn of(path: &Path) -> Option<Self> {
        let stem = path.to_str()?.strip_suffix(CLUSTER_VERSION_FILE)?;
        Some(Self { stem: stem.to_owned() })
    }

    /// The objects of a kind; `None` where nobody wrote them down.
    pub(super) fn of_kind(&self, kind: &Kind) -> anyhow::Result<Option<Vec<Object>>> {
        let Some(path) = self.file_of(kind) else { return Ok(None) };
        let mut objects = if *kind == CLUSTER_VERSIONS {
            Some(saved::named_in(&path)?)
        } else {
            object::all_in(&path)?
        };
        if let Some(objects) = &mut objects {
            objects.retain(|object| !object.is_another(kind));
        }
        Ok(objects)
    }

    /// Where what is firing would be.
    pub(super) fn alerts(&self) -> PathBuf {
        PathBuf::from(format!("{}-alerts.json", self.stem))
    }

    /// Where objects of a kind would be, if there is a place for them.
    pub(super) fn file_of(&self, kind: &Kind) -> Option<PathBuf> {
        let ending = ENDINGS.iter().find(|(_, of)| *of == kind)?.0;
        Some(PathBuf::from(format!("{}{ending}", self.stem)))
    }
}
