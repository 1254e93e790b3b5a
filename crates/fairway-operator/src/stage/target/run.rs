//! The stage at work.

use std::collections::BTreeSet;
use std::sync::Arc;

use fairway_api::OperatorCondition;
use fairway_release::Release;
use fairway_release::inclusion::implicitly_enabled;
use tokio::sync::watch;

use super::condition::{self, Named};
use super::events::{self, Announcer, Told};
use super::gate::{self, Case};
use super::inputs::{Inputs, View};
use super::job::{Failure, Job, Progress};
use super::resolve::{self, Known, Request, Wish, resolve};
use super::retrieve::{Order, Retrieved, Retriever, Signed};
use super::{Target, guards, selection};
use crate::clock;
use crate::election::Leadership;
use crate::own_release::OwnRelease;
use crate::payload::{self, Payload};
use crate::settings::TargetSettings;
use crate::stage::updates::same_content;

/// Says which release the cluster is to have, until nobody looks any more.
pub(crate) async fn run(
    mut inputs: Inputs,
    settings: TargetSettings,
    client: kube::Client,
    leadership: Leadership,
    out: watch::Sender<Option<Arc<Target>>>,
) {
    let (announcer, announce) = events::announcer(client.clone(), leadership);
    let mut stage = Stage::new(&inputs, settings, client, announcer);
    let work = async {
        loop {
            if let Some(view) = inputs.look() {
                stage.publish(&view, &out);
            }
            tokio::select! {
                open = inputs.changed() => if !open { return },
                () = step(&mut stage.job, &stage.retriever) => {}
                () = out.closed() => return,
            }
        }
    };
    tokio::join!(work, announce);
}

async fn step(job: &mut Option<Job>, retriever: &Arc<Retriever>) {
    match job {
        Some(job) => job.step(retriever).await,
        None => std::future::pending().await,
    }
}

/// A release that was accepted.
struct Accepted {
    image: String,
    content: Arc<Release>,
    verified: bool,
    accepted_risks: Option<String>,
}

/// The stage's state.
struct Stage {
    own: Arc<OwnRelease>,
    own_content: Arc<Release>,
    settings: TargetSettings,
    retriever: Arc<Retriever>,
    announcer: Announcer,
    /// The release that was accepted last; none before it is known what an operator before this
    /// one has begun.
    accepted: Option<Accepted>,
    job: Option<Job>,
    /// Capabilities that are on, and stay so.
    staying: Option<BTreeSet<String>>,
    told: Option<OperatorCondition>,
}

impl Stage {
    fn new(
        inputs: &Inputs,
        settings: TargetSettings,
        client: kube::Client,
        announcer: Announcer,
    ) -> Self {
        let Inputs { own, own_content, .. } = inputs;
        let profile = settings.selection.profile.clone();
        let retriever = Retriever::new(client, settings.images.clone(), profile, own_content);
        Self {
            own: Arc::clone(own),
            own_content: Arc::clone(own_content),
            settings,
            retriever: Arc::new(retriever),
            announcer,
            accepted: None,
            job: None,
            staying: None,
            told: None,
        }
    }

    /// Decides, and publishes what there is to say.
    fn publish(&mut self, view: &View, out: &watch::Sender<Option<Arc<Target>>>) {
        let condition = self.decide(view);
        self.tell(&condition);
        let Some(target) = self.target(view, condition) else { return };
        out.send_if_modified(|published| {
            if published.as_deref() == Some(&target) {
                return false;
            }
            *published = Some(Arc::new(target));
            true
        });
    }

    /// What becomes of the release that the spec asks for: the condition `ReleaseAccepted`.
    fn decide(&mut self, view: &View) -> OperatorCondition {
        let wish = self.wish(view);
        if self.accepted.is_none()
            && let Err(pending) = self.resume(view, &wish)
        {
            return pending;
        }
        match wish {
            Wish::Own => self.settle_for_own(view),
            Wish::Stay => self.job = None,
            Wish::NotKnownYet => return condition::waiting(),
            Wish::Other(request) => return self.consider(view, &request),
        }
        self.loaded()
    }

    fn wish(&self, view: &View) -> Wish {
        let accepted = self.accepted.as_ref().map(|accepted| {
            (accepted.image.clone(), accepted.content.metadata.version.to_string())
        });
        let begun = accepted.or_else(|| {
            let entry = view.history().first()?;
            Some((entry.image.clone(), entry.version.clone()?))
        });
        resolve(
            view.cluster_version.spec.desired_update.as_ref(),
            Known {
                own: &self.own.release,
                is_multi: self.own.release.architecture.is_some(),
                begun: begun.as_ref().map(|(image, version)| (image.as_str(), version.as_str())),
                offered: view.risks.as_deref().map(|risks| &risks.evaluated),
                history: view.history(),
            },
        )
    }

    /// Goes on with what an operator before this one has begun, without asking the gates again: no
    /// step is undone. Until that release was read again, nothing can be said.
    fn resume(&mut self, view: &View, wish: &Wish) -> Result<(), OperatorCondition> {
        let begun = view.history().first();
        let begun = begun.filter(|entry| !same_content(&entry.image, &self.own.release.image));
        let Some(begun) = begun.filter(|_| *wish != Wish::Own) else {
            self.settle_for_own(view);
            return Ok(());
        };
        let order = Order { image: begun.image.clone(), signed: Signed::AsBefore };
        let named = Named { version: begun.version.as_deref(), image: &begun.image };
        let retrieved = self.retrieved(view, order, &named)?;
        let content = Arc::clone(&retrieved.content);
        self.accepted = Some(Accepted {
            image: begun.image.clone(),
            content,
            verified: begun.verified,
            accepted_risks: begun.accepted_risks.clone(),
        });
        self.job = None;
        Ok(())
    }

    /// The release of the operator itself needs nobody's permission.
    fn settle_for_own(&mut self, view: &View) {
        self.job = None;
        let image = &self.own.release.image;
        if self.accepted.as_ref().is_some_and(|accepted| same_content(&accepted.image, image)) {
            return;
        }
        let begun = view.history().first().filter(|entry| same_content(&entry.image, image));
        self.accepted = Some(Accepted {
            image: image.clone(),
            content: Arc::clone(&self.own_content),
            verified: begun.is_some_and(|entry| entry.verified),
            accepted_risks: begun.and_then(|entry| entry.accepted_risks.clone()),
        });
    }

    /// Retrieves the release that is asked for, and asks the gates. What was accepted once is not
    /// asked about again.
    fn consider(&mut self, view: &View, request: &Request) -> OperatorCondition {
        let Some(accepted) = &self.accepted else { return condition::waiting() };
        let named = Named::from(request);
        if same_content(&accepted.image, &request.image) {
            self.job = None;
            let has = accepted.content.metadata.version.to_string();
            return match &request.version {
                Some(version) if *version != has => condition::other_version(&named, &has),
                _ => self.loaded(),
            };
        }
        let from = accepted.content.metadata.version.clone();
        let previous = guards::previous(view.history(), &accepted.image).cloned();
        let signed = if request.forced { Signed::Should } else { Signed::Must };
        let order = Order { image: request.image.clone(), signed };
        let unaccepted = self.settings.unaccepted_risks;
        let Retrieved { content, unverified } = match self.retrieved(view, order, &named) {
            Ok(retrieved) => retrieved,
            Err(pending) => return pending,
        };
        let Some(risks) = &view.risks else { return condition::waiting() };
        let release = payload::described(&content.metadata, &request.image, &mut Vec::new());
        let verdict = risks.judge.verdict(&release, clock::now());
        let decided = gate::decide(&Case {
            request,
            from: &from,
            release: &release,
            to: &content.metadata.version,
            previous: previous.as_ref(),
            verdict: &verdict,
            offered: resolve::is_offered(&risks.evaluated, &request.image),
            has_channel: view
                .cluster_version
                .spec
                .channel
                .as_deref()
                .is_some_and(|it| !it.is_empty()),
            unverified: unverified.as_deref(),
            unaccepted,
        });
        match decided {
            Err(refused) => *refused,
            Ok(accepted_risks) => {
                let (content, verified) = (Arc::clone(content), unverified.is_none());
                let image = request.image.clone();
                self.accept(Accepted { image, content, verified, accepted_risks });
                self.loaded()
            }
        }
    }

    fn accept(&mut self, accepted: Accepted) {
        let version = accepted.content.metadata.version.to_string();
        tracing::info!(version, image = accepted.image, "an update begins");
        self.announcer.tell(Told::accepted(&version, accepted.accepted_risks.as_deref()));
        if let (Some(before), Some(staying)) = (&self.accepted, &mut self.staying) {
            let (before, target) = (&before.content.manifests, &accepted.content.manifests);
            let implicit = implicitly_enabled(before, target, staying);
            staying.extend(implicit);
        }
        self.accepted = Some(accepted);
        self.job = None;
    }

    /// What was ordered, if it is there; otherwise how far that is.
    fn retrieved(
        &mut self,
        view: &View,
        order: Order,
        named: &Named,
    ) -> Result<&Retrieved, OperatorCondition> {
        if !self.job.as_ref().is_some_and(|job| job.is_for(&order, &view.ways)) {
            self.job = None;
        }
        let begin = || Job::begin(&self.retriever, order, view.ways.clone());
        match self.job.get_or_insert_with(begin).progress() {
            Progress::Done(retrieved) => Ok(retrieved),
            Progress::Running => Err(condition::retrieving(named)),
            Progress::Failed(Failure::NotRetrieved(why)) => {
                Err(condition::not_retrieved(named, why))
            }
            Progress::Failed(Failure::NotLoaded(why)) => Err(condition::not_loaded(named, why)),
        }
    }

    /// The condition about the release that was accepted last.
    fn loaded(&self) -> OperatorCondition {
        let Some(accepted) = &self.accepted else { return condition::waiting() };
        let version = accepted.content.metadata.version.to_string();
        let named = Named { version: Some(&version), image: &accepted.image };
        condition::loaded(&named, &self.own.architecture)
    }

    /// Writes an event when the condition has changed. That an operator has started is none.
    fn tell(&mut self, condition: &OperatorCondition) {
        if self.told.as_ref() == Some(condition) {
            return;
        }
        if self.told.replace(condition.clone()).is_some()
            && let Some(told) = Told::of(condition)
        {
            self.announcer.tell(told);
        }
    }

    fn target(&mut self, view: &View, release_accepted: OperatorCondition) -> Option<Target> {
        let Accepted { image, content, verified, accepted_risks } = self.accepted.as_ref()?;
        let spec = &view.cluster_version.spec;
        let version = content.metadata.version.to_string();
        let gates = view.features.gates(&[&version, &self.own.release.version]);
        let staying = self.staying.get_or_insert_with(|| {
            let status = view.cluster_version.status.as_ref();
            let before = status.and_then(|status| status.capabilities.as_ref());
            let before = before.map_or(&[][..], |before| &before.enabled_capabilities);
            let always = &self.settings.selection.always_enabled;
            before.iter().chain(always).cloned().collect()
        });
        let capabilities = selection::capabilities(spec.capabilities.as_ref(), staying, &gates);
        staying.extend(capabilities.enabled.iter().cloned());
        let filter = selection::when_loaded(
            &self.settings.selection,
            &view.features,
            &gates,
            &content.metadata,
        );
        let release = payload::described(&content.metadata, image, &mut Vec::new());
        Some(Target {
            generation: view.generation,
            payload: Arc::new(Payload::select(content, release, &filter)),
            verified: *verified,
            accepted_risks: accepted_risks.clone(),
            filter: selection::when_applied(spec, gates, &capabilities),
            capabilities,
            release_accepted,
        })
    }
}
