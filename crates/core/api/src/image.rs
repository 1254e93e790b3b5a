//! Image references.

/// Whether two references have the same content: equal digests, or equal references.
pub fn same_content(one: &str, other: &str) -> bool {
    let digest = |image: &str| image.rsplit_once('@').map(|(_, digest)| digest.to_owned());
    one == other || digest(one).is_some_and(|one| Some(one) == digest(other))
}

/// Bytes of a reference. Registries limit the name of a repository to 255.
const MAX_REFERENCE_BYTES: usize = 1024;

/// Whether a text has the grammar of image references: `[HOST[:PORT]/]PATH[:TAG][@DIGEST]`, as in
/// `reference.go` of the distribution project.
///
/// Callers check it before any other use. References are substituted as text into manifests, and
/// image layouts find a digest in any text.
pub fn is_reference(text: &str) -> bool {
    if text.len() > MAX_REFERENCE_BYTES {
        return false;
    }
    let (name, digest) = match text.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (text, None),
    };
    let rest = match name.split_once('/') {
        Some((host, rest)) if is_host(host) => rest,
        _ => name,
    };
    let (path, tag) = match rest.rsplit_once(':') {
        Some((path, tag)) => (path, Some(tag)),
        None => (rest, None),
    };
    path.split('/').all(is_path_component) && tag.is_none_or(is_tag) && digest.is_none_or(is_digest)
}

/// Whether a text is a host name, an IPv4 address or an IPv6 address in brackets, with an optional
/// port.
fn is_host(text: &str) -> bool {
    let is_port = |port: &str| {
        (1..=5).contains(&port.len()) && port.bytes().all(|digit| digit.is_ascii_digit())
    };
    if let Some(rest) = text.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else { return false };
        let is_address = |byte: u8| byte.is_ascii_hexdigit() || byte == b':';
        return !address.is_empty()
            && address.bytes().all(is_address)
            && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
    }
    let (host, port) = match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    host.split('.').all(is_label) && port.is_none_or(is_port)
}

/// Whether a text is lowercase letters and digits, with single separators `.`, `_`, `__` or any
/// number of `-` between them.
fn is_path_component(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut separators = text.split(|letter: char| letter.is_ascii() && is_word(letter as u8));
    let is_separator =
        |text: &str| matches!(text, "" | "." | "_" | "__") || text.bytes().all(|byte| byte == b'-');
    text.bytes().next().is_some_and(is_word)
        && text.bytes().next_back().is_some_and(is_word)
        && separators.all(is_separator)
}

fn is_tag(text: &str) -> bool {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    (1..=128).contains(&text.len())
        && text.bytes().next().is_some_and(is_word)
        && text.bytes().all(|byte| is_word(byte) || b".-".contains(&byte))
}

/// Whether a text is an algorithm and a value. Readers of content parse the value.
fn is_digest(text: &str) -> bool {
    let Some((algorithm, encoded)) = text.split_once(':') else { return false };
    let is_word = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"=_-.+".contains(&byte);
    !algorithm.is_empty()
        && algorithm.split(['+', '.', '_', '-']).all(|it| !it.is_empty() && it.bytes().all(is_word))
        && !encoded.is_empty()
        && encoded.bytes().all(is_encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_reference_accepts_grammar_of_images_only() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for reference in [
            "release",
            "release:5.1.0",
            "ubi9/ubi",
            "quay.io/openshift-release-dev/ocp-release:4.17.1-x86_64",
            "localhost:5000/release_a/b__c/d--e.f",
            "127.0.0.1:9/release",
            "[::1]:5000/release",
            "Registry.Example/release",
        ] {
            assert!(is_reference(reference), "{reference}");
            assert!(is_reference(&format!("{reference}@{digest}")), "{reference}");
        }
        for reference in [
            "",
            "@",
            "/release",
            "registry.example/",
            "registry.example//release",
            "registry.example/Release",
            "registry.example/release\n  privileged: true",
            "registry.example/release\", privileged: true, x: \"",
            "registry.example/re lease",
            "registry.example/{{.ReleaseImage}}",
            "registry.example/release:",
            "registry.example/release:-tag",
            "registry.example/release#x",
            "registry.example/-release",
            "registry.example/release.",
            "registry.example/a..b",
            "registry.example/a___b",
            "https://registry.example/release",
            "user:password@registry.example/release",
            "registry.example:port/release",
            "-registry.example:5000/release",
            "oci:/etc",
            "registry.example/r\u{fc}lease",
            "registry.example/release\u{200b}",
        ] {
            assert!(!is_reference(reference), "{reference:?}");
            assert!(!is_reference(&format!("{reference}@{digest}")), "{reference:?}");
        }
        for digest in ["", "sha256", "sha256:", ":0", "sha256:0 0", "sha256:0@sha256:0", "SHA:0"] {
            assert!(!is_reference(&format!("registry.example/release@{digest}")), "{digest}");
        }
        assert!(!is_reference(&"a".repeat(1025)));
    }

    #[test]
    fn same_content_compares_digests() {
        for (one, other, same) in [
            ("here/release@sha256:1", "there/mirror@sha256:1", true),
            ("here/release:5.1.0@sha256:1", "here/release@sha256:1", true),
            ("here/release@sha256:1", "here/release@sha256:2", false),
            ("here/release:5.1.0", "here/release:5.1.0", true),
            ("here/release:5.1.0", "there/release:5.1.0", false),
            ("", "here/release@sha256:1", false),
        ] {
            assert_eq!(same_content(one, other), same, "{one} {other}");
            assert_eq!(same_content(other, one), same, "{other} {one}");
        }
    }
}
