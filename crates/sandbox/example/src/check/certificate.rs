//! What a release may have against a certificate.

use fairway_check::CannotTell;
use x509_parser::certificate::X509Certificate;
use x509_parser::pem::Pem;
use x509_parser::public_key::PublicKey;

/// Signatures made with SHA-1: by RSA, and on elliptic curves.
const SHA1: [&str; 2] = ["1.2.840.113549.1.1.5", "1.2.840.10045.4.1"];

/// Certificates of a chain that are looked at; real ones have three or four.
const LONGEST_CHAIN: usize = 20;

/// What a release demands of a certificate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demands {
    /// The bits of an RSA key.
    pub(super) rsa_bits: usize,
    /// Whether a signature made with SHA-1 will not do.
    pub(super) refuses_sha1: bool,
}

/// What is wrong with the certificates of a PEM text, of which the first is the one that is served.
pub(super) fn faults(pem: &[u8], demands: Demands) -> Result<Vec<String>, CannotTell> {
    let mut faults = Vec::new();
    if Pem::iter_from_buffer(pem).next().is_none() {
        return Err(CannotTell::because("no certificate found"));
    }
    for (index, pem) in Pem::iter_from_buffer(pem).take(LONGEST_CHAIN).enumerate() {
        let unreadable = || CannotTell::because(format!("cannot parse certificate {}", index + 1));
        let pem = pem.map_err(|_| unreadable())?;
        let certificate = pem.parse_x509().map_err(|_| unreadable())?;
        let whose = if index == 0 { "it".to_owned() } else { certificate.subject().to_string() };
        if let Some(bits) = rsa_bits(&certificate).filter(|bits| *bits < demands.rsa_bits) {
            let wanted = demands.rsa_bits;
            faults.push(format!(
                "{whose} has an RSA key of {bits} bits; the minimum is {wanted} bits"
            ));
        }
        if demands.refuses_sha1 && is_signed_with_sha1(&certificate, index) {
            faults.push(format!("{whose} is signed with SHA-1"));
        }
    }
    Ok(faults)
}

fn rsa_bits(certificate: &X509Certificate<'_>) -> Option<usize> {
    let Ok(PublicKey::RSA(key)) = certificate.public_key().parsed() else { return None };
    let modulus: Vec<u8> = key.modulus.iter().copied().skip_while(|byte| *byte == 0).collect();
    let unused = modulus.first().map_or(0, |first| first.leading_zeros() as usize);
    Some(modulus.len() * 8 - unused)
}

/// Nobody looks at the signature by which an authority vouches for itself.
fn is_signed_with_sha1(certificate: &X509Certificate<'_>, index: usize) -> bool {
    let is_root = index > 0 && certificate.subject() == certificate.issuer();
    !is_root && SHA1.contains(&certificate.signature_algorithm.algorithm.to_id_string().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEAK: &str = include_str!("../../tests/data/weak.pem");
    const STRONG: &str = include_str!("../../tests/data/strong.pem");
    const CURVE: &str = include_str!("../../tests/data/curve.pem");

    const STRICT: Demands = Demands { rsa_bits: 2048, refuses_sha1: true };

    #[test]
    fn what_is_wrong_with_a_certificate_is_said() {
        let told = |pem: &str| faults(pem.as_bytes(), STRICT).unwrap().join("\n");
        insta::assert_snapshot!(told(WEAK), @"
        it has an RSA key of 1024 bits; the minimum is 2048 bits
        it is signed with SHA-1
        ");
        assert_eq!(told(STRONG), "");
        assert_eq!(told(CURVE), "");
        insta::assert_snapshot!(told(&format!("{STRONG}{WEAK}")), @"CN=*.apps.platform.example has an RSA key of 1024 bits; the minimum is 2048 bits");
    }

    #[test]
    fn where_there_is_no_certificate_nothing_is_told() {
        for text in ["", "not in PEM"] {
            let error = faults(text.as_bytes(), STRICT).unwrap_err();
            assert_eq!(error.to_string(), "no certificate found");
        }
    }

    #[test]
    fn a_release_that_demands_nothing_takes_everything() {
        let lenient = Demands { rsa_bits: 0, refuses_sha1: false };
        assert_eq!(faults(WEAK.as_bytes(), lenient), Ok(Vec::new()));
    }

    #[test]
    fn what_is_no_certificate_cannot_be_told() {
        let broken = WEAK.replace("MII", "AAA");
        let error = faults(broken.as_bytes(), STRICT).unwrap_err();
        insta::assert_snapshot!(error, @"cannot parse certificate 1");
    }
}
