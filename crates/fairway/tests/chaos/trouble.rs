//! What breaks.

use anyhow::Result;
use fairway_sandbox::faults::Fault;
use fairway_testkit::TestCluster;

use crate::dice::Dice;
use crate::operator::Operator;

/// As the operator names itself to the API server: whoever watches it is not disturbed.
const OPERATOR: &str = "fairway/";

/// So often at most something happens that happens at once.
const IN_A_ROW: usize = 5;

/// Something that breaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// The operator is killed, and started again.
    Kill,
    /// The API server starts anew.
    ServerRestarts,
    /// Watches break after a few events.
    WatchesBreak,
    /// Connections break in the middle of requests.
    ConnectionsBreak,
    /// What is asked for is done, and the operator is told otherwise.
    AnswersAreLost,
    /// The API server has too much to do.
    RequestsAreRefused,
}

/// What can go wrong with an API server.
const OF_THE_SERVER: [Trouble; 5] = [
    Trouble::ServerRestarts,
    Trouble::WatchesBreak,
    Trouble::ConnectionsBreak,
    Trouble::AnswersAreLost,
    Trouble::RequestsAreRefused,
];

impl Trouble {
    /// Everything that a test can break: API servers only in a sandbox.
    pub(crate) fn all(cluster: &TestCluster) -> Vec<Self> {
        let of_the_server = OF_THE_SERVER.into_iter().filter(|_| cluster.is_sandbox());
        of_the_server.chain([Self::Kill]).collect()
    }

    pub(crate) async fn happen(
        self,
        cluster: &TestCluster,
        operator: &mut Operator,
        dice: &mut Dice,
    ) -> Result<()> {
        let few = 1 + dice.below(IN_A_ROW);
        let break_ = |fault: Fault| {
            if let Some(sandbox) = cluster.as_sandbox() {
                sandbox.faults().add(fault.user_agent(OPERATOR).times(few));
            }
        };
        match self {
            Self::Kill => operator.kill_and_start().await?,
            Self::ServerRestarts => {
                cluster.as_sandbox().into_iter().for_each(|sandbox| sandbox.restart());
            }
            Self::WatchesBreak => {
                break_(Fault::cut_watch(few));
                // Those that are there have to end for others to begin.
                cluster.as_sandbox().into_iter().for_each(|sandbox| sandbox.restart());
            }
            Self::ConnectionsBreak => break_(Fault::drop_connection()),
            Self::AnswersAreLost => break_(Fault::refuse_after(500)),
            Self::RequestsAreRefused => break_(Fault::refuse(429)),
        }
        Ok(())
    }
}
