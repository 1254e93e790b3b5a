//! Addresses that nobody can open.

use super::{Context, Finding, Rule};
use crate::data::Severity;
use crate::lint::tree::Tree;

pub(super) static RULE: Rule =
    Rule { id: "url", summary: "URL of a risk is not an http or https URL" };

pub(super) fn check(context: &Context<'_>) -> Vec<Finding> {
    let urls = context.blocks.iter().filter_map(|source| Some((source, source.tree.get("url")?)));
    let unusable = |url: &Tree| url.text().is_some_and(|text| !text.is_empty() && !is_url(text));
    urls.filter(|(_, url)| unusable(url))
        .map(|(source, url)| {
            let message = "not an absolute http or https URL";
            source.finding(&RULE, Severity::Error, url.span.clone(), message)
        })
        .collect()
}

fn is_url(text: &str) -> bool {
    let parsed = url::Url::parse(text);
    parsed.is_ok_and(|url| url.has_host() && matches!(url.scheme(), "http" | "https"))
}
