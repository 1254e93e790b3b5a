//! What nobody can guess: identifiers and the ends of generated names.

use ring::rand::{SecureRandom, SystemRandom};

use super::Refusal;

/// What the API server makes names of: no vowels, so no words, and nothing that looks alike.
const ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

/// As long as the API server makes them.
const SUFFIX_LENGTH: usize = 5;

/// A generated name has at most 63 bytes, so that it can be a label.
const MAX_BASE_LENGTH: usize = 63 - SUFFIX_LENGTH;

/// A fresh name that begins with `base`, which is cut where it is too long.
pub(super) fn name(base: &str) -> Result<String, Refusal> {
    let mut end = base.len().min(MAX_BASE_LENGTH);
    while !base.is_char_boundary(end) {
        end -= 1;
    }
    Ok(format!("{}{}", &base[..end], suffix()?))
}

/// The end of a generated name.
pub(super) fn suffix() -> Result<String, Refusal> {
    let letter = |byte: u8| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]);
    Ok(bytes::<SUFFIX_LENGTH>()?.map(letter).into_iter().collect())
}

/// An identifier that no other object ever had: a random UUID (version 4).
pub(super) fn uid() -> Result<String, Refusal> {
    let mut bytes = bytes::<16>()?;
    bytes[6] = bytes[6] & 0x0f | 0x40;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let number = u128::from_be_bytes(bytes);
    let hex = format!("{number:032x}");
    let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
    Ok(parts.join("-"))
}

fn bytes<const N: usize>() -> Result<[u8; N], Refusal> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled
        .map_err(|_| Refusal::internal("cannot read random numbers from the operating system"))?;
    Ok(bytes)
}
