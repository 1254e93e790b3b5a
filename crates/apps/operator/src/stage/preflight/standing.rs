//! What of a preflight is in the cluster. There is one run at most: whatever is begun is brought to
//! an end before anything else begins, so that nothing can be left over.

use std::io;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Instant;

use super::active::Active;
use super::course::Patience;
use super::deployment::Run;
use super::diagnosis::Trouble;
use super::hands::Hands;
use super::inputs::Place;
use super::results::{Root, RunDirectory};
use crate::settings::PreflightSettings;

/// What of a preflight is in the cluster.
pub(super) enum Standing {
    /// It is being looked for what an operator before this one has left.
    Looking(BoxFuture<'static, Option<Run>>),
    /// That is it.
    Found(Option<Run>),
    /// Everything is being removed.
    Clearing(BoxFuture<'static, ()>),
    /// There is nothing, and nothing is begun before that time.
    Clear { not_before: Option<Instant> },
    /// A run is being created.
    Starting(Box<Starting>),
    /// There is a run.
    Active(Box<Active>),
}

/// A run that is being created.
pub(super) struct Starting {
    pub(super) run: Run,
    patience: Patience,
    work: BoxFuture<'static, Result<RunDirectory, Trouble>>,
}

/// A run that could not be created.
pub(super) struct NotStarted {
    /// The image of its release.
    pub(super) image: String,
    pub(super) why: Trouble,
}

/// What it takes to change what is in the cluster.
pub(super) struct Site {
    pub(super) place: Place,
    pub(super) settings: PreflightSettings,
    pub(super) hands: Hands,
}

impl Site {
    fn root(&self) -> Root {
        Root::new(&self.settings.results.here)
    }

    /// Looks for what is there.
    pub(super) fn look(&self) -> Standing {
        let look = self.hands.clone().found(self.place.namespace.clone());
        Standing::Looking(look.boxed())
    }

    /// Removes everything.
    pub(super) fn clear(&self) -> Standing {
        let clear = self.hands.clone().clear(self.place.namespace.clone(), self.root());
        Standing::Clearing(clear.boxed())
    }

    /// Begins a run.
    pub(super) fn start(&self, run: Run, patience: Patience) -> Standing {
        let (version, image) = (&run.version, &run.image);
        tracing::info!(run = %run.id, version, image, "preflight started");
        let (namespace, settings) = (self.place.namespace.clone(), self.settings.clone());
        let work = self.hands.clone().start(run.clone(), namespace, settings).boxed();
        Standing::Starting(Box::new(Starting { run, patience, work }))
    }

    /// Goes on with a run that an operator before this one has begun.
    pub(super) fn adopt(&self, run: Run, patience: Patience) -> io::Result<Standing> {
        let directory = self.root().open(&run.id)?;
        tracing::info!(run = %run.id, version = run.version, "preflight resumed");
        let namespace = self.place.namespace.clone();
        let work = self.hands.clone().resume(run.clone(), namespace, directory).boxed();
        Ok(Standing::Starting(Box::new(Starting { run, patience, work })))
    }

    fn active(&self, run: Run, directory: RunDirectory, patience: Patience) -> Standing {
        Standing::Active(Box::new(Active::new(run, directory, patience, self)))
    }

    /// Goes on until there is something new. A run that could not be created leaves nothing behind;
    /// why it could not is told.
    pub(super) async fn step(&self, standing: &mut Standing) -> Option<NotStarted> {
        match standing {
            Standing::Found(_) => std::future::pending().await,
            Standing::Looking(look) => {
                let found = look.await;
                *standing = Standing::Found(found);
                None
            }
            Standing::Clearing(clear) => {
                clear.await;
                *standing = Standing::Clear { not_before: None };
                None
            }
            Standing::Clear { not_before } => {
                match *not_before {
                    None => std::future::pending().await,
                    wake => fairway_clock::sleep_until(wake).await,
                }
                *not_before = None;
                None
            }
            Standing::Starting(starting) => {
                let started = (&mut starting.work).await;
                let (run, patience) = (starting.run.clone(), starting.patience);
                match started {
                    Ok(directory) => {
                        *standing = self.active(run, directory, patience);
                        None
                    }
                    Err(why) => {
                        let error = &why.message;
                        tracing::warn!(run = %run.id, error, "cannot start preflight");
                        *standing = self.clear();
                        Some(NotStarted { image: run.image, why })
                    }
                }
            }
            Standing::Active(active) => {
                active.changed().await;
                None
            }
        }
    }
}
