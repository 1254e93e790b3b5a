//! Objects of a cluster, as far as they are looked at.

use http::header::ACCEPT;
use kube::core::Status;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Cluster;
use super::advice::Failure;
use super::kind::Selection;
use crate::errors::WithHint;

/// As many as kubectl asks for at once.
const PAGE: usize = 500;

/// More pages are more objects than any cluster has.
const MOST_PAGES: usize = 200;

/// How a server is asked for whole objects.
const WHOLE: &str = "application/json";

/// How a server is asked for names, labels and annotations.
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

#[derive(Deserialize)]
struct Page<T> {
    #[serde(default)]
    metadata: PageMetadata,
    /// Servers written in Go say null where there is nothing.
    items: Option<Vec<T>>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    token: String,
}

impl Cluster {
    /// Every object of a kind, page by page; none where the server does not know the kind.
    pub(crate) async fn every<T: DeserializeOwned>(
        &self,
        wanted: Selection<'_>,
    ) -> anyhow::Result<Option<Vec<T>>> {
        let path = wanted.path();
        let accept = if wanted.metadata_only { METADATA } else { WHOLE };
        let mut objects = Vec::new();
        let mut token = String::new();
        for _ in 0..MOST_PAGES {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair("limit", &PAGE.to_string());
            if let Some((key, value)) = wanted.label {
                query.append_pair("labelSelector", &format!("{key}={value}"));
            }
            if !token.is_empty() {
                query.append_pair("continue", &token);
            }
            let page = format!("{path}?{}", query.finish());
            let Some(Page { metadata, items }) = self.get(&page, &path, accept).await? else {
                return Ok(None);
            };
            objects.extend(items.into_iter().flatten());
            token = metadata.token;
            if token.is_empty() {
                return Ok(Some(objects));
            }
        }
        // Part of a list must not be taken for all of it.
        Err(anyhow::anyhow!("more than {} objects", objects.len()).context(WithHint {
            message: format!("cannot list {path} of {}", self.address),
            hint: "run `kubectl get` to check whether these objects are expected".to_owned(),
        }))
    }

    /// One object; none where it or its kind is not there.
    pub(crate) async fn one<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Option<T>> {
        self.get(path, path, WHOLE).await
    }

    async fn get<T: DeserializeOwned>(
        &self,
        address: &str,
        path: &str,
        accept: &'static str,
    ) -> anyhow::Result<Option<T>> {
        let request = http::Request::get(address).header(ACCEPT, accept);
        let request = request.body(Vec::new())?;
        match self.in_time(self.client.request(request)).await {
            Ok(found) => Ok(Some(found)),
            Err(Failure::Refused(kube::Error::Api(status))) if is_missing(&status) => Ok(None),
            Err(failure) => Err(anyhow::anyhow!(failure.in_short()).context(WithHint {
                message: format!("cannot read {path} of {}", self.address),
                hint: format!("check your read permission with `kubectl get --raw {path}`"),
            })),
        }
    }
}

fn is_missing(status: &Status) -> bool {
    status.code == 404
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_objects_is_empty() {
        for (text, count) in [
            (r#"{"items": null}"#, 0),
            (r#"{"items": [], "metadata": {}}"#, 0),
            (r#"{"items": [1, 2], "metadata": {"continue": "more"}}"#, 2),
        ] {
            let page: Page<u32> = serde_json::from_str(text).unwrap();
            assert_eq!(page.items.into_iter().flatten().count(), count, "{text}");
        }
    }
}
