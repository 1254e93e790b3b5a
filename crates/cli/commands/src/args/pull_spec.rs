//! Image references as arguments.

use std::str::FromStr;

use fairway_registry::Digest;

/// Reference to an image in a registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PullSpec {
    /// As on the command line.
    pub(crate) text: String,
    /// Whether the reference contains a digest.
    pub(crate) by_digest: bool,
}

impl FromStr for PullSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, digest) = match text.split_once('@') {
            Some((name, digest)) => (name, Some(digest)),
            None => (text, None),
        };
        let (place, repository) = name.rsplit_once('/').unwrap_or_default();
        let tag = repository.split_once(':').map(|(_, tag)| tag);
        if text.contains(char::is_whitespace) {
            return Err("image contains spaces".to_owned());
        }
        if place.is_empty() || repository.is_empty() {
            return Err(
                "no registry or repository specified, such as registry.example/releases".to_owned()
            );
        }
        if digest.is_some_and(|digest| Digest::parse(digest).is_none()) {
            return Err(
                "digest is not of the form sha256: followed by 64 hexadecimal digits".to_owned()
            );
        }
        if digest.is_none() && tag.is_none_or(str::is_empty) {
            return Err("no tag or digest specified, such as @sha256:…".to_owned());
        }
        Ok(Self { text: text.to_owned(), by_digest: digest.is_some() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_pull_specs_are_refused() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for (text, by_digest) in [
            (format!("registry.example/release@{digest}"), true),
            (format!("registry.example:5000/team/release:5.1@{digest}"), true),
            ("registry.example/release:5.1".to_owned(), false),
        ] {
            assert_eq!(text.parse(), Ok(PullSpec { text: text.clone(), by_digest }));
        }
        let texts =
            ["release:5.1", "a/", "registry.example:5000/release", "a/b:", "a/b@sha256:0", "a b"];
        let refused = texts.map(|text| {
            let why = text.parse::<PullSpec>().unwrap_err();
            format!("{text}: {why}")
        });
        insta::assert_snapshot!(refused.join("\n"), @"
        release:5.1: no registry or repository specified, such as registry.example/releases
        a/: no registry or repository specified, such as registry.example/releases
        registry.example:5000/release: no tag or digest specified, such as @sha256:…
        a/b:: no tag or digest specified, such as @sha256:…
        a/b@sha256:0: digest is not of the form sha256: followed by 64 hexadecimal digits
        a b: image contains spaces
        ");
    }
}
