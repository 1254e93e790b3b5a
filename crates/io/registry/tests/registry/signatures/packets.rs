//! Parsing and encoding of OpenPGP packets, in all framings.

use anyhow::{Context as _, Result, bail, ensure};
use pgp::composed::{Deserializable as _, SignedSecretKey};
use pgp::crypto::hash::HashAlgorithm;
use pgp::ser::Serialize as _;
use pgp::types::{KeyDetails as _, Password, SignatureBytes, SigningKey as _};

/// A packet: its type and its body.
pub(crate) type Packet = (u8, Vec<u8>);

pub(crate) const SIGNATURE: u8 = 2;
pub(crate) const ONE_PASS: u8 = 4;
pub(crate) const LITERAL: u8 = 11;

/// How the length of a body is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    /// The old format, with so many bytes of length.
    Old(usize),
    /// The new format with the shortest length.
    New,
    /// The new format with a length of five bytes.
    NewLong,
    /// The new format in parts of so many bits of length.
    Partial(u8),
}

/// Takes a message of packets with definite lengths apart.
pub(crate) fn split(mut bytes: &[u8]) -> Result<Vec<Packet>> {
    let mut packets = Vec::new();
    while let Some((&header, rest)) = bytes.split_first() {
        let (tag, size) = match header {
            0x80..0xC0 if header & 3 < 3 => ((header >> 2) & 0xF, 1 << (header & 3)),
            0xC0.. => (header & 0x3F, if rest.first() < Some(&192) { 1 } else { 2 }),
            _ => bail!("unexpected header {header:#x}"),
        };
        let (length, rest) = rest.split_at_checked(size).context("no length")?;
        let length = match (header, length) {
            (0xC0.., [high, low]) => (usize::from(*high) - 192) * 256 + usize::from(*low) + 192,
            _ => length.iter().fold(0, |sum, byte| sum * 256 + usize::from(*byte)),
        };
        let (body, rest) = rest.split_at_checked(length).context("no body")?;
        packets.push((tag, body.to_vec()));
        bytes = rest;
    }
    Ok(packets)
}

pub(crate) fn frame((tag, body): &Packet, framing: Framing) -> Vec<u8> {
    let long = u32::try_from(body.len()).unwrap().to_be_bytes();
    let header = match framing {
        Framing::Old(size) => {
            let kind = u8::try_from(size.ilog2()).unwrap();
            [&[0x80 | (tag << 2) | kind], &long[4 - size..]].concat()
        }
        Framing::New => [&[0xC0 | tag], &*short(body.len())].concat(),
        Framing::NewLong => [&[0xC0 | tag, 255], &long[..]].concat(),
        Framing::Partial(bits) => {
            let (parts, rest) = body.as_chunks_of(1 << bits);
            let mut framed = vec![0xC0 | tag];
            for part in parts {
                framed.push(224 + bits);
                framed.extend_from_slice(part);
            }
            return [&framed, &*short(rest.len()), rest].concat();
        }
    };
    [&header, &**body].concat()
}

trait Chunks {
    fn as_chunks_of(&self, size: usize) -> (Vec<&[u8]>, &[u8]);
}

impl Chunks for [u8] {
    fn as_chunks_of(&self, size: usize) -> (Vec<&[u8]>, &[u8]) {
        let chunks = self.chunks_exact(size);
        let rest = chunks.remainder();
        (chunks.collect(), rest)
    }
}

fn short(length: usize) -> Vec<u8> {
    let byte = |number: usize| u8::try_from(number).unwrap();
    match length {
        0..192 => vec![byte(length)],
        192..8384 => vec![byte((length - 192) / 256 + 192), byte((length - 192) % 256)],
        _ => [&[255], &u32::try_from(length).unwrap().to_be_bytes()[..]].concat(),
    }
}

/// Puts packets together, each in the same framing where its type allows it.
pub(crate) fn join(packets: &[Packet], framing: Framing) -> Vec<u8> {
    let frame = |packet: &Packet| match (framing, packet.0) {
        (Framing::Partial(_), LITERAL) => frame(packet, framing),
        (Framing::Partial(_), _) => frame(packet, Framing::New),
        (Framing::Old(size), _) if packet.1.len() >= 1 << (8 * size) => {
            frame(packet, Framing::Old(2))
        }
        _ => frame(packet, framing),
    };
    packets.iter().flat_map(frame).collect()
}

/// The body of a literal data packet.
pub(crate) fn literal(data: &[u8]) -> Packet {
    (LITERAL, [b"b\0\0\0\0\0", data].concat())
}

/// A version 4 signature of data with the right digest and any value. It names no issuer.
pub(crate) fn valueless(kind: u8, algorithm: u8, created: u32, data: &[u8]) -> Vec<u8> {
    let hash = HashAlgorithm::Sha256;
    let signed = [&[4, kind, algorithm, hash.into(), 0, 6, 5, 2], &created.to_be_bytes()[..]];
    let signed = signed.concat();
    let digest = hash.digest(&[data, &signed, &[4, 255, 0, 0, 0, 12]].concat()).unwrap();
    [&signed, &[0, 0][..], &digest[..2]].concat()
}

/// An RSA key that makes signatures which no tool makes any more.
pub(crate) struct LegacySigner(SignedSecretKey);

impl LegacySigner {
    pub(crate) fn new(key: &[u8]) -> Result<Self> {
        Ok(Self(SignedSecretKey::from_armor_single(key)?.0))
    }

    /// The packets of the certificate.
    pub(crate) fn certificate(&self) -> Result<Vec<Packet>> {
        split(&self.0.to_public_key().to_bytes()?)
    }

    pub(crate) fn created(&self) -> u32 {
        self.0.primary_key.created_at().as_secs()
    }

    fn key_id(&self) -> [u8; 8] {
        *self.0.primary_key.legacy_key_id().as_ref().first_chunk().unwrap()
    }

    /// The announcement of a signature.
    pub(crate) fn one_pass(&self, kind: u8, hash: HashAlgorithm) -> Packet {
        (ONE_PASS, [&[3, kind, hash.into(), 1], &self.key_id()[..], &[1]].concat())
    }

    /// A version 3 signature of data.
    pub(crate) fn version_3(
        &self,
        kind: u8,
        hash: HashAlgorithm,
        created: u32,
        data: &[u8],
    ) -> Result<Packet> {
        let hashed = [&[kind], &created.to_be_bytes()[..]].concat();
        let (start, value) = self.value(hash, &[data, &hashed].concat())?;
        let head = [&[3, 5], &*hashed, &self.key_id(), &[1, hash.into()], &start].concat();
        Ok((SIGNATURE, [head, value].concat()))
    }

    /// A version 4 signature of data with these subpackets, hashed and not.
    pub(crate) fn version_4(
        &self,
        kind: u8,
        hash: HashAlgorithm,
        (hashed, unhashed): (&[u8], &[u8]),
        data: &[u8],
    ) -> Result<Packet> {
        let length = |area: &[u8]| u16::try_from(area.len()).unwrap().to_be_bytes();
        let signed = [&[4, kind, 1, hash.into()], &length(hashed)[..], hashed].concat();
        let end = u32::try_from(signed.len())?.to_be_bytes();
        let (start, value) = self.value(hash, &[data, &signed, &[4, 255], &end].concat())?;
        Ok((SIGNATURE, [&signed, &length(unhashed)[..], unhashed, &start, &value].concat()))
    }

    /// Subpackets: the creation time and the issuer.
    pub(crate) fn subpackets(&self, created: u32) -> (Vec<u8>, Vec<u8>) {
        ([&[5, 2], &created.to_be_bytes()[..]].concat(), [&[9, 16], &self.key_id()[..]].concat())
    }

    fn value(&self, hash: HashAlgorithm, data: &[u8]) -> Result<([u8; 2], Vec<u8>)> {
        let digest = hash.digest(data)?;
        let value = self.0.primary_key.sign(&Password::empty(), hash, &digest)?;
        let SignatureBytes::Mpis(integers) = value else { bail!("no integers") };
        ensure!(integers.len() == 1, "not an RSA signature");
        let bytes = integers[0].as_ref();
        let bits = bytes.len() * 8 - bytes[0].leading_zeros() as usize;
        Ok(([digest[0], digest[1]], [&u16::try_from(bits)?.to_be_bytes()[..], bytes].concat()))
    }
}
