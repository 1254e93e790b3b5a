//! Values of rolling updates: int-or-percent limits and template hashes.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

/// Rounding of percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rounding {
    Up,
    Down,
}

/// Resolves an int-or-percent value against a total. Invalid and negative values are 0.
pub(super) fn resolve_int_or_percent(value: &IntOrString, total: i32, rounding: Rounding) -> i32 {
    let percent = match value {
        IntOrString::Int(number) => return (*number).max(0),
        IntOrString::String(text) => text.strip_suffix('%').and_then(|text| text.parse().ok()),
    };
    let percent: i64 =
        percent.filter(|percent: &i64| (0..=1_000_000).contains(percent)).unwrap_or(0);
    let hundredths = percent * i64::from(total.max(0));
    let whole = match rounding {
        Rounding::Up => (hundredths + 99) / 100,
        Rounding::Down => hundredths / 100,
    };
    i32::try_from(whole).unwrap_or(i32::MAX)
}

/// Characters without vowels and look-alikes (upstream: `rand.SafeEncodeString`).
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// Hash of a template in names and labels; `collisions` changes it after a name collision.
pub(super) fn template_hash(template: &PodTemplateSpec, collisions: Option<i32>) -> String {
    // Maps are sorted, so equal templates have the same JSON.
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

    #[test]
    fn resolve_rounds_percentages() {
        for (text, total, up, down) in [
            ("25%", 10, 3, 2),
            ("25%", 4, 1, 1),
            ("25%", 1, 1, 0),
            ("0%", 10, 0, 0),
            ("100%", 7, 7, 7),
            ("150%", 3, 5, 4),
            ("1%", 0, 0, 0),
            ("-5%", 10, 0, 0),
            ("99999999999999999999%", 10, 0, 0),
            ("many", 10, 0, 0),
            ("", 10, 0, 0),
        ] {
            let value = IntOrString::String(text.to_owned());
            assert_eq!(
                resolve_int_or_percent(&value, total, Rounding::Up),
                up,
                "{text} of {total}, up"
            );
            assert_eq!(
                resolve_int_or_percent(&value, total, Rounding::Down),
                down,
                "{text} of {total}, down"
            );
        }
        assert_eq!(resolve_int_or_percent(&IntOrString::Int(3), 1, Rounding::Up), 3);
        assert_eq!(resolve_int_or_percent(&IntOrString::Int(-3), 1, Rounding::Up), 0);
    }

    fn template(image: &str) -> PodTemplateSpec {
        let containers = json!([{ "name": "c", "image": image }]);
        serde_json::from_value(json!({ "spec": { "containers": containers } })).unwrap()
    }

    #[test]
    fn fnv1a_matches_published_values() {
        for (text, expected) in [("", 0x811c_9dc5), ("a", 0xe40c_292c), ("foobar", 0xbf9c_f968)] {
            assert_eq!(fnv1a(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn template_hash_differs_by_template_and_collisions() {
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
