//! Short names for pod templates.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use serde_json::json;

/// Letters and digits that form no words and are not mistaken for each other.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// A short name for a template, which tells it from others; `collisions` leads to another one.
pub(super) fn template_hash(template: &PodTemplateSpec, collisions: Option<i32>) -> String {
    // Maps are sorted, so equal templates have equal texts.
    let text = json!([template, collisions]).to_string();
    fnv1a(text.as_bytes()).to_string().bytes().map(safe).collect()
}

fn safe(byte: u8) -> char {
    char::from(ALPHABET[usize::from(byte) % ALPHABET.len()])
}

fn fnv1a(bytes: &[u8]) -> u32 {
    const OFFSET: u32 = 0x811c_9dc5;
    const PRIME: u32 = 0x0100_0193;
    bytes.iter().fold(OFFSET, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(PRIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(image: &str) -> PodTemplateSpec {
        let containers = json!([{ "name": "c", "image": image }]);
        serde_json::from_value(json!({ "spec": { "containers": containers } })).unwrap()
    }

    #[test]
    fn the_hash_is_the_published_one() {
        for (text, expected) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(fnv1a(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn templates_and_collisions_are_told_apart() {
        let names = [
            template_hash(&template("a"), None),
            template_hash(&template("b"), None),
            template_hash(&template("a"), Some(1)),
        ];
        assert_eq!(names[0], template_hash(&template("a"), None));
        assert!(names[0] != names[1] && names[0] != names[2]);
        for name in names {
            assert!(name.bytes().all(|byte| ALPHABET.contains(&byte)), "{name}");
            assert!((1..=10).contains(&name.len()), "{name}");
        }
    }
}
