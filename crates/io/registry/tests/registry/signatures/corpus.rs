//! Messages of gpg, sq and Go's openpgp, and some that only old versions of them wrote.

use anyhow::{Context as _, Result};
use pgp::crypto::hash::HashAlgorithm;

use crate::signatures::packets::{Framing, LegacySigner, Packet, frame, join, literal, split};
use crate::signatures::tools::{Go, Gpg, Sq};
use crate::signatures::{REFERENCE, claim, now};

/// The verdict that a message should get.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// The verdict of gpg.
    SameAsGpg,
    /// A refusal, as by gpg. Go's openpgp accepts it.
    RefusedAsByGpg,
    /// gpg accepts it; our rules do not, with an error that contains this. Go's openpgp accepts it
    /// or does not.
    Stricter { error: &'static str, go: bool },
}

pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) message: Vec<u8>,
    pub(crate) expected: Expected,
}

/// Messages, and everything that is needed to judge them.
pub(crate) struct Corpus {
    pub(crate) gpg: Gpg,
    pub(crate) go: Go,
    pub(crate) keyring: Vec<u8>,
    pub(crate) cases: Vec<Case>,
}

const NONE: &[&str] = &["--compress-algo", "none"];

/// Algorithms of keys, with the digests that they are combined with.
const KEYS: [(&str, &str, &[&str]); 6] = [
    ("rsa", "rsa2048", &["SHA224", "SHA256", "SHA384", "SHA512"]),
    ("dsa", "dsa2048", &["SHA256", "SHA512"]),
    ("ed25519", "ed25519", &["SHA256", "SHA384", "SHA512"]),
    ("p256", "nistp256", &["SHA256", "SHA512"]),
    ("p384", "nistp384", &["SHA384", "SHA512"]),
    ("p521", "nistp521", &["SHA512"]),
];

impl Corpus {
    pub(crate) fn make() -> Result<Self> {
        let mut corpus =
            Self { gpg: Gpg::new()?, go: Go::build()?, keyring: Vec::new(), cases: Vec::new() };
        for (name, algorithm, _) in KEYS {
            corpus.gpg.key(name, algorithm, &[])?;
        }
        corpus.add_gpg()?;
        corpus.add_gpg_strict()?;
        corpus.add_gpg_times()?;
        corpus.add_framings()?;
        corpus.add_legacy()?;
        corpus.add_subpackets()?;
        corpus.add_go()?;
        corpus.add_sq()?;
        corpus.keyring = corpus.gpg.export("example.com")?;
        Ok(corpus)
    }

    pub(crate) fn message(&self, name: &str) -> Result<&[u8]> {
        let case = self.cases.iter().find(|case| case.name == name);
        Ok(&case.with_context(|| format!("no case {name}"))?.message)
    }

    fn add(&mut self, name: impl Into<String>, message: Vec<u8>) {
        self.cases.push(Case { name: name.into(), message, expected: Expected::SameAsGpg });
    }

    fn add_strict(&mut self, name: &str, message: Vec<u8>, (error, go): (&'static str, bool)) {
        let expected = Expected::Stricter { error, go };
        self.cases.push(Case { name: name.to_owned(), message, expected });
    }

    /// Every algorithm and every way to write a message.
    fn add_gpg(&mut self) -> Result<()> {
        let claim = claim(REFERENCE);
        for (signer, _, digests) in KEYS {
            for digest in digests {
                for compression in ["none", "zip", "zlib", "bzip2"] {
                    let options = ["--digest-algo", digest, "--compress-algo", compression];
                    let message = self.gpg.sign(signer, &options, &claim)?;
                    self.add(format!("gpg {signer} {digest} {compression}"), message);
                }
            }
        }
        let lines: serde_json::Value = serde_json::from_slice(&claim)?;
        let lines = serde_json::to_vec_pretty(&lines)?;
        let long = crate::signatures::claim(&"a".repeat(5000));
        let both: &[&str] = &["--local-user", "rsa@example.com"];
        for (name, options, data) in [
            ("armored", &["--armor"][..], &claim),
            ("text", &["--textmode"], &claim),
            ("text with lines", &["--textmode"], &lines),
            ("lines", &[], &lines),
            ("parts", NONE, &long),
            ("long", &[], &long),
            ("file name", &["--set-filename", "a.json"], &claim),
            ("notation", &["--sig-notation", "a@example.com=b"], &claim),
            ("critical notation", &["--sig-notation", "!a@example.com=b"], &claim),
            ("critical policy", &["--sig-policy-url", "!https://example.com"], &claim),
            ("two signers", both, &claim),
            ("two signers, not compressed", &[both, NONE].concat(), &claim),
        ] {
            let message = self.gpg.sign("ed25519", options, data)?;
            self.add(format!("gpg {name}"), message);
        }
        let options = ["--cert-digest-algo", "SHA1"];
        self.gpg.key("old", "rsa2048", &options)?;
        let message = self.gpg.sign("old", &[], &claim)?;
        self.add("gpg SHA-1 self-signature", message);
        let cert = ["--quick-generate-key", "subkey@example.com", "ed25519", "cert", "never"];
        self.gpg.run(&cert, b"")?;
        let primary = self.gpg.fingerprint("subkey")?;
        self.gpg.run(&["--quick-add-key", &primary, "ed25519", "sign", "never"], b"")?;
        let message = self.gpg.sign("subkey", &[], &claim)?;
        self.add("gpg subkey", message);
        // A signer that no keyring has, alone and beside others.
        let stranger = Gpg::new()?;
        stranger.key("stranger", "ed25519", &[])?;
        let message = stranger.sign("stranger", &[], &claim)?;
        self.add("gpg stranger", message);
        stranger.import(&self.gpg.secret_key("ed25519")?)?;
        for (first, second) in [("stranger", "ed25519@"), ("ed25519", "stranger@")] {
            let message = stranger.sign(first, &["--local-user", second], &claim)?;
            self.add(format!("gpg {first} and {second}"), message);
        }
        Ok(())
    }

    /// Messages that gpg accepts and our rules do not.
    fn add_gpg_strict(&mut self) -> Result<()> {
        let claim = claim(REFERENCE);
        self.gpg.key("brainpool", "brainpoolP256r1", &[])?;
        self.gpg.key("secp256k1", "secp256k1", &[])?;
        let weak = "--allow-weak-digest-algos";
        for (name, signer, options, error, go) in [
            ("SHA1", "rsa", &["--digest-algo", "SHA1", weak][..], "weak digest SHA1", true),
            ("RIPEMD160", "rsa", &["--digest-algo", "RIPEMD160"], "weak digest RIPEMD160", false),
            ("SHA224 with EdDSA", "ed25519", &["--digest-algo", "SHA224"], "bad signature", false),
            ("brainpool", "brainpool", &[], "not in the keyring", false),
            ("secp256k1", "secp256k1", &[], "not in the keyring", false),
        ] {
            let message = self.gpg.sign(signer, options, &claim)?;
            self.add_strict(&format!("gpg {name}"), message, (error, go));
        }
        let clear = self.gpg.run(&["--local-user", "rsa@", "--clear-sign"], &claim)?;
        self.add_strict("gpg cleartext", clear, ("found PGP SIGNED MESSAGE", false));
        let detached = self.gpg.run(&["--local-user", "rsa@", "--detach-sign"], &claim)?;
        self.add("gpg detached", detached);
        Ok(())
    }

    /// Keys and signatures that are no longer valid, or not yet.
    fn add_gpg_times(&mut self) -> Result<()> {
        let claim = claim(REFERENCE);
        let maker = Gpg::new()?;
        let at = |time: &str, arguments: &[&str], input: &[u8]| {
            let time = format!("{time}T000000!");
            maker.run(&[&["--faked-system-time", &time], arguments].concat(), input)
        };
        let expiry = "20250301T000000";
        for (name, expiry) in [("expiring", expiry), ("extended", expiry), ("revoked", "never")] {
            let user = format!("{name}@example.com");
            let key = ["--quick-generate-key", &user, "ed25519", "sign", expiry];
            at("20250101", &key, b"")?;
        }
        let before = maker.export("extended@")?;
        let message = at("20250201", &["--local-user", "expiring@", "--sign"], &claim)?;
        self.add("gpg key expired after signing", message);
        let message = at("20250201", &["--local-user", "revoked@", "--sign"], &claim)?;
        self.add("gpg revoked key", message);
        let extended = maker.fingerprint("extended")?;
        at("20250401", &["--quick-set-expire", &extended, "never"], b"")?;
        let message = at("20250501", &["--local-user", "extended@", "--sign"], &claim)?;
        self.add_strict("gpg key expired before signing", message, ("before it signed at", false));
        self.gpg.import(&before)?;
        self.gpg.import(&maker.export("expiring@")?)?;
        let revoked = maker.fingerprint("revoked")?;
        maker.import(&maker.revocation(&revoked)?)?;
        self.gpg.import(&maker.export("revoked@")?)?;

        let future = now() + jiff::SignedDuration::from_hours(24);
        let future = format!("{}!", future.strftime("%Y%m%dT%H%M%S"));
        let message = self.gpg.sign("rsa", &["--faked-system-time", &future], &claim)?;
        self.add_strict("gpg future", message, ("in the future", true));
        Ok(())
    }

    /// The same packets in every framing.
    fn add_framings(&mut self) -> Result<()> {
        let packets = split(&self.gpg.sign("rsa", NONE, &claim(REFERENCE))?)?;
        let plain = join(&packets, Framing::New);
        let (data, signature) = (packets[1].clone(), packets[2].clone());
        let unannounced = [signature.clone(), data.clone()];
        for framing in [
            Framing::Old(1),
            Framing::Old(2),
            Framing::Old(4),
            Framing::New,
            Framing::NewLong,
            Framing::Partial(0),
            Framing::Partial(3),
            Framing::Partial(7),
            Framing::Partial(9),
        ] {
            self.add(format!("framing {framing:?}"), join(&packets, framing));
            self.add(format!("framing {framing:?}, PGP 2"), join(&unannounced, framing));
        }
        let signature = frame(&signature, Framing::New);
        let message = [&*signature, &[0xAF], &data.1].concat();
        self.add("framing indeterminate literal", message);
        let compressed = (8, [&[0], &*plain].concat());
        for framing in [Framing::New, Framing::Old(2), Framing::Partial(4)] {
            self.add(format!("framing of no compression {framing:?}"), frame(&compressed, framing));
        }
        self.add("framing indeterminate compression", [&[0xA3, 0], &*plain].concat());
        let marker: Packet = (10, b"PGP".to_vec());
        self.add("framing with a marker", [frame(&marker, Framing::New), plain.clone()].concat());
        let twice = (8, [&[0], &*frame(&compressed, Framing::New)].concat());
        let twice = frame(&twice, Framing::New);
        self.add_strict("framing compressed twice", twice, ("unexpected packet of type 8", false));
        Ok(())
    }

    /// Version 3 signatures, which gpg verifies and does not make any more.
    fn add_legacy(&mut self) -> Result<()> {
        let (data, signer) = (claim(REFERENCE), self.legacy_signer()?);
        let sha256 = HashAlgorithm::Sha256;
        let now = u32::try_from(now().as_second())?;
        let lines = String::from_utf8(data.clone())?.replace(',', ",\r\n").into_bytes();
        for (name, kind, hash, created, data) in [
            ("SHA256", 0, sha256, now, &data),
            ("SHA512", 0, HashAlgorithm::Sha512, now, &data),
            ("MD5", 0, HashAlgorithm::Md5, now, &data),
            ("text", 1, sha256, now, &lines),
            ("older than the key", 0, sha256, signer.created() - 1, &data),
            ("of a standalone kind", 2, sha256, now, &data),
            ("of a user ID", 0x13, sha256, now, &data),
        ] {
            let signature = signer.version_3(kind, hash, created, data)?;
            let message = [signer.one_pass(kind, hash), literal(data), signature.clone()];
            let expected = match name {
                "MD5" | "older than the key" => Expected::RefusedAsByGpg,
                _ => Expected::SameAsGpg,
            };
            let (name, message) = (format!("version 3 {name}"), join(&message, Framing::Old(2)));
            self.cases.push(Case { name: name.clone(), message, expected });
            let message = [signature, literal(data)];
            self.add(format!("{name}, PGP 2"), join(&message, Framing::New));
        }
        Ok(())
    }

    /// Subpackets that decide about a version 4 signature.
    fn add_subpackets(&mut self) -> Result<()> {
        let (data, signer) = (claim(REFERENCE), self.legacy_signer()?);
        let sha256 = HashAlgorithm::Sha256;
        let now = u32::try_from(now().as_second())?;
        let (created, issuer) = signer.subpackets(now);
        let (old, _) = signer.subpackets(now - 1000);
        let with = |more: &[u8]| [&created, more].concat();
        let lifetime = |seconds: u32| [&[5, 3], &seconds.to_be_bytes()[..]].concat();
        for (name, hashed, unhashed) in [
            ("usual", created.clone(), issuer.clone()),
            ("unknown", with(&[2, 0x64, 0]), issuer.clone()),
            ("unknown critical", with(&[2, 0xE4, 0]), issuer.clone()),
            (
                "unknown critical, not signed",
                created.clone(),
                [&issuer, &[2, 0xE4, 0][..]].concat(),
            ),
            ("lifetime", with(&lifetime(3600)), issuer.clone()),
            ("no lifetime", with(&lifetime(0)), issuer.clone()),
            ("expired", [&old[..], &lifetime(10)].concat(), issuer.clone()),
            ("lifetime, not signed", created.clone(), [&issuer[..], &lifetime(1)].concat()),
            ("issuer signed", with(&issuer), Vec::new()),
        ] {
            let signature = signer.version_4(0, sha256, (&hashed, &unhashed), &data)?;
            let message = [signer.one_pass(0, sha256), literal(&data), signature];
            self.add(format!("subpackets {name}"), join(&message, Framing::New));
        }
        Ok(())
    }

    fn add_go(&mut self) -> Result<()> {
        let (short, long) = (claim(REFERENCE), claim(&"a".repeat(5000)));
        for signer in ["rsa", "dsa", "p256"] {
            let key = self.gpg.secret_key(signer)?;
            for (hash, mode, data) in [
                ("SHA256", "binary", &short),
                ("SHA256", "text", &short),
                ("SHA512", "binary", &long),
            ] {
                let message = self.go.sign(&key, hash, mode, data)?;
                self.add(format!("go {signer} {hash} {mode}"), message);
            }
        }
        Ok(())
    }

    fn add_sq(&mut self) -> Result<()> {
        let (sq, claim) = (Sq::new()?, claim(REFERENCE));
        for suite in ["cv25519", "rsa3k"] {
            for (name, options) in [("subkey", &[][..]), ("primary", &["--cannot-sign"])] {
                let name = format!("sq-{suite}-{name}");
                self.gpg.import(&sq.key(&name, suite, options)?)?;
                if name.ends_with("subkey") {
                    self.add(format!("{name} armored"), sq.sign(&name, &[], &claim)?);
                    self.add(format!("{name} binary"), sq.sign(&name, &["--binary"], &claim)?);
                }
            }
        }
        let first = sq.sign("sq-rsa3k-subkey", &["--binary"], &claim)?;
        let both = sq.sign("sq-cv25519-subkey", &["--binary", "--append"], &first)?;
        self.add("sq two signers", both);
        // The second signature is of the first one: the message has another signed message in it.
        let notarized = sq.sign("sq-cv25519-subkey", &["--binary", "--notarize"], &first)?;
        self.add_strict("sq notarized", notarized, ("do not match the one-pass", true));
        Ok(())
    }

    fn legacy_signer(&self) -> Result<LegacySigner> {
        LegacySigner::new(&self.gpg.secret_key("rsa")?)
    }
}
