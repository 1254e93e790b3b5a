//! Sending an image to a registry.

use std::time::Duration;

use oci_client::client::{Certificate, CertificateEncoding, ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};

use crate::plain::is_this_machine;
use crate::pull::{Credentials, Options, without_password};
use crate::{Blob, Digest, Image};

/// How long a registry may take for an answer. It hears a piece of a few megabytes before it gives
/// one, and links may be slow.
const SLOWEST_ANSWER: Duration = Duration::from_mins(5);

/// Why an image could not be pushed.
#[derive(Debug, thiserror::Error)]
pub enum PushError {
    /// The destination is not a reference.
    #[error("{text:?} is not an image reference such as registry.example/fairway:5.1.0")]
    Reference {
        /// What was given.
        text: String,
        /// Why not.
        source: oci_client::ParseError,
    },
    /// Everybody on the way could change what is sent.
    #[error("{registry} is on another host, and the connection would not use TLS")]
    Plain {
        /// The registry.
        registry: String,
    },
    /// We are known by something that can only be exchanged for the right to pull.
    #[error(
        "the pull secret has an identity token for {registry}, but pushing requires a password"
    )]
    IdentityToken {
        /// The registry.
        registry: String,
    },
    /// The registry did not take it.
    #[error("cannot push {what} to {destination}")]
    Refused {
        /// What was being sent.
        what: String,
        /// Where to.
        destination: String,
        /// What the registry said.
        source: Box<OciDistributionError>,
    },
}

/// How far sending an image is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that the registry has.
    pub sent: u64,
    /// Bytes of the image.
    pub of: u64,
}

/// Pushes an image to a registry that asks for nothing. It is spoken to without TLS if it is on this
/// machine, as container engines do.
///
/// The process needs a TLS provider: `main` installs it.
pub async fn push(image: &Image, destination: &str) -> Result<String, PushError> {
    push_with(image, destination, &Options::default(), |_| {}).await
}

/// Pushes an image and returns the reference by which it can be pulled, with its digest. Content
/// that the registry has is not sent again.
///
/// The process needs a TLS provider: `main` installs it.
pub async fn push_with(
    image: &Image,
    destination: &str,
    options: &Options,
    tell: impl Fn(Progress),
) -> Result<String, PushError> {
    let (reference, protocol) = address(destination, options.allow_plain_http)?;
    let pinned = pinned(&reference, image.digest());
    let to = Destination {
        client: client(protocol, options).map_err(refused("anything", &reference))?,
        reference,
    };
    to.log_in(options).await?;
    let of = image.content().map(|blob| blob.bytes().len() as u64).sum();
    let mut progress = Progress { sent: 0, of };
    for blob in image.content() {
        to.send(blob).await?;
        progress.sent += blob.bytes().len() as u64;
        tell(progress);
    }
    to.name(image.manifest()).await?;
    Ok(pinned)
}

/// Where an image goes to.
struct Destination {
    client: Client,
    reference: Reference,
}

impl Destination {
    async fn log_in(&self, options: &Options) -> Result<(), PushError> {
        let registry = self.reference.registry();
        let place = format!("{registry}/{}", self.reference.repository());
        let auth = match options.secrets.find(&place) {
            None => RegistryAuth::Anonymous,
            Some(Credentials::Password { user, password }) => {
                RegistryAuth::Basic(user.clone(), password.clone())
            }
            Some(Credentials::IdentityToken(_)) => {
                return Err(PushError::IdentityToken { registry: registry.to_owned() });
            }
        };
        let logged_in = self.client.auth(&self.reference, &auth, RegistryOperation::Push).await;
        logged_in.map(drop).map_err(refused("anything", &self.reference))
    }

    async fn send(&self, blob: &Blob) -> Result<(), PushError> {
        let digest = blob.digest().as_str();
        let refused = || refused(&format!("blob {digest}"), &self.reference);
        let exists = self.client.blob_exists(&self.reference, digest).await;
        if !exists.map_err(refused())? {
            let sent = self.client.push_blob(&self.reference, blob.shared(), digest).await;
            sent.map_err(refused())?;
        }
        Ok(())
    }

    /// With its manifest, the image has a name.
    async fn name(&self, manifest: &Blob) -> Result<(), PushError> {
        let media_type = oci_client::manifest::OCI_IMAGE_MEDIA_TYPE;
        debug_assert_eq!(manifest.media_type(), media_type);
        // A media type of lower-case words is always a legal header.
        let header = media_type.parse().expect("a legal header");
        let bytes = manifest.bytes().to_vec();
        let named = self.client.push_manifest_raw(&self.reference, bytes, header).await;
        named.map(drop).map_err(refused("the manifest", &self.reference))
    }
}

fn refused(
    what: &str,
    destination: &Reference,
) -> impl FnOnce(OciDistributionError) -> PushError + use<> {
    let (what, destination) = (what.to_owned(), destination.to_string());
    move |source| PushError::Refused { what, destination, source: Box::new(source) }
}

/// What is meant, and how it is spoken to: `http://` or `https://` may stand before it.
fn address(given: &str, allow_plain: bool) -> Result<(Reference, ClientProtocol), PushError> {
    let (plain, name) = match given.split_once("://") {
        Some(("http", name)) => (Some(true), name),
        Some(("https", name)) => (Some(false), name),
        Some(("docker", name)) => (None, name),
        _ => (None, given),
    };
    let reference: Reference = name
        .parse()
        .map_err(|source| PushError::Reference { text: without_password(given), source })?;
    let registry = reference.registry().to_owned();
    let near = is_this_machine(&registry);
    match plain.unwrap_or(near) {
        true if !near && !allow_plain => Err(PushError::Plain { registry }),
        true => Ok((reference, ClientProtocol::HttpsExcept(vec![registry]))),
        false => Ok((reference, ClientProtocol::Https)),
    }
}

fn pinned(reference: &Reference, digest: &Digest) -> String {
    format!("{}/{}@{digest}", reference.registry(), reference.repository())
}

fn client(protocol: ClientProtocol, options: &Options) -> Result<Client, OciDistributionError> {
    Client::try_from(ClientConfig {
        protocol,
        extra_root_certificates: certificates(&options.authorities),
        connect_timeout: Some(options.silence),
        read_timeout: Some(SLOWEST_ANSWER),
        user_agent: concat!("fairway/", env!("CARGO_PKG_VERSION")),
        ..ClientConfig::default()
    })
}

/// The certificates of a file, one by one, as the client wants them.
fn certificates(pem: &[u8]) -> Vec<Certificate> {
    const END: &str = "-----END CERTIFICATE-----";
    let text = String::from_utf8_lossy(pem);
    let blocks = text.split_inclusive(END).filter(|block| block.ends_with(END));
    let data = blocks.map(|block| block.trim_start().as_bytes().to_vec());
    data.map(|data| Certificate { encoding: CertificateEncoding::Pem, data }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_is_spoken_to_without_tls_unless_somebody_allows_it() {
        let protocol =
            |given: &str, allow| match address(given, allow).map(|(_, protocol)| protocol) {
                Ok(ClientProtocol::HttpsExcept(_)) => "http".to_owned(),
                Ok(_) => "https".to_owned(),
                Err(error) => error.to_string(),
            };
        for (given, allow, expected) in [
            ("r.example/a:1", false, "https"),
            ("r.example/a:1", true, "https"),
            ("docker://r.example/a:1", false, "https"),
            ("127.0.0.1:5000/a:1", false, "http"),
            ("https://127.0.0.1:5000/a:1", false, "https"),
            ("http://r.example/a:1", true, "http"),
            (
                "http://r.example/a:1",
                false,
                "r.example is on another host, and the connection would not use TLS",
            ),
            (
                "r.example/A B",
                false,
                "\"r.example/A B\" is not an image reference such as registry.example/fairway:5.1.0",
            ),
        ] {
            assert_eq!(protocol(given, allow), expected, "{given}");
        }
    }

    #[test]
    fn certificates_are_told_apart() {
        let one = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----";
        let several = format!("# first\n{one}\n{one}\nand nothing");
        assert_eq!(certificates(several.as_bytes()).len(), 2);
        assert_eq!(certificates(b"").len(), 0);
    }
}
