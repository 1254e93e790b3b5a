//! Templates in `manifests/`: the subset of Go templates that releases use.
//!
//! A value (`{{.ReleaseImage}}`, `{{.ClusterProfile}}`), an image by name (`{{index .Images
//! "network"}}`), a string (`{{"{{ $value }}"}}`), a comment, and dashes that trim white space.

use std::collections::BTreeMap;

use serde::Serialize;

use super::MAX_FILE_BYTES;

/// Values of templates.
#[derive(Clone, Copy, Debug)]
pub struct TemplateValues<'a> {
    /// `.ReleaseImage`: reference of the release image.
    pub release_image: &'a str,
    /// `.ClusterProfile`: the profile of the cluster.
    pub cluster_profile: &'a str,
    /// `.Images`: the images of the release, by name.
    pub images: &'a BTreeMap<String, String>,
}

/// Why a template cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "camelCase", tag = "problem")]
#[expect(missing_docs, reason = "the message of a variant explains its fields")]
pub enum TemplateError {
    /// An action, string or comment is not closed.
    #[error("{{{{ is never closed")]
    Unclosed,
    /// The action is not supported.
    #[error("unsupported template action {{{{{action}}}}}")]
    Unknown { action: String },
    /// The release has no image of that name.
    #[error("image {name:?} is not in the release")]
    NoImage { name: String },
    /// The result is too long.
    #[error("the result exceeds the limit of {MAX_FILE_BYTES} bytes")]
    TooLong,
}

const OPEN: &str = "{{";
const CLOSE: &str = "}}";

/// Renders a template. An error comes with the line, counted from one.
pub fn render(template: &str, values: &TemplateValues<'_>) -> Result<String, (u64, TemplateError)> {
    let mut out = String::new();
    let mut rest = template;
    while let Some(start) = rest.find(OPEN) {
        let at = template.len() - rest.len() + start;
        let fail = |error| (line_of(template, at), error);
        let action = Action::read(&rest[start..]).map_err(fail)?;
        let before = &rest[..start];
        out.push_str(if action.trims_before { before.trim_end() } else { before });
        out.push_str(&action.value(values).map_err(fail)?);
        if out.len() > MAX_FILE_BYTES {
            return Err(fail(TemplateError::TooLong));
        }
        rest = &rest[start + action.length..];
        if action.trims_after {
            rest = rest.trim_start();
        }
    }
    out.push_str(rest);
    Ok(out)
}

fn line_of(text: &str, at: usize) -> u64 {
    1 + text[..at].matches('\n').count() as u64
}

struct Action<'a> {
    body: &'a str,
    length: usize,
    trims_before: bool,
    trims_after: bool,
}

impl<'a> Action<'a> {
    /// Parses the action at the start of a text.
    fn read(text: &'a str) -> Result<Self, TemplateError> {
        let end = end_of_action(&text[OPEN.len()..]).ok_or(TemplateError::Unclosed)?;
        let inside = &text[OPEN.len()..OPEN.len() + end];
        let is_dash = |dash: &str| dash.len() > 1 && dash.trim() == "-";
        let trims_before = inside.get(..2).is_some_and(is_dash);
        let body = if trims_before { &inside[2..] } else { inside };
        let dash_at = body.len().saturating_sub(2);
        let trims_after = body.get(dash_at..).is_some_and(is_dash);
        let body = if trims_after { &body[..dash_at] } else { body };
        let length = OPEN.len() + end + CLOSE.len();
        Ok(Self { body: body.trim(), length, trims_before, trims_after })
    }

    fn value(&self, values: &TemplateValues<'_>) -> Result<String, TemplateError> {
        let unknown = || TemplateError::Unknown { action: self.body.to_owned() };
        match self.body {
            ".ReleaseImage" => return Ok(values.release_image.to_owned()),
            ".ClusterProfile" => return Ok(values.cluster_profile.to_owned()),
            comment if comment.starts_with("/*") && comment.ends_with("*/") => {
                return Ok(String::new());
            }
            _ => {}
        }
        let Some(name) = image_lookup(self.body) else {
            return literal(self.body).ok_or_else(unknown);
        };
        let name = literal(name).ok_or_else(unknown)?;
        values.images.get(&name).cloned().ok_or(TemplateError::NoImage { name })
    }
}

fn image_lookup(body: &str) -> Option<&str> {
    let images = body.strip_prefix("index")?.trim_start().strip_prefix(".Images")?;
    Some(images.trim_start())
}

/// The end of an action, outside of strings and comments.
fn end_of_action(text: &str) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = text.get(at..)?;
        if rest.starts_with(CLOSE) {
            return Some(at);
        }
        at += match rest.chars().next()? {
            '"' => quoted_length(rest)?,
            '`' => 2 + rest[1..].find('`')?,
            '/' if rest.starts_with("/*") => 2 + rest.find("*/")?,
            letter => letter.len_utf8(),
        };
    }
}

fn quoted_length(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}

/// A string literal, in quotes or backquotes.
fn literal(text: &str) -> Option<String> {
    if let Some(raw) = text.strip_prefix('`').and_then(|text| text.strip_suffix('`')) {
        return (!raw.contains('`')).then(|| raw.to_owned());
    }
    // Go and JSON have the same escapes, except for some that templates do not use.
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rendered(template: &str) -> Result<String, (u64, TemplateError)> {
        let images = BTreeMap::from([("network".to_owned(), "registry/network@1".to_owned())]);
        let values = TemplateValues {
            release_image: "registry/release@1",
            cluster_profile: "small",
            images: &images,
        };
        render(template, &values)
    }

    #[test]
    fn render_supports_used_actions() {
        for (template, text) in [
            ("no actions } }} at all", "no actions } }} at all"),
            ("image: '{{.ReleaseImage}}'", "image: 'registry/release@1'"),
            ("{{ .ClusterProfile }}, {{.ClusterProfile}}", "small, small"),
            (r#"{{index .Images "network"}}"#, "registry/network@1"),
            (r#"{{ index  .Images  "network" }}"#, "registry/network@1"),
            ("{{index .Images `network`}}", "registry/network@1"),
            (r#"{{"{{ $labels.name }}"}} is down"#, "{{ $labels.name }} is down"),
            ("{{ `{{ \"x\" }}` }}", r#"{{ "x" }}"#),
            (r#"{{ "a \"}}\" b" }}"#, r#"a "}}" b"#),
            ("a{{/* it is }} not over */}}b", "ab"),
            ("a \n {{- .ClusterProfile -}} \n b", "asmallb"),
            ("a {{- /* nothing */ -}} b", "ab"),
            ("ü{{.ClusterProfile}}ü", "üsmallü"),
        ] {
            assert_eq!(rendered(template).as_deref(), Ok(text), "{template}");
        }
    }

    #[test]
    fn render_of_other_actions_fails_with_line() {
        let messages: Vec<String> = [
            "a\n{{index .FutureField \"key\"}}",
            "{{index .Images \"storage\"}}",
            "{{if .ClusterProfile}}x{{end}}",
            "{{.ReleaseImage | printf}}",
            "{{-.ReleaseImage}}",
            "{{ index .Images }}",
            "{{ `a` `b` }}",
            "{{}}",
            "\n\n{{ .ReleaseImage }",
            "{{ \"}}",
            "{{",
            "{{/*}}",
        ]
        .map(|template| rendered(template).unwrap_err())
        .map(|(line, error)| format!("{line}: {error}"))
        .into();
        insta::assert_snapshot!(messages.join("\n"), @r#"
        2: unsupported template action {{index .FutureField "key"}}
        1: image "storage" is not in the release
        1: unsupported template action {{if .ClusterProfile}}
        1: unsupported template action {{.ReleaseImage | printf}}
        1: unsupported template action {{-.ReleaseImage}}
        1: unsupported template action {{index .Images}}
        1: unsupported template action {{`a` `b`}}
        1: unsupported template action {{}}
        3: {{ is never closed
        1: {{ is never closed
        1: {{ is never closed
        1: {{ is never closed
        "#);
    }

    #[test]
    fn render_beyond_size_limit_fails() {
        let images = BTreeMap::new();
        let long = "x".repeat(1000);
        let values = TemplateValues { release_image: &long, cluster_profile: "", images: &images };
        let template = "{{.ReleaseImage}}".repeat(MAX_FILE_BYTES / 100);
        assert_eq!(render(&template, &values), Err((1, TemplateError::TooLong)));
    }

    proptest! {
        #[test]
        fn render_of_arbitrary_text_never_panics(template in "([{}`\"/* .\\-\\\\ü\n]|\\{\\{|\\}\\}|/\\*|\\*/|index .Images)*") {
            let _ = rendered(&template);
        }

        #[test]
        fn render_without_actions_returns_text(text in "[^{]*") {
            prop_assert_eq!(rendered(&text), Ok(text));
        }
    }
}
