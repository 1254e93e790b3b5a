//! Which release the spec means.

use fairway_api::cluster_version::{Release, Update, UpdateHistory, UpdateState};
use fairway_risk::Evaluated;

use crate::stage::meaning::{self, Meaning, Places};
use crate::stage::updates::same_content;

/// What the spec means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// The release of the operator itself, which the cluster has.
    Own,
    /// No update, or none that can be found: the release that was accepted last stays.
    Stay,
    /// A release that nobody can look up yet.
    NotKnownYet,
    /// Another release.
    Other(Request),
}

/// A release that is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Request {
    /// Its image.
    pub(super) image: String,
    /// The version that it has to have, where one was named.
    pub(super) version: Option<String>,
    /// Whether the guards are waived.
    pub(super) forced: bool,
    /// Whether it is only meant because the update that is under way was withdrawn.
    pub(super) withdrawn: bool,
}

/// Where releases are looked up.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    /// The release of the operator itself.
    pub(super) own: &'a Release,
    /// Whether its image serves several architectures.
    pub(super) is_multi: bool,
    /// The release that was begun last: its image, and its version.
    pub(super) begun: Option<(&'a str, &'a str)>,
    /// What is offered to this cluster, of the generation that asks.
    pub(super) offered: Option<&'a Evaluated>,
    /// What the cluster had.
    pub(super) history: &'a [UpdateHistory],
}

impl Known<'_> {
    /// Whether the cluster has the release of the operator, or is on its way to it, or has none.
    fn has_own(&self) -> bool {
        self.begun.is_none_or(|(image, _)| same_content(image, &self.own.image))
    }

    /// Whether the release that was begun last is complete.
    fn is_complete(&self) -> bool {
        let newest = self.history.first();
        newest.zip(self.begun).is_some_and(|(newest, (image, _))| {
            same_content(&newest.image, image) && newest.state == UpdateState::Completed
        })
    }
}

/// The release that is meant where the spec asks for none. What is complete stays; from an update
/// that was withdrawn on its way, it is back to the release that the operator is still from.
fn nothing(known: Known) -> Wish {
    if known.has_own() {
        return Wish::Own;
    }
    if known.is_complete() {
        return Wish::Stay;
    }
    let Release { image, version, .. } = known.own.clone();
    Wish::Other(Request { image, version: Some(version), forced: false, withdrawn: true })
}

/// The release that the spec means. With any mode, it asks for no update.
pub(super) fn resolve(asked: Option<&Update>, known: Known) -> Wish {
    let Some(update) = asked.filter(|update| update.names_a_release()) else {
        return if asked.is_some_and(|update| update.mode.is_some()) {
            Wish::Stay
        } else {
            nothing(known)
        };
    };
    if !update.is_update() {
        return Wish::Stay;
    }
    let request = |image: &str, version: Option<&str>| {
        let is_own = same_content(image, &known.own.image);
        if is_own && known.has_own() && version.is_none_or(|it| it == known.own.version) {
            return Wish::Own;
        }
        let (image, version) = (image.to_owned(), version.map(str::to_owned));
        Wish::Other(Request { image, version, forced: update.forced(), withdrawn: false })
    };
    let offered: Option<Vec<&Release>> = known.offered.map(|offered| releases(offered).collect());
    let places = Places {
        own: known.own,
        is_multi: known.is_multi,
        begun: known.begun,
        offered: offered.as_deref(),
        history: known.history,
    };
    match meaning::of(update, places) {
        Meaning::Release { image, version } => request(image, version),
        Meaning::Nothing => Wish::Stay,
        Meaning::NotKnownYet { .. } => Wish::NotKnownYet,
    }
}

/// The updates that are offered, recommended or not.
fn releases(offered: &Evaluated) -> impl Iterator<Item = &Release> {
    let conditional = offered.conditional_updates.iter().map(|update| &update.release);
    offered.available_updates.iter().chain(conditional)
}

/// The update that leads to an image, wherever that is kept; also one for which the status has no
/// room.
pub(super) fn offered<'a>(offered: &'a Evaluated, image: &str) -> Option<&'a Release> {
    let withheld = offered.withheld.iter().map(|withheld| &withheld.release);
    releases(offered).chain(withheld).find(|release| same_content(&release.image, image))
}

#[cfg(test)]
mod tests {
    use fairway_api::cluster_version::{Architecture, ConditionalUpdate, UpdateMode};
    use fairway_testkit::objects::{release, update_to};

    use super::*;

    fn offered() -> Evaluated {
        Evaluated {
            available_updates: vec![release("5.0.1"), release("5.0.2"), respin()],
            conditional_updates: vec![
                ConditionalUpdate { release: release("5.1.0"), ..ConditionalUpdate::default() },
                ConditionalUpdate { release: release("5.0.1"), ..ConditionalUpdate::default() },
            ],
            ..Evaluated::default()
        }
    }

    fn respin() -> Release {
        Release { version: "5.0.2".to_owned(), ..release("5.0.2-again") }
    }

    fn meant(update: Option<&Update>) -> Wish {
        meant_with(update, Some(&offered()), None)
    }

    fn meant_with(
        update: Option<&Update>,
        offered: Option<&Evaluated>,
        begun: Option<(&str, &str)>,
    ) -> Wish {
        let past = |version: &str| UpdateHistory {
            version: Some(version.to_owned()),
            image: release(version).image,
            ..UpdateHistory::default()
        };
        let (own, history) = (release("5.0.0"), [past("5.0.0"), past("4.9.9")]);
        resolve(update, Known { own: &own, is_multi: false, begun, offered, history: &history })
    }

    fn other(image: &str, version: Option<&str>) -> Wish {
        let (image, version) = (image.to_owned(), version.map(str::to_owned));
        Wish::Other(Request { image, version, ..Request::default() })
    }

    #[test]
    fn a_version_is_looked_up_among_all_updates_and_in_the_history() {
        for (version, expected) in [
            ("5.0.0", Wish::Own),
            ("5.0.1", other(&release("5.0.1").image, Some("5.0.1"))),
            ("5.1.0", other(&release("5.1.0").image, Some("5.1.0"))),
            ("4.9.9", other(&release("4.9.9").image, Some("4.9.9"))),
            // Two releases have it.
            ("5.0.2", Wish::Stay),
            ("5.7.0", Wish::Stay),
        ] {
            assert_eq!(meant(Some(&update_to(version))), expected, "{version}");
        }
    }

    #[test]
    fn an_image_is_taken_as_it_is() {
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
            (own.as_str(), "", Wish::Own),
            (mirrored.as_str(), "5.0.0", Wish::Own),
            // Somebody is wrong about the image, and has to be told.
            (own.as_str(), "5.0.1", other(&own, Some("5.0.1"))),
        ] {
            assert_eq!(meant(Some(&by(image, version))), expected, "{image} {version}");
        }
    }

    #[test]
    fn with_any_mode_it_is_no_update() {
        for mode in [UpdateMode::Preflight, UpdateMode::Other("Dance".to_owned())] {
            let update = Update { mode: Some(mode.clone()), ..update_to("5.0.1") };
            assert_eq!(meant(Some(&update)), Wish::Stay, "{mode:?}");
            let nothing = Update { mode: Some(mode), ..Update::default() };
            assert_eq!(meant(Some(&nothing)), Wish::Stay);
        }
    }

    #[test]
    fn who_asks_for_nothing_gets_the_operators_release() {
        assert_eq!(meant(None), Wish::Own);
        assert_eq!(meant(Some(&Update::default())), Wish::Own);
    }

    #[test]
    fn who_goes_back_to_the_operators_release_asks_for_it_like_for_any_other() {
        let (own, later) = (release("5.0.0"), release("5.1.0"));
        let begun = Some((later.image.as_str(), "5.1.0"));
        let by_image = Update { image: Some(own.image.clone()), ..Update::default() };
        for (asked, version) in [(update_to("5.0.0"), Some("5.0.0")), (by_image, None)] {
            assert_eq!(meant(Some(&asked)), Wish::Own);
            assert_eq!(meant_with(Some(&asked), None, begun), other(&own.image, version));
        }
    }

    #[test]
    fn a_request_that_is_withdrawn_undoes_only_what_is_not_complete() {
        let (own, later) = (release("5.0.0"), release("5.1.0"));
        let meant = |newest: &Release, state: UpdateState| {
            let newest = UpdateHistory {
                version: Some(newest.version.clone()),
                image: newest.image.clone(),
                state,
                ..UpdateHistory::default()
            };
            let (begun, history) = (Some((later.image.as_str(), "5.1.0")), [newest]);
            let known =
                Known { own: &own, is_multi: false, begun, offered: None, history: &history };
            resolve(None, known)
        };
        let back = Wish::Other(Request {
            image: own.image.clone(),
            version: Some("5.0.0".to_owned()),
            forced: false,
            withdrawn: true,
        });
        assert_eq!(meant(&later, UpdateState::Completed), Wish::Stay);
        assert_eq!(meant(&later, UpdateState::Partial), back);
        assert_eq!(meant(&own, UpdateState::Completed), back, "the history does not tell it yet");
    }

    #[test]
    fn what_was_begun_goes_on_whatever_is_offered() {
        let update = update_to("5.1.0");
        let begun = Some(("r.example/a@sha256:1", "5.1.0"));
        let expected = other("r.example/a@sha256:1", Some("5.1.0"));
        assert_eq!(meant_with(Some(&update), None, begun), expected);
        assert_eq!(meant_with(Some(&update), Some(&offered()), begun), expected);
        assert_eq!(meant_with(Some(&update), None, None), Wish::NotKnownYet);
    }

    #[test]
    fn an_update_is_known_wherever_its_image_is_kept() {
        let (updates, image) = (offered(), release("5.1.0").image);
        let mirrored = image.replace("registry.example", "mirror.example");
        for image in [&image, &mirrored] {
            assert_eq!(super::offered(&updates, image), Some(&release("5.1.0")), "{image}");
        }
        assert_eq!(super::offered(&updates, "mirror.example/release:5.1.0"), None);
    }

    #[test]
    fn a_cluster_gets_all_architectures_before_another_version() {
        let update = Update { architecture: Some(Architecture::Multi), ..update_to("5.0.1") };
        assert_eq!(meant(Some(&update)), Wish::Stay);
        let multi = Release {
            architecture: Some(Architecture::Multi),
            version: "5.0.0".to_owned(),
            ..release("5.0.0-multi")
        };
        let offered = Evaluated { available_updates: vec![multi.clone()], ..Evaluated::default() };
        let expected = other(&multi.image, Some("5.0.0"));
        assert_eq!(meant_with(Some(&update), Some(&offered), None), expected);
        assert_eq!(meant_with(Some(&update), None, None), Wish::NotKnownYet);
    }
}
