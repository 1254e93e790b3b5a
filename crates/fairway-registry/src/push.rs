//! Sending an image to a registry.

use oci_client::client::{ClientConfig, ClientProtocol};
use oci_client::errors::OciDistributionError;
use oci_client::secrets::RegistryAuth;
use oci_client::{Client, Reference, RegistryOperation};

use crate::plain::is_this_machine;
use crate::{Digest, Image};

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

/// Pushes an image and returns the reference by which it can be pulled, with its digest. A
/// registry on this machine is spoken to without TLS, as container engines do.
///
/// The process needs a TLS provider: `main` installs it.
pub async fn push(image: &Image, destination: &str) -> Result<String, PushError> {
    let reference: Reference = destination
        .parse()
        .map_err(|source| PushError::Reference { text: destination.to_owned(), source })?;
    let refused = |what: String| {
        let destination = destination.to_owned();
        move |source| PushError::Refused { what, destination, source: Box::new(source) }
    };
    let client = client(reference.registry()).map_err(refused("anything".to_owned()))?;
    client
        .auth(&reference, &RegistryAuth::Anonymous, RegistryOperation::Push)
        .await
        .map_err(refused("anything".to_owned()))?;
    for blob in image.content() {
        let digest = blob.digest();
        let sending = || refused(format!("blob {digest}"));
        if !client.blob_exists(&reference, digest.as_str()).await.map_err(sending())? {
            client
                .push_blob(&reference, blob.bytes().to_vec(), digest.as_str())
                .await
                .map_err(sending())?;
        }
    }
    let manifest = image.manifest();
    let media_type = oci_client::manifest::OCI_IMAGE_MEDIA_TYPE;
    debug_assert_eq!(manifest.media_type(), media_type);
    client
        .push_manifest_raw(
            &reference,
            manifest.bytes().to_vec(),
            // A media type of lower-case words is always a legal header.
            media_type.parse().expect("a legal header"),
        )
        .await
        .map_err(refused("the manifest".to_owned()))?;
    Ok(pinned(&reference, image.digest()))
}

fn pinned(reference: &Reference, digest: &Digest) -> String {
    format!("{}/{}@{digest}", reference.registry(), reference.repository())
}

fn client(registry: &str) -> Result<Client, OciDistributionError> {
    let protocol = if is_this_machine(registry) {
        ClientProtocol::HttpsExcept(vec![registry.to_owned()])
    } else {
        ClientProtocol::Https
    };
    Client::try_from(ClientConfig { protocol, ..ClientConfig::default() })
}
