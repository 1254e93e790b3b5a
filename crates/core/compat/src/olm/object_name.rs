//! Names that objects can have: what others write must not become a part of a path.

/// Bytes of a name.
const MOST: usize = 253;

/// Whether an object can have that name.
pub fn is_object_name(text: &str) -> bool {
    let is_legal = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |part: &str| {
        let ends = [part.bytes().next(), part.bytes().next_back()];
        ends.into_iter().all(|byte| byte.is_some_and(is_legal))
            && part.bytes().all(|byte| is_legal(byte) || byte == b'-')
    };
    text.len() <= MOST && text.split('.').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_within_their_part_of_a_path() {
        let longest = "a".repeat(MOST);
        for name in ["etcd", "etcd.v1.0.0", "0-0", &longest] {
            assert!(is_object_name(name), "{name}");
        }
        let too_long = "a".repeat(MOST + 1);
        for name in ["", ".", "..", "a/b", "../secrets/a", "a?b", "a%2fb", "A", "a b", &too_long] {
            assert!(!is_object_name(name), "{name}");
        }
    }
}
