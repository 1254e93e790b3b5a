//! Image references.

/// Whether two references have the same content: equal digests, or equal references.
pub fn same_content(one: &str, other: &str) -> bool {
    let digest = |image: &str| image.rsplit_once('@').map(|(_, digest)| digest.to_owned());
    one == other || digest(one).is_some_and(|one| Some(one) == digest(other))
}

#[cfg(test)]
mod tests {
    use super::*;

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
