//! Subpackets of version 4 signatures, as far as they bear on validity.

use super::signature::InvalidSignature;

/// The key that a signature names as its maker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::signature) enum Issuer {
    KeyId([u8; 8]),
    Fingerprint(Vec<u8>),
}

impl Issuer {
    /// The key ID, which is the end of a fingerprint of version 4.
    pub(in crate::signature) fn key_id(&self) -> Option<&[u8; 8]> {
        match self {
            Self::KeyId(id) => Some(id),
            Self::Fingerprint(fingerprint) => fingerprint.last_chunk(),
        }
    }
}

/// The contents of both subpacket areas of a signature.
#[derive(Debug, Default)]
pub(super) struct Subpackets {
    /// Seconds since 1970.
    pub(super) created: Option<u32>,
    /// Seconds; 0 means no limit.
    pub(super) lifetime: Option<u32>,
    /// Seconds since the key was created; 0 means no limit.
    pub(super) key_lifetime: Option<u32>,
    /// The first byte of the key flags.
    pub(super) key_flags: Option<u8>,
    pub(super) issuers: Vec<Issuer>,
    /// The body of an embedded signature packet.
    pub(super) embedded: Option<Vec<u8>>,
}

impl Subpackets {
    pub(super) fn read(hashed: &[u8], unhashed: &[u8]) -> Result<Self, InvalidSignature> {
        let mut read = Self::default();
        read.area(hashed, true)?;
        read.area(unhashed, false)?;
        Ok(read)
    }

    fn area(&mut self, mut rest: &[u8], is_hashed: bool) -> Result<(), InvalidSignature> {
        while !rest.is_empty() {
            let (kind, data, behind) = split(rest).ok_or(InvalidSignature::Malformed)?;
            rest = behind;
            let is_critical = kind & 0x80 != 0;
            if !self.take(kind & 0x7F, data, is_hashed)? && is_critical {
                return Err(InvalidSignature::UnknownCritical(kind & 0x7F));
            }
        }
        Ok(())
    }

    /// Reads one subpacket and returns whether its type is known.
    fn take(&mut self, kind: u8, data: &[u8], is_hashed: bool) -> Result<bool, InvalidSignature> {
        match kind {
            2 => fill(is_hashed, &mut self.created, number(data)?)?,
            3 => fill(is_hashed, &mut self.lifetime, number(data)?)?,
            9 => fill(is_hashed, &mut self.key_lifetime, number(data)?)?,
            27 => fill(is_hashed, &mut self.key_flags, data.first().copied().unwrap_or_default())?,
            16 => {
                let id = data.try_into().map_err(|_| InvalidSignature::Malformed)?;
                self.issuers.push(Issuer::KeyId(id));
            }
            33 => {
                let (_version, fingerprint) =
                    data.split_first().ok_or(InvalidSignature::Malformed)?;
                self.issuers.push(Issuer::Fingerprint(fingerprint.to_vec()));
            }
            // The embedded signature is verified on its own and may be in either area.
            32 if self.embedded.is_none() => self.embedded = Some(data.to_vec()),
            32 => return Err(InvalidSignature::Malformed),
            // Preferences, features, trust, policies and user IDs do not affect the validity of a
            // signature. They count as known: a critical one must not invalidate a self-signature
            // and so hide the expiry in it.
            4..=7 | 11 | 12 | 21..=26 | 28..=30 => {}
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Sets a value of the hashed area. Values of the unhashed area are not signed and are ignored.
fn fill<T>(is_hashed: bool, field: &mut Option<T>, value: T) -> Result<(), InvalidSignature> {
    if is_hashed && field.replace(value).is_some() {
        // Implementations differ in which of two values they use.
        return Err(InvalidSignature::Malformed);
    }
    Ok(())
}

fn number(data: &[u8]) -> Result<u32, InvalidSignature> {
    data.try_into().map(u32::from_be_bytes).map_err(|_| InvalidSignature::Malformed)
}

/// Splits off one subpacket: its type with the critical bit, its data, and the rest.
fn split(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    let first = usize::from(first);
    let (length, rest) = match first {
        0..192 => (first, rest),
        192..255 => {
            let (&low, rest) = rest.split_first()?;
            (((first - 192) << 8) + usize::from(low) + 192, rest)
        }
        _ => {
            let (length, rest) = rest.split_first_chunk()?;
            (usize::try_from(u32::from_be_bytes(*length)).ok()?, rest)
        }
    };
    let (subpacket, rest) = rest.split_at_checked(length)?;
    let (&kind, data) = subpacket.split_first()?;
    Some((kind, data, rest))
}
