//! Lists of objects.

use http::header::ACCEPT;
use kube::core::Status;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Cluster;
use super::api_error::RequestFailure;
use super::kind::Selection;
use crate::errors::WithHint;

/// Page size of kubectl.
const PAGE_SIZE: usize = 500;

/// Maximum number of pages of a list: more than the largest cluster has.
const MAX_PAGES: usize = 200;

/// Media type of complete objects.
const ACCEPT_JSON: &str = "application/json";

/// Media type of object metadata.
const ACCEPT_METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

#[derive(Deserialize)]
struct Page<T> {
    #[serde(default)]
    metadata: PageMetadata,
    /// Servers written in Go encode an empty list as `null`.
    items: Option<Vec<T>>,
}

#[derive(Default, Deserialize)]
struct PageMetadata {
    #[serde(default, rename = "continue")]
    token: String,
}

impl Cluster {
    /// Lists objects page by page; `None` if the server does not serve the kind.
    pub(crate) async fn every<T: DeserializeOwned>(
        &self,
        wanted: Selection<'_>,
    ) -> anyhow::Result<Option<Vec<T>>> {
        let path = wanted.path();
        let accept = if wanted.metadata_only { ACCEPT_METADATA } else { ACCEPT_JSON };
        let mut objects = Vec::new();
        let mut token = String::new();
        for _ in 0..MAX_PAGES {
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.append_pair("limit", &PAGE_SIZE.to_string());
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
        // A partial list must not be mistaken for the complete one.
        Err(anyhow::anyhow!("more than {} objects", objects.len()).context(WithHint::new(
            format!("cannot list {path} of {}", self.address),
            "run `kubectl get` to check whether these objects are expected",
        )))
    }

    /// Reads an object; `None` if it or its kind does not exist.
    pub(crate) async fn one<T: DeserializeOwned>(&self, path: &str) -> anyhow::Result<Option<T>> {
        self.get(path, path, ACCEPT_JSON).await
    }

    async fn get<T: DeserializeOwned>(
        &self,
        address: &str,
        path: &str,
        accept: &'static str,
    ) -> anyhow::Result<Option<T>> {
        let request = http::Request::get(address).header(ACCEPT, accept);
        let request = request.body(Vec::new())?;
        match self.with_timeout(self.client.request(request)).await {
            Ok(found) => Ok(Some(found)),
            Err(RequestFailure::Failed(kube::Error::Api(status))) if is_missing(&status) => {
                Ok(None)
            }
            Err(failure) => Err(anyhow::anyhow!(failure.summary()).context(WithHint::new(
                format!("cannot read {path} of {}", self.address),
                format!("check your read permission with `kubectl get --raw {path}`"),
            ))),
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
    fn list_with_null_items_is_empty() {
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
