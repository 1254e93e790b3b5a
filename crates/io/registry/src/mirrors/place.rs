//! Names of registries and of what is in them.

/// As long as names of images may be.
const LONGEST: usize = 255;

/// Whether it names a registry, or a part of one: `registry.example:5000/team/releases`.
pub(super) fn is_place(text: &str) -> bool {
    let (registry, path) =
        text.split_once('/').map_or((text, None), |(registry, path)| (registry, Some(path)));
    let in_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-:[]".contains(&byte);
    let in_path =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-/".contains(&byte);
    let is_step = |part: &str| matches!(part, "" | "." | "..");
    let is_path = |path: &str| path.bytes().all(in_path) && !path.split('/').any(is_step);
    let is_registry = |registry: &str| !registry.is_empty() && registry.bytes().all(in_host);
    text.len() <= LONGEST && is_registry(registry) && path.is_none_or(is_path)
}

/// Whether it can be what mirrors are for: a place, or `*.example` for all registries of a domain.
pub(super) fn is_source(text: &str) -> bool {
    match text.strip_prefix("*.") {
        Some(domain) => is_place(domain) && !domain.contains(['/', ':']),
        None => is_place(text),
    }
}

/// What follows a source in the name of a repository; `None` if that is not in it.
pub(super) fn rest<'a>(source: &str, repository: &'a str) -> Option<&'a str> {
    let rest = match source.strip_prefix('*') {
        Some(domain) => {
            let registry = repository.split('/').next().unwrap_or(repository);
            let host = registry.split(':').next().unwrap_or(registry);
            (host.ends_with(domain) && host.len() > domain.len()).then(|| &repository[host.len()..])
        }
        None => repository.strip_prefix(source),
    };
    // A port is a part of the registry's name: what is said of one is not said of another.
    rest.filter(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_covers_whole_parts_of_a_name() {
        let cases = [
            ("quay.example", "quay.example/a/b", Some("/a/b")),
            ("quay.example/a", "quay.example/a/b", Some("/b")),
            ("quay.example/a/b", "quay.example/a/b", Some("")),
            ("quay.example/a", "quay.example/ab", None),
            ("quay.example", "quay.example.evil/a", None),
            ("quay.example", "quay.example:5000/a", None),
            ("quay.example:5000", "quay.example:5000/a", Some("/a")),
            ("quay.example/a/b", "quay.example/a", None),
            ("*.example", "quay.example/a", Some("/a")),
            ("*.example", "a.quay.example/a", Some("/a")),
            ("*.example", "example/a", None),
            ("*.example", ".example/a", None),
            ("*.example", "quay.example:5000/a", None),
            ("*.example", "quay.test/a.example", None),
        ];
        for (source, repository, expected) in cases {
            assert_eq!(rest(source, repository), expected, "{source} {repository}");
        }
    }

    #[test]
    fn names_that_cannot_be_repositories_are_told_apart() {
        let long = format!("quay.example/{}", "a".repeat(LONGEST));
        for good in ["quay.example", "QUAY.example/a_b-c/d.e", "127.0.0.1:5000/a", "[::1]:5000/a"] {
            assert!(is_place(good) && is_source(good), "{good}");
        }
        for bad in [
            "",
            "/a",
            "quay.example/",
            "quay.example//a",
            "quay.example/../a",
            "quay.example/a:tag",
            "quay.example/a@sha256:1",
            "https://quay.example/a",
            "user:password@quay.example/a",
            "quay.example/A",
            "quay.example/a b",
            "*.quay.example/a",
            "*",
            "*.",
            &long,
        ] {
            assert!(!is_place(bad) && !is_source(bad), "{bad}");
        }
        assert!(is_source("*.example") && !is_place("*.example"));
        assert!(!is_source("*.example:5000"));
    }
}
