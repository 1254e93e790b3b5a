//! Injected faults of the operator, the API server and the registry.

use anyhow::{Context as _, Result};
use fairway_sandbox::faults;
use fairway_sandbox::sandbox::Sandbox;
use fairway_testkit::TestCluster;

use crate::platform::ChaosPlatform;
use crate::random::Random;

/// The `User-Agent` of the operator. Faults do not affect the requests of the test.
const OPERATOR: &str = "fairway/";

/// Maximum number of requests that one fault affects.
const MAX_REQUESTS: usize = 5;

/// Maximum number of bytes before a registry connection is closed. The image of a release has some
/// kilobytes.
const MAX_RESPONSE_BYTES: usize = 4000;

/// A fault.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// The operator is killed and restarted.
    Kill,
    /// The operator is killed and restarted, and registry connections are closed early.
    KillAndCloseRegistry,
    /// The API server fails.
    ApiServer(ServerFault),
}

/// A fault of an API server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ServerFault {
    /// The API server restarts and drops its watch cache.
    Restart,
    /// Watches end after a few events.
    CutWatches,
    /// Connections are closed during requests.
    DropConnections,
    /// Requests succeed, and the response is an error.
    LoseResponses,
    /// Requests are throttled.
    Throttle,
}

const SERVER_FAULTS: [ServerFault; 5] = [
    ServerFault::Restart,
    ServerFault::CutWatches,
    ServerFault::DropConnections,
    ServerFault::LoseResponses,
    ServerFault::Throttle,
];

impl Fault {
    /// All faults that a cluster supports: those of API servers need a sandbox.
    pub(crate) fn all(cluster: &TestCluster) -> Vec<Self> {
        let of_server = SERVER_FAULTS.into_iter().filter(|_| cluster.is_sandbox());
        of_server.map(Self::ApiServer).chain([Self::Kill, Self::KillAndCloseRegistry]).collect()
    }

    pub(crate) async fn inject(
        self,
        platform: &mut ChaosPlatform,
        random: &mut Random,
    ) -> Result<()> {
        let few = 1 + random.below(MAX_REQUESTS);
        match self {
            Self::Kill => platform.operator.restart().await,
            Self::KillAndCloseRegistry => {
                for _ in 0..few {
                    platform.registry_proxy.fail_next_after(random.below(MAX_RESPONSE_BYTES));
                }
                platform.operator.restart().await
            }
            Self::ApiServer(fault) => {
                let sandbox = platform.cluster.as_sandbox();
                fault.inject(sandbox.context("faults need a sandbox")?, few);
                Ok(())
            }
        }
    }
}

impl ServerFault {
    fn inject(self, sandbox: &Sandbox, few: usize) {
        let add =
            |fault: faults::Fault| sandbox.faults().add(fault.user_agent(OPERATOR).times(few));
        match self {
            Self::Restart => sandbox.restart(),
            Self::CutWatches => {
                add(faults::Fault::cut_watch(few));
                // Only new watches are affected, so end those that exist.
                sandbox.restart();
            }
            Self::DropConnections => add(faults::Fault::drop_connection()),
            Self::LoseResponses => add(faults::Fault::refuse_after(500)),
            Self::Throttle => add(faults::Fault::refuse(429)),
        }
    }
}
