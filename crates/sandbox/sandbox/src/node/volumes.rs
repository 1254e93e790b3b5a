//! Contents of volumes.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    DownwardAPIVolumeFile, KeyToPath, Pod, ProjectedVolumeSource, ServiceAccountTokenProjection,
    Volume, VolumeProjection,
};

use crate::node::environment::{ObjectLookup, container_resource, pod_field};

/// Default mode of files in the API.
const DEFAULT_MODE: i32 = 0o644;

/// Content of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum VolumePlan {
    /// An empty directory.
    Empty,
    /// A host path.
    Host { path: String, kind: String },
    /// Files.
    Files(Vec<VolumeFile>),
}

/// A file of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VolumeFile {
    pub(crate) path: String,
    pub(crate) content: Vec<u8>,
    pub(crate) mode: u32,
}

impl VolumePlan {
    /// Whether a volume consists of files, which are read-only in containers.
    pub(crate) fn has_files(volume: &Volume) -> bool {
        volume.config_map.is_some()
            || volume.secret.is_some()
            || volume.projected.is_some()
            || volume.downward_api.is_some()
    }
}

/// Issues tokens for the ServiceAccount of a pod.
pub(crate) trait TokenSource {
    fn token(&self, projection: &ServiceAccountTokenProjection) -> Result<String, String>;
}

/// Sources of the content of volumes.
pub(crate) struct VolumeSources<'a, L, T> {
    pub(crate) pod: &'a Pod,
    pub(crate) lookup: &'a L,
    pub(crate) tokens: &'a T,
}

/// Determines the content of a volume. The error completes the message of the kubelet.
pub(crate) fn plan<L: ObjectLookup, T: TokenSource>(
    planner: &VolumeSources<'_, L, T>,
    volume: &Volume,
) -> Result<VolumePlan, String> {
    if volume.empty_dir.is_some() {
        return Ok(VolumePlan::Empty);
    }
    if let Some(host) = &volume.host_path {
        let kind = host.type_.clone().unwrap_or_default();
        return Ok(VolumePlan::Host { path: host.path.clone(), kind });
    }
    if let Some(map) = &volume.config_map {
        let data = planner.config_map(&map.name, map.optional)?;
        let origin = Origin { kind: "config", optional: map.optional == Some(true) };
        return select(&data, map.items.as_ref(), map.default_mode, &origin).map(VolumePlan::Files);
    }
    if let Some(secret) = &volume.secret {
        let name = secret.secret_name.as_deref().unwrap_or_default();
        let data = planner.secret(name, secret.optional)?;
        let origin = Origin { kind: "secret", optional: secret.optional == Some(true) };
        let (items, mode) = (secret.items.as_ref(), secret.default_mode);
        return select(&data, items, mode, &origin).map(VolumePlan::Files);
    }
    if let Some(downward) = &volume.downward_api {
        let items = downward.items.as_ref();
        return planner.downward(items, downward.default_mode).map(VolumePlan::Files);
    }
    if let Some(projected) = &volume.projected {
        return planner.projected(projected).map(VolumePlan::Files);
    }
    Err("the sandbox supports only the volumes emptyDir, hostPath, configMap, secret, downwardAPI \
        and projected"
        .to_owned())
}

type Data = BTreeMap<String, Vec<u8>>;

impl<L: ObjectLookup, T: TokenSource> VolumeSources<'_, L, T> {
    fn config_map(&self, name: &str, optional: Option<bool>) -> Result<Data, String> {
        let Some(map) = self.lookup.config_map(name) else {
            return missing(optional, || format!("configmap {name:?} not found"));
        };
        let text = map.data.unwrap_or_default().into_iter();
        let text = text.map(|(key, value)| (key, value.into_bytes()));
        let binary = map.binary_data.unwrap_or_default().into_iter();
        Ok(text.chain(binary.map(|(key, value)| (key, value.0))).collect())
    }

    fn secret(&self, name: &str, optional: Option<bool>) -> Result<Data, String> {
        let Some(secret) = self.lookup.secret(name) else {
            return missing(optional, || format!("secret {name:?} not found"));
        };
        let data = secret.data.unwrap_or_default().into_iter();
        Ok(data.map(|(key, value)| (key, value.0)).collect())
    }

    fn projected(&self, projected: &ProjectedVolumeSource) -> Result<Vec<VolumeFile>, String> {
        let mut files = Vec::new();
        for source in projected.sources.iter().flatten() {
            files.extend(self.projection(source, projected.default_mode)?);
        }
        Ok(files)
    }

    fn projection(
        &self,
        source: &VolumeProjection,
        mode: Option<i32>,
    ) -> Result<Vec<VolumeFile>, String> {
        if let Some(map) = &source.config_map {
            let data = self.config_map(&map.name, map.optional)?;
            let origin = Origin { kind: "config", optional: map.optional == Some(true) };
            return select(&data, map.items.as_ref(), mode, &origin);
        }
        if let Some(secret) = &source.secret {
            let data = self.secret(&secret.name, secret.optional)?;
            let origin = Origin { kind: "secret", optional: secret.optional == Some(true) };
            return select(&data, secret.items.as_ref(), mode, &origin);
        }
        if let Some(downward) = &source.downward_api {
            return self.downward(downward.items.as_ref(), mode);
        }
        if let Some(token) = &source.service_account_token {
            let content = self.tokens.token(token)?.into_bytes();
            return Ok(vec![VolumeFile { path: token.path.clone(), content, mode: bits(mode) }]);
        }
        Err("the sandbox supports only ConfigMaps, Secrets, tokens and the downward API in \
             projected volumes"
            .to_owned())
    }

    fn downward(
        &self,
        items: Option<&Vec<DownwardAPIVolumeFile>>,
        mode: Option<i32>,
    ) -> Result<Vec<VolumeFile>, String> {
        let file = |item: &DownwardAPIVolumeFile| {
            let content = match (&item.field_ref, &item.resource_field_ref) {
                (Some(field), _) => {
                    pod_field(self.pod, field).map_err(|error| error.to_string())?
                }
                (None, Some(resource)) => {
                    let spec = self.pod.spec.as_ref();
                    let mut containers = spec.into_iter().flat_map(|spec| &spec.containers);
                    let named = resource.container_name.as_deref().unwrap_or_default();
                    let container = containers.find(|container| container.name == named);
                    let container = container.ok_or_else(|| format!("no container {named:?}"))?;
                    container_resource(container, resource).map_err(|error| error.to_string())?
                }
                (None, None) => String::new(),
            };
            let mode = bits(item.mode.or(mode));
            Ok(VolumeFile { path: item.path.clone(), content: content.into_bytes(), mode })
        };
        items.into_iter().flatten().map(file).collect()
    }
}

struct Origin {
    kind: &'static str,
    optional: bool,
}

fn select(
    data: &Data,
    items: Option<&Vec<KeyToPath>>,
    mode: Option<i32>,
    origin: &Origin,
) -> Result<Vec<VolumeFile>, String> {
    let Some(items) = items else {
        let file = |(key, content): (&String, &Vec<u8>)| VolumeFile {
            path: key.clone(),
            content: content.clone(),
            mode: bits(mode),
        };
        return Ok(data.iter().map(file).collect());
    };
    let mut files = Vec::new();
    for item in items {
        match data.get(&item.key) {
            Some(content) => files.push(VolumeFile {
                path: item.path.clone(),
                content: content.clone(),
                mode: bits(item.mode.or(mode)),
            }),
            None if origin.optional => {}
            None => {
                return Err(format!("references non-existent {} key: {}", origin.kind, item.key));
            }
        }
    }
    Ok(files)
}

fn missing(optional: Option<bool>, error: impl FnOnce() -> String) -> Result<Data, String> {
    if optional == Some(true) { Ok(Data::new()) } else { Err(error()) }
}

fn bits(mode: Option<i32>) -> u32 {
    u32::try_from(mode.unwrap_or(DEFAULT_MODE)).unwrap_or_default() & 0o777
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{ConfigMap, Secret};
    use serde_json::{Value, json};

    use super::*;

    struct NamespaceObjects;

    impl ObjectLookup for NamespaceObjects {
        fn config_map(&self, name: &str) -> Option<ConfigMap> {
            let map = json!({ "data": { "a": "1", "b": "2" } });
            (name == "map").then(|| serde_json::from_value(map).unwrap())
        }

        fn secret(&self, _: &str) -> Option<Secret> {
            None
        }
    }

    impl TokenSource for NamespaceObjects {
        fn token(&self, projection: &ServiceAccountTokenProjection) -> Result<String, String> {
            Ok(format!("token for {}", projection.audience.as_deref().unwrap_or("all")))
        }
    }

    fn planned(volume: Value) -> Result<Vec<(String, String, u32)>, String> {
        let mut volume = volume;
        volume["name"] = json!("v");
        let pod = serde_json::from_value(json!({ "metadata": { "namespace": "n" } })).unwrap();
        let planner =
            VolumeSources { pod: &pod, lookup: &NamespaceObjects, tokens: &NamespaceObjects };
        let plan = plan(&planner, &serde_json::from_value(volume).unwrap())?;
        let VolumePlan::Files(files) = plan else { panic!("{plan:?}") };
        let describe =
            |file: VolumeFile| (file.path, String::from_utf8(file.content).unwrap(), file.mode);
        Ok(files.into_iter().map(describe).collect())
    }

    #[test]
    fn plan_with_missing_or_unsupported_source_fails() {
        for (volume, expected) in [
            (json!({ "configMap": { "name": "no" } }), "configmap \"no\" not found"),
            (json!({ "secret": { "secretName": "no" } }), "secret \"no\" not found"),
            (
                json!({ "configMap": { "name": "map", "items": [{ "key": "z", "path": "z" }] } }),
                "references non-existent config key: z",
            ),
            (
                json!({ "nfs": { "server": "s", "path": "/" } }),
                "the sandbox supports only the volumes emptyDir, hostPath, configMap, secret, downwardAPI and projected",
            ),
        ] {
            assert_eq!(planned(volume).unwrap_err(), expected);
        }
    }
}
