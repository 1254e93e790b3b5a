//! Lists the tags of a repository, page by page.

use reqwest::Method;
use reqwest::header::{HeaderMap, LINK};
use serde::Deserialize;
use url::Url;

use super::{Body, PullError, Repository, error};
use crate::manifest::MAX_DOCUMENT_BYTES;

/// Tags of a repository: ten times as many as the largest platform has.
const MAX_TAGS: usize = 100_000;
/// Requested tags per page; registries may return fewer.
const PAGE_SIZE: usize = 1000;
/// Pages of a listing: registries return at least 50 tags per page.
const MAX_PAGES: usize = MAX_TAGS / 50;
/// Length of a tag (distribution specification).
const MAX_TAG_LENGTH: usize = 128;

#[derive(Deserialize)]
struct Page {
    tags: Option<Vec<String>>,
}

impl Repository {
    /// All tags, sorted, without signatures and attestations that other tools store as
    /// `sha256-DIGEST.*`.
    pub async fn tags(&self) -> Result<Vec<String>, PullError> {
        let mut url = self.url("tags", "list");
        url.query_pairs_mut().append_pair("n", &PAGE_SIZE.to_string());
        let mut tags = Vec::new();
        for _ in 0..MAX_PAGES {
            let (page, next) = self.page(&url).await?;
            tags.extend(page.into_iter().filter(|tag| is_tag(tag) && !is_attachment(tag)));
            if tags.len() > MAX_TAGS {
                break;
            }
            match next {
                Some(next) if next != url => url = next,
                _ => {
                    tags.sort();
                    tags.dedup();
                    return Ok(tags);
                }
            }
        }
        Err(PullError::TooManyTags { limit: MAX_TAGS })
    }

    async fn page(&self, url: &Url) -> Result<(Vec<String>, Option<Url>), PullError> {
        self.backoff().run(|| self.page_once(url)).await
    }

    async fn page_once(&self, url: &Url) -> Result<(Vec<String>, Option<Url>), PullError> {
        let response = self.send(Method::GET, url, "application/json").await?;
        let next = next_page(url, response.headers())?;
        let bytes = Body::Response(response).read(MAX_DOCUMENT_BYTES).await?;
        let page: Page =
            serde_json::from_slice(&bytes).map_err(|_| malformed(url, &"not a list of tags"))?;
        Ok((page.tags.unwrap_or_default(), next))
    }
}

/// The URL of the next page from the `Link` header. It must have the same origin and path, because
/// the request has credentials.
fn next_page(url: &Url, headers: &HeaderMap) -> Result<Option<Url>, PullError> {
    let Some(link) = headers.get(LINK).and_then(|link| link.to_str().ok()) else {
        return Ok(None);
    };
    let Some((target, _)) =
        link.trim_start().strip_prefix('<').and_then(|link| link.split_once('>'))
    else {
        return Ok(None);
    };
    let next = url.join(target).map_err(|error| malformed(url, &error))?;
    if next.origin() != url.origin() || next.path() != url.path() {
        return Err(malformed(url, &"the next page of tags has another address"));
    }
    Ok(Some(next))
}

fn malformed(url: &Url, why: &impl ToString) -> PullError {
    PullError::Malformed { what: error::display_url(url), why: why.to_string() }
}

/// Whether a text is a valid tag.
pub(crate) fn is_tag(text: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=MAX_TAG_LENGTH).contains(&text.len())
        && text.bytes().all(legal)
        && !text.starts_with(['.', '-'])
}

fn is_attachment(tag: &str) -> bool {
    let digits = tag.strip_prefix("sha256-").unwrap_or_default();
    let digits = digits.split_once('.').map_or(digits, |(digits, _)| digits);
    digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_page_with_other_origin_fails() {
        let url = Url::parse("https://registry.example/v2/a/tags/list?n=2").unwrap();
        let next = |link: &str| {
            let headers = HeaderMap::from_iter([(LINK, link.parse().unwrap())]);
            next_page(&url, &headers).map(|next| next.map(String::from))
        };
        let expected = "https://registry.example/v2/a/tags/list?n=2&last=b";
        assert_eq!(next(r#"</v2/a/tags/list?n=2&last=b>; rel="next""#).unwrap().unwrap(), expected);
        assert_eq!(next(&format!("<{expected}>")).unwrap().unwrap(), expected);
        assert_eq!(next("nonsense").unwrap(), None);
        assert!(next("<https://evil.example/v2/a/tags/list>").is_err());
        assert!(next("</v2/b/tags/list>").is_err());
    }

    #[test]
    fn is_tag_and_is_attachment_recognise_tags() {
        let digits = "0123456789abcdef".repeat(4);
        for attachment in [format!("sha256-{digits}.sig"), format!("sha256-{digits}")] {
            assert!(is_attachment(&attachment), "{attachment}");
        }
        for tag in ["4.7.4-x86_64", "sha256-1", "latest"] {
            assert!(is_tag(tag) && !is_attachment(tag), "{tag}");
        }
        for other in ["", "../x", "a b", ".a", &"a".repeat(129)] {
            assert!(!is_tag(other), "{other}");
        }
    }
}
