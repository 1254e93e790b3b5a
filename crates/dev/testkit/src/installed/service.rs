//! The update service of a platform.

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

/// An address that nobody listens on at this moment.
pub(super) fn free_address() -> Result<SocketAddr> {
    Ok((Ipv4Addr::LOCALHOST, unused_port()?).into())
}

/// The program as an update service.
pub(super) struct UpdateService {
    _child: Child,
    pub(super) url: String,
}

impl UpdateService {
    /// Starts it, and waits until it has something to say: a cluster that asks too early asks again
    /// minutes later.
    pub(super) async fn start(files: &Path) -> Result<Self> {
        // Clusters ask it from pods on this machine's network.
        let address = free_address()?;
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
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer.contains(" 200 "))
}
