//! What images are called.

use crate::Digest;

/// How somebody asks for an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reference {
    /// By its content, whatever it is called.
    Digest(Digest),
    /// By a name with a tag.
    Name(String),
}

impl Reference {
    /// Reads what stands in a pod: `name`, `name:tag`, `name:tag@sha256:…`.
    pub(super) fn parse(text: &str) -> Self {
        let digest = text.rsplit_once('@').and_then(|(_, digest)| Digest::parse(digest));
        digest.map_or_else(|| Self::Name(whole_name(text)), Self::Digest)
    }

    /// Whether an image that a layout calls `annotated` is meant. A layout that knows only tags is
    /// called like its directory.
    pub(super) fn means(&self, annotated: &str, directory: &str) -> bool {
        let Self::Name(name) = self else { return false };
        let is_tag = !annotated.contains([':', '/']);
        whole_name(annotated) == *name
            || (is_tag && whole_name(&format!("{directory}:{annotated}")) == *name)
    }
}

/// The name as container engines complete it, without the registry and the path that they add.
fn whole_name(text: &str) -> String {
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
    fn names_mean_what_container_engines_complete_them_to() {
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
        for (asked, annotated, expected) in cases {
            let means = Reference::parse(asked).means(annotated, "here");
            assert_eq!(means, expected, "{asked} and {annotated}");
        }
    }

    #[test]
    fn a_digest_outweighs_a_name() {
        let digest = Digest::of(b"x");
        let reference = Reference::parse(&format!("registry.example/a:1@{digest}"));
        assert_eq!(reference, Reference::Digest(digest));
        assert!(!reference.means("registry.example/a:1", "here"));
    }
}
