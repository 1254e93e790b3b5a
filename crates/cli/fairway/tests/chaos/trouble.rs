//! What breaks.

use anyhow::{Context as _, Result};
use fairway_sandbox::faults::Fault;
use fairway_sandbox::sandbox::Sandbox;
use fairway_testkit::TestCluster;

use crate::dice::Dice;
use crate::world::World;

/// As the operator names itself to the API server: whoever watches it is not disturbed.
const OPERATOR: &str = "fairway/";

/// So often at most something happens that happens at once.
const IN_A_ROW: usize = 5;

/// So many bytes a registry says at most before it breaks off: the image of a release has some
/// kilobytes.
const BEFORE_THE_CUT: usize = 4000;

/// Something that breaks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Trouble {
    /// The operator is killed, and started again.
    Kill,
    /// The same, and the registry breaks off when it is asked for the release again.
    KillAndRegistryBreaks,
    /// The API server does not do what it should.
    OfTheServer(ServerTrouble),
}

/// What breaks in an API server.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ServerTrouble {
    /// It starts anew.
    Restart,
    /// Watches break after a few events.
    WatchesBreak,
    /// Connections break in the middle of requests.
    ConnectionsBreak,
    /// What is asked for is done, and the operator is told otherwise.
    AnswersAreLost,
    /// It has too much to do.
    RequestsAreRefused,
}

const SERVER_TROUBLES: [ServerTrouble; 5] = [
    ServerTrouble::Restart,
    ServerTrouble::WatchesBreak,
    ServerTrouble::ConnectionsBreak,
    ServerTrouble::AnswersAreLost,
    ServerTrouble::RequestsAreRefused,
];

impl Trouble {
    /// Everything that a test can break: API servers only in a sandbox.
    pub(crate) fn all(cluster: &TestCluster) -> Vec<Self> {
        let of_the_server = SERVER_TROUBLES.into_iter().filter(|_| cluster.is_sandbox());
        of_the_server
            .map(Self::OfTheServer)
            .chain([Self::Kill, Self::KillAndRegistryBreaks])
            .collect()
    }

    pub(crate) async fn happen(self, world: &mut World, dice: &mut Dice) -> Result<()> {
        let few = 1 + dice.below(IN_A_ROW);
        match self {
            Self::Kill => world.operator.kill_and_start().await,
            Self::KillAndRegistryBreaks => {
                (0..few).for_each(|_| world.line.cut_after(dice.below(BEFORE_THE_CUT)));
                world.operator.kill_and_start().await
            }
            Self::OfTheServer(trouble) => {
                let sandbox = world.cluster.as_sandbox();
                trouble.happen(sandbox.context("this API server cannot be broken")?, few);
                Ok(())
            }
        }
    }
}

impl ServerTrouble {
    fn happen(self, sandbox: &Sandbox, few: usize) {
        let add = |fault: Fault| sandbox.faults().add(fault.user_agent(OPERATOR).times(few));
        match self {
            Self::Restart => sandbox.restart(),
            Self::WatchesBreak => {
                add(Fault::cut_watch(few));
                // Those that are there have to end for others to begin.
                sandbox.restart();
            }
            Self::ConnectionsBreak => add(Fault::drop_connection()),
            Self::AnswersAreLost => add(Fault::refuse_after(500)),
            Self::RequestsAreRefused => add(Fault::refuse(429)),
        }
    }
}
