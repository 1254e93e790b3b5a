//! What preflights bring into the ledger: what they found, and releases that nobody offers.

use fairway_api::cluster_version::Release;
use fairway_risk::{Candidate, Concern, Targets, sources};

use crate::stage::preflight::Preflight;
use crate::stage::updates::same_content;

/// The updates that are offered, and those that were looked at although they are not. The release
/// of that image is where the cluster is, or on its way to.
pub(super) fn candidates(
    offered: &[Candidate],
    preflight: Option<&Preflight>,
    here: Option<&str>,
) -> Vec<Candidate> {
    let looked_at = preflight.into_iter().flat_map(|preflight| &preflight.not_offered);
    let is_here = |release: &Release| here.is_some_and(|here| same_content(here, &release.image));
    let is_offered = |release: &Release| {
        offered.iter().any(|candidate| same_content(&candidate.release.image, &release.image))
    };
    let not_offered = looked_at.filter(|release| !is_here(release) && !is_offered(release));
    let not_offered = not_offered.cloned().map(sources::not_offered);
    offered.iter().cloned().chain(not_offered).collect()
}

/// What was found, about images by the names that the update service has for them.
pub(super) fn concerns(preflight: Option<&Preflight>, offered: &[Candidate]) -> Vec<Concern> {
    let found = preflight.into_iter().flat_map(|preflight| &preflight.concerns);
    found.map(|concern| as_offered(concern.clone(), offered)).collect()
}

fn as_offered(mut concern: Concern, offered: &[Candidate]) -> Concern {
    if let Targets::Images(images) = &mut concern.targets {
        let name = |image: String| {
            let mut same = offered
                .iter()
                .map(|candidate| &candidate.release.image)
                .filter(|offered| same_content(offered, &image));
            same.next().cloned().unwrap_or(image)
        };
        *images = std::mem::take(images).into_iter().map(name).collect();
    }
    concern
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use fairway_risk::{Risk, Source};
    use fairway_testkit::objects::release;

    use super::*;

    fn mirrored(version: &str) -> Release {
        let release = release(version);
        let (_, digest) = release.image.split_once('@').unwrap();
        Release { image: format!("mirror.example/release@{digest}"), ..release }
    }

    fn preflight() -> Preflight {
        let images = [mirrored("5.1.0").image, release("5.2.0").image].into_iter().collect();
        let risk = Risk::always("Found", "It breaks.", "https://example.com");
        let targets = Targets::Images(images);
        Preflight {
            generation: 1,
            conditions: ["A", "B", "C"].map(|it| fairway_api::OperatorCondition::new(it, false)),
            concerns: vec![Concern { risk, source: Source::Preflight, targets }],
            not_offered: vec![mirrored("5.1.0"), release("5.2.0"), release("5.0.0")],
            outcomes: BTreeMap::new(),
            is_clear: true,
        }
    }

    #[test]
    fn one_content_is_one_update_whatever_it_is_called() {
        let offered = [Candidate { release: release("5.1.0"), risks: Vec::new() }];
        let here = mirrored("5.0.0").image;
        let all = candidates(&offered, Some(&preflight()), Some(&here));
        let all: Vec<(&str, usize)> = all
            .iter()
            .map(|candidate| (candidate.release.version.as_str(), candidate.risks.len()))
            .collect();
        assert_eq!(all, [("5.1.0", 0), ("5.2.0", 1)]);
        let [concern] = &concerns(Some(&preflight()), &offered)[..] else { panic!() };
        let images = [release("5.1.0").image, release("5.2.0").image].into_iter().collect();
        assert_eq!(concern.targets, Targets::Images(images));
    }

    #[test]
    fn without_preflights_there_is_what_is_offered() {
        let offered = [Candidate { release: release("5.1.0"), risks: Vec::new() }];
        assert_eq!(candidates(&offered, None, None), offered);
        assert_eq!(concerns(None, &offered), []);
    }
}
