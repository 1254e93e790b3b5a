//! SIGINT and SIGTERM, which stop a long-running process.

use std::pin::pin;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::printer::Printer;

/// Signals that stop a process. Created before anything starts, so that an early signal is not lost.
pub(super) struct StopSignals {
    interrupt: Signal,
    terminate: Signal,
}

impl StopSignals {
    pub(super) fn new() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for the next signal.
    pub(super) async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Runs until the future ends. The first signal cancels the token, the second one drops the future.
    pub(super) async fn run<E>(
        mut self,
        running: impl Future<Output = Result<(), E>>,
        stop: &CancellationToken,
        printer: &Printer,
    ) -> Result<(), E> {
        let mut running = pin!(running);
        tokio::select! {
            ended = running.as_mut() => return ended,
            () = self.recv() => {}
        }
        printer.note("shutting down; a second signal stops immediately");
        stop.cancel();
        tokio::select! {
            ended = running => ended,
            () = self.recv() => Ok(()),
        }
    }
}
