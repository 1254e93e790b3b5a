//! The release that `spec.desiredUpdate` requests.

use fairway_api::cluster_version::{Release, Update, UpdateState};
use fairway_risk::LedgerEvaluation;

use crate::stage::release_lookup::{LookupResult, ReleaseLookup, find_release};
use crate::stage::updates::same_content;

/// The release that the spec requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum DesiredRelease {
    /// The operator's own release, which the cluster has.
    Own,
    /// No update, or one that cannot be found: the accepted release stays.
    Unchanged,
    /// The offered releases are not known yet.
    NotKnownYet,
    /// Another release.
    Update(UpdateRequest),
}

/// A requested release.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct UpdateRequest {
    /// Release image.
    pub(super) image: String,
    /// Version that the release must have, if the request names one.
    pub(super) version: Option<String>,
    /// Whether signature, preconditions and risks are waived.
    pub(super) forced: bool,
    /// Whether the cluster returns to this release because an incomplete update was withdrawn.
    pub(super) withdrawn: bool,
}

impl ReleaseLookup<'_> {
    /// Whether the cluster has or gets the operator's own release.
    fn has_own(&self) -> bool {
        self.begun.is_none_or(|(image, _)| same_content(image, &self.own.image))
    }

    /// Whether the last rollout is complete.
    fn is_complete(&self) -> bool {
        let newest = self.history.first();
        newest.zip(self.begun).is_some_and(|(newest, (image, _))| {
            same_content(&newest.image, image) && newest.state == UpdateState::Completed
        })
    }
}

/// The desired release of a spec without an update. A complete release stays; an update that was
/// withdrawn before it was complete goes back to the operator's own release.
fn without_update(lookup: ReleaseLookup) -> DesiredRelease {
    if lookup.has_own() {
        return DesiredRelease::Own;
    }
    if lookup.is_complete() {
        return DesiredRelease::Unchanged;
    }
    let Release { image, version, .. } = lookup.own.clone();
    let version = Some(version);
    DesiredRelease::Update(UpdateRequest { image, version, forced: false, withdrawn: true })
}

/// Resolves `spec.desiredUpdate`. A request with a mode, such as a preflight, is no update.
pub(super) fn resolve(desired: Option<&Update>, lookup: ReleaseLookup) -> DesiredRelease {
    let Some(update) = desired.filter(|update| update.names_a_release()) else {
        return if desired.is_some_and(|update| update.mode.is_some()) {
            DesiredRelease::Unchanged
        } else {
            without_update(lookup)
        };
    };
    if !update.is_update() {
        return DesiredRelease::Unchanged;
    }
    match find_release(update, lookup) {
        LookupResult::Nothing => DesiredRelease::Unchanged,
        LookupResult::NotKnownYet { .. } => DesiredRelease::NotKnownYet,
        LookupResult::Release { image, version }
            if same_content(image, &lookup.own.image)
                && lookup.has_own()
                && version.is_none_or(|it| it == lookup.own.version) =>
        {
            DesiredRelease::Own
        }
        LookupResult::Release { image, version } => DesiredRelease::Update(UpdateRequest {
            image: image.to_owned(),
            version: version.map(str::to_owned),
            forced: update.forced(),
            withdrawn: false,
        }),
    }
}

/// The offered updates, recommended or conditional.
pub(super) fn offered_releases(offered: &LedgerEvaluation) -> impl Iterator<Item = &Release> {
    let conditional = offered.conditional_updates.iter().map(|update| &update.release);
    offered.available_updates.iter().chain(conditional)
}

/// The offered update with the content of an image, including updates that the status omits.
pub(super) fn offered_update<'a>(
    offered: &'a LedgerEvaluation,
    image: &str,
) -> Option<&'a Release> {
    let withheld = offered.withheld.iter().map(|withheld| &withheld.release);
    offered_releases(offered).chain(withheld).find(|release| same_content(&release.image, image))
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::{
        Architecture, ConditionalUpdate, UpdateHistory, UpdateMode,
    };
    use fairway_testkit::objects::{release, update_to};

    use super::*;

    fn offered() -> LedgerEvaluation {
        LedgerEvaluation {
            available_updates: vec![release("5.0.1"), release("5.0.2"), respin()],
            conditional_updates: vec![
                ConditionalUpdate { release: release("5.1.0"), ..ConditionalUpdate::default() },
                ConditionalUpdate { release: release("5.0.1"), ..ConditionalUpdate::default() },
            ],
            ..LedgerEvaluation::default()
        }
    }

    fn respin() -> Release {
        Release { version: "5.0.2".to_owned(), ..release("5.0.2-again") }
    }

    fn resolved(update: Option<&Update>) -> DesiredRelease {
        resolved_with(update, Some(&offered()), None)
    }

    fn resolved_with(
        update: Option<&Update>,
        offered: Option<&LedgerEvaluation>,
        begun: Option<(&str, &str)>,
    ) -> DesiredRelease {
        let past = |version: &str| UpdateHistory {
            version: Some(version.to_owned()),
            image: release(version).image,
            ..UpdateHistory::default()
        };
        let (own, history) = (release("5.0.0"), [past("5.0.0"), past("4.9.9")]);
        let offered: Option<Vec<&Release>> = offered.map(|it| offered_releases(it).collect());
        let offered = offered.as_deref();
        let own = &own;
        resolve(update, ReleaseLookup { own, is_multi: false, begun, offered, history: &history })
    }

    fn other(image: &str, version: Option<&str>) -> DesiredRelease {
        let (image, version) = (image.to_owned(), version.map(str::to_owned));
        DesiredRelease::Update(UpdateRequest { image, version, ..UpdateRequest::default() })
    }

    #[test]
    fn resolve_version_searches_updates_and_history() {
        for (version, expected) in [
            ("5.0.0", DesiredRelease::Own),
            ("5.0.1", other(&release("5.0.1").image, Some("5.0.1"))),
            ("5.1.0", other(&release("5.1.0").image, Some("5.1.0"))),
            ("4.9.9", other(&release("4.9.9").image, Some("4.9.9"))),
            // Two releases have it.
            ("5.0.2", DesiredRelease::Unchanged),
            ("5.7.0", DesiredRelease::Unchanged),
        ] {
            assert_eq!(resolved(Some(&update_to(version))), expected, "{version}");
        }
    }

    #[test]
    fn resolve_image_returns_it_unchanged() {
        let by = |image: &str, version: &str| Update {
            image: Some(image.to_owned()),
            version: Some(version.to_owned()),
            ..Update::default()
        };
        let own = release("5.0.0").image;
        let mirrored = own.replace("registry.example", "mirror.example");
        for (image, version, expected) in [
            ("anything", "", other("anything", None)),
            ("anything", "5.0.0", other("anything", Some("5.0.0"))),
            (own.as_str(), "", DesiredRelease::Own),
            (mirrored.as_str(), "5.0.0", DesiredRelease::Own),
            // The version does not match: the operator must report it.
            (own.as_str(), "5.0.1", other(&own, Some("5.0.1"))),
        ] {
            assert_eq!(resolved(Some(&by(image, version))), expected, "{image} {version}");
        }
    }

    #[test]
    fn resolve_with_mode_returns_unchanged() {
        for mode in [UpdateMode::Preflight, UpdateMode::Other("Dance".to_owned())] {
            let update = Update { mode: Some(mode.clone()), ..update_to("5.0.1") };
            assert_eq!(resolved(Some(&update)), DesiredRelease::Unchanged, "{mode:?}");
            let nothing = Update { mode: Some(mode), ..Update::default() };
            assert_eq!(resolved(Some(&nothing)), DesiredRelease::Unchanged);
        }
    }

    #[test]
    fn resolve_without_desired_update_returns_own_release() {
        assert_eq!(resolved(None), DesiredRelease::Own);
        assert_eq!(resolved(Some(&Update::default())), DesiredRelease::Own);
    }

    #[test]
    fn resolve_own_release_during_update_returns_request() {
        let (own, later) = (release("5.0.0"), release("5.1.0"));
        let begun = Some((later.image.as_str(), "5.1.0"));
        let by_image = Update { image: Some(own.image.clone()), ..Update::default() };
        for (requested, version) in [(update_to("5.0.0"), Some("5.0.0")), (by_image, None)] {
            assert_eq!(resolved(Some(&requested)), DesiredRelease::Own);
            assert_eq!(resolved_with(Some(&requested), None, begun), other(&own.image, version));
        }
    }

    #[test]
    fn resolve_withdrawn_update_returns_own_release_unless_complete() {
        let (own, later) = (release("5.0.0"), release("5.1.0"));
        let resolved = |newest: &Release, state: UpdateState| {
            let newest = UpdateHistory {
                version: Some(newest.version.clone()),
                image: newest.image.clone(),
                state,
                ..UpdateHistory::default()
            };
            let (begun, history) = (Some((later.image.as_str(), "5.1.0")), [newest]);
            let (own, history) = (&own, &history);
            resolve(None, ReleaseLookup { own, is_multi: false, begun, offered: None, history })
        };
        let back = DesiredRelease::Update(UpdateRequest {
            image: own.image.clone(),
            version: Some("5.0.0".to_owned()),
            forced: false,
            withdrawn: true,
        });
        assert_eq!(resolved(&later, UpdateState::Completed), DesiredRelease::Unchanged);
        assert_eq!(resolved(&later, UpdateState::Partial), back);
        assert_eq!(
            resolved(&own, UpdateState::Completed),
            back,
            "the history has no entry of the update yet"
        );
    }

    #[test]
    fn resolve_version_of_rollout_in_progress_keeps_its_image() {
        let update = update_to("5.1.0");
        let begun = Some(("r.example/a@sha256:1", "5.1.0"));
        let expected = other("r.example/a@sha256:1", Some("5.1.0"));
        assert_eq!(resolved_with(Some(&update), None, begun), expected);
        assert_eq!(resolved_with(Some(&update), Some(&offered()), begun), expected);
        assert_eq!(resolved_with(Some(&update), None, None), DesiredRelease::NotKnownYet);
    }

    #[test]
    fn offered_update_ignores_the_registry() {
        let (updates, image) = (offered(), release("5.1.0").image);
        let mirrored = image.replace("registry.example", "mirror.example");
        for image in [&image, &mirrored] {
            assert_eq!(offered_update(&updates, image), Some(&release("5.1.0")), "{image}");
        }
        assert_eq!(offered_update(&updates, "mirror.example/release:5.1.0"), None);
    }

    #[test]
    fn resolve_multi_architecture_returns_running_version() {
        let update = Update { architecture: Some(Architecture::Multi), ..update_to("5.0.1") };
        assert_eq!(resolved(Some(&update)), DesiredRelease::Unchanged);
        let multi = Release {
            architecture: Some(Architecture::Multi),
            version: "5.0.0".to_owned(),
            ..release("5.0.0-multi")
        };
        let offered = LedgerEvaluation {
            available_updates: vec![multi.clone()],
            ..LedgerEvaluation::default()
        };
        let expected = other(&multi.image, Some("5.0.0"));
        assert_eq!(resolved_with(Some(&update), Some(&offered), None), expected);
        assert_eq!(resolved_with(Some(&update), None, None), DesiredRelease::NotKnownYet);
    }
}
