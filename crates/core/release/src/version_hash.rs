//! The version hash: equal for clusters that apply the same manifests.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE;

use crate::manifest::Manifest;

/// Hashes manifests in their order: FNV-1 with 64 bits over their JSON, as in the Go operator.
pub fn version_hash<'a>(manifests: impl IntoIterator<Item = &'a Manifest>) -> String {
    let hash = manifests.into_iter().fold(OFFSET_BASIS, |hash, it| fnv1(hash, &it.json()));
    URL_SAFE.encode(hash.to_be_bytes())
}

/// The offset basis and the prime of FNV with 64 bits.
const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

fn fnv1(hash: u64, text: &str) -> u64 {
    text.bytes().fold(hash, |hash, byte| hash.wrapping_mul(PRIME) ^ u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fnv1_matches_test_vectors() {
        for (text, hash) in [
            ("", 0xcbf2_9ce4_8422_2325),
            ("a", 0xaf63_bd4c_8601_b7be),
            ("foobar", 0x340d_8765_a4dd_a9c2),
        ] {
            assert_eq!(fnv1(OFFSET_BASIS, text), hash, "{text}");
        }
    }
}
