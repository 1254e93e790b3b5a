//! Embedded files of `examples/platform`.

macro_rules! files {
    ($($path:literal),+ $(,)?) => {
        &[$(($path, include_str!(concat!("../../../../examples/platform/", $path)))),+]
    };
}

/// Paths and contents, sorted by path.
const FILES: &[(&str, &str)] = files![
    "graph-data/blocked-edges/5.2.0-StorageMigrationStalls.yaml",
    "graph-data/blocked-edges/5.3.0-NodesRestart.yaml",
    "graph-data/channels/stable-4.9.yaml",
    "graph-data/channels/stable-5.0.yaml",
    "graph-data/channels/stable-5.1.yaml",
    "graph-data/channels/stable-5.2.yaml",
    "graph-data/channels/stable-5.3.yaml",
    "graph-data/version",
    "manifests/0000_07_network_50-defaults.yaml",
    "manifests/0000_07_network_60-config.yaml",
    "manifests/0000_10_platform_00-namespaces.yaml",
    "manifests/0000_10_platform_10-backups.yaml",
    "manifests/0000_10_platform_15-preflight-reader.yaml",
    "manifests/0000_10_platform_20-admin.yaml",
    "manifests/0000_10_platform_30-verification.yaml",
    "manifests/0000_30_platform_00-migration.yaml",
    "manifests/0000_50_cloud-credential_50-credentials.yaml",
    "manifests/0000_50_cloud-credential_60-request.yaml",
    "manifests/0000_50_ingress_50-defaults.yaml",
    "manifests/0000_50_storage_50-legacy-classes.yaml",
    "manifests/0000_50_storage_70-driver.yaml",
    "manifests/0000_60_fragile_20-behaviour.yaml",
    "manifests/0000_80_machine-config_60-worker.yaml",
    "operators/00-namespace.yaml",
    "operators/10-access.yaml",
    "operators/20-behaviour.yaml",
    "operators/30-deployment.yaml",
    "operators/40-preflight.yaml",
    "operators/90-clusteroperator.yaml",
    "releases/5.0.0/0000_50_ingress_40-preflight.yaml",
    "releases/5.0.0/0000_50_storage_60-snapshots.yaml",
    "releases/5.0.1/0000_07_network_50-defaults.yaml",
    "releases/5.1.0/0000_07_network_60-policies.yaml",
    "releases/5.1.0/0000_07_network_70-encryption.yaml",
    "releases/5.1.0/0000_07_network_80-requirements.yaml",
    "releases/5.1.0/0000_10_platform_10-backups.yaml",
    "releases/5.1.0/0000_10_platform_20-admin.yaml",
    "releases/5.1.0/0000_50_ingress_50-defaults.yaml",
    "releases/5.1.0/0000_50_storage_50-legacy-classes.yaml",
    "releases/5.1.0/0000_80_machine-config_70-requirements.yaml",
    "releases/5.2.0/0000_07_network_80-requirements.yaml",
    "releases/5.2.0/0000_10_platform_10-backups.yaml",
    "releases/5.2.0/0000_10_platform_20-admin.yaml",
    "releases/5.2.0/0000_50_cloud-credential_60-request.yaml",
    "releases/5.2.0/0000_50_storage_80-requirements.yaml",
    "releases/5.2.0/0000_80_machine-config_70-requirements.yaml",
    "releases/5.3.0/0000_80_machine-config_50-pools.yaml",
];

/// Public key pair for signing the releases. It is part of the repository and protects nothing.
pub(crate) const SIGNING_KEY: &str = include_str!("../../../../examples/platform/signing-key.asc");

/// The files below a directory, by their relative path.
pub(crate) fn below(directory: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    FILES.iter().filter_map(move |(path, text)| {
        let rest = path.strip_prefix(directory)?.strip_prefix('/')?;
        Some((rest, *text))
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn files_contains_every_file_of_the_directory() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../examples/platform");
        let mut found = Vec::new();
        for directory in ["graph-data", "manifests", "operators", "releases"] {
            collect(&root, &root.join(directory), &mut found);
        }
        found.sort();
        let listed: Vec<&str> = FILES.iter().map(|(path, _)| *path).collect();
        assert_eq!(listed, found);
    }

    fn collect(root: &Path, directory: &Path, found: &mut Vec<String>) {
        for entry in directory.read_dir().unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(root, &path, found);
            } else {
                found.push(path.strip_prefix(root).unwrap().display().to_string());
            }
        }
    }
}
