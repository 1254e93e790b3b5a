//! The update service of a [`TestPlatform`](crate::TestPlatform).

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::Stdio;

use anyhow::Result;
use fairway_example::images::{GRAPH_DATA, RELEASES_FILE, SIGNATURES};
use fairway_sandbox::port::unused_port;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::{Child, Command};

use crate::{environment, wait};

/// A `fairway update-service` process. Dropping it kills the process.
pub(crate) struct UpdateService {
    _child: Child,
    pub(crate) url: String,
}

impl UpdateService {
    /// Starts the service and waits until it is ready: an operator whose first request fails retries
    /// only minutes later.
    pub(crate) async fn start(files: &Path) -> Result<Self> {
        // The pods of test clusters share the network of this host.
        let address: SocketAddr = (Ipv4Addr::LOCALHOST, unused_port()?).into();
        let child = Command::new(environment::fairway_program()?)
            .args(["update-service", "--quiet", "--drain=0s"])
            .arg(format!("--address={address}"))
            .arg(format!("--graph-data={}", files.join(GRAPH_DATA).display()))
            .arg(format!("--releases={}", files.join(RELEASES_FILE).display()))
            .arg(format!("--signatures={}", files.join(SIGNATURES).display()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        wait::until("the update service to be ready", || async {
            Ok(is_ready(address).await.unwrap_or_default().then_some(()))
        })
        .await?;
        Ok(Self { _child: child, url: format!("http://{address}/api/upgrades_info") })
    }
}

async fn is_ready(service: SocketAddr) -> Result<bool> {
    let mut stream = TcpStream::connect(service).await?;
    stream.write_all(b"GET /readyz HTTP/1.0\r\n\r\n").await?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await?;
    Ok(response.contains(" 200 "))
}
