//! References of pods to images in a layout.

use crate::Digest;

/// An image reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// A digest; a name beside it is ignored.
    Digest(Digest),
    /// A name with a tag.
    Name(String),
}

impl Reference {
    /// Parses the `image` of a container: `name`, `name:tag`, `name:tag@sha256:…`.
    pub(super) fn parse(text: &str) -> Self {
        let digest = text.rsplit_once('@').and_then(|(_, digest)| Digest::parse(digest));
        digest.map_or_else(|| Self::Name(complete_name(text)), Self::Digest)
    }

    /// Whether an image with the annotation `annotated` matches. In a layout that annotates only
    /// tags, the name of the directory is the repository.
    pub(super) fn matches(&self, annotated: &str, directory: &str) -> bool {
        let Self::Name(name) = self else { return false };
        let is_tag = !annotated.contains([':', '/']);
        complete_name(annotated) == *name
            || (is_tag && complete_name(&format!("{directory}:{annotated}")) == *name)
    }
}

/// The name with its tag, and without the default registry and path that container engines add.
fn complete_name(text: &str) -> String {
    let text = text.strip_prefix("docker.io/").unwrap_or(text);
    let text = text.strip_prefix("library/").unwrap_or(text);
    // A colon before the last slash belongs to a registry's port.
    let has_tag = text.rsplit('/').next().is_some_and(|last| last.contains(':'));
    if has_tag { text.to_owned() } else { format!("{text}:latest") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_completes_names_like_container_engines() {
        let cases = [
            ("busybox", "busybox", true),
            ("busybox", "docker.io/library/busybox:latest", true),
            ("busybox:1", "busybox", false),
            ("busybox:1", "docker.io/library/busybox:1", true),
            ("docker.io/busybox:1", "busybox:1", true),
            ("localhost:5000/a", "localhost:5000/a:latest", true),
            ("localhost:5000/a:2", "localhost:5000/a", false),
            ("here:dev", "dev", true),
            ("here", "latest", true),
            ("elsewhere:dev", "dev", false),
            ("dev", "dev", true),
        ];
        for (reference, annotated, expected) in cases {
            let matches = Reference::parse(reference).matches(annotated, "here");
            assert_eq!(matches, expected, "{reference} and {annotated}");
        }
    }

    #[test]
    fn parse_with_digest_ignores_name() {
        let digest = Digest::of(b"x");
        let reference = Reference::parse(&format!("registry.example/a:1@{digest}"));
        assert_eq!(reference, Reference::Digest(digest));
        assert!(!reference.matches("registry.example/a:1", "here"));
    }
}
