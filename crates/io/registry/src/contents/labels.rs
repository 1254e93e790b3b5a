//! The labels of an image.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{ContentsError, manifest};
use crate::releases::{Kind, Source, printable};
use crate::{Digest, ImageConfig};

#[derive(Deserialize)]
struct Configuration {
    #[serde(default)]
    config: Option<ImageConfig>,
}

/// Fetches the labels of an image, and none of its layers. Of several platforms, the platform of
/// this host is preferred.
pub async fn labels(
    source: &Source,
    image: &Digest,
) -> Result<BTreeMap<String, String>, ContentsError> {
    let Some(config) = manifest(source, image, true).await?.config else {
        return Ok(BTreeMap::new());
    };
    let bytes = source.document(Kind::Blob, &config.digest).await?;
    let Configuration { config } =
        serde_json::from_slice(&bytes).map_err(|error| ContentsError::NotAnImage {
            digest: image.clone(),
            why: printable(format!("cannot decode its configuration: {error}")),
        })?;
    Ok(config.unwrap_or_default().labels)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::layout::{self, Layout};
    use crate::{Image, ImageConfig, LayerBuilder};

    #[tokio::test]
    async fn labels_returns_the_labels_of_the_configuration() {
        let directory = tempfile::tempdir().unwrap();
        let layer = LayerBuilder::new().file("a", 0o644, "a").unwrap().build().unwrap();
        let labels = BTreeMap::from([("a.example".to_owned(), "b=1".to_owned())]);
        let config = ImageConfig { labels: labels.clone(), ..ImageConfig::default() };
        let image = Image::new(vec![layer], &config);
        layout::add(directory.path(), &image, "latest").unwrap();
        let source = Source::Layout {
            layout: Layout::open(directory.path()).unwrap(),
            name: "registry.example/a".to_owned(),
        };
        assert_eq!(super::labels(&source, image.digest()).await, Ok(labels));

        let config = source.document(Kind::Manifest, image.digest()).await.unwrap();
        let config: serde_json::Value = serde_json::from_slice(&config).unwrap();
        let digest = config["config"]["digest"].as_str().unwrap().trim_start_matches("sha256:");
        fs::remove_file(directory.path().join("blobs/sha256").join(digest)).unwrap();
        assert!(super::labels(&source, image.digest()).await.is_err());
    }
}
