//! What the administrator wants.

use fairway_api::cluster_version::Release;

use crate::args::upgrade::RequestArgs;
use crate::errors::WrongUsage;

/// What the administrator wants.
#[derive(Debug)]
pub(super) enum Wish {
    /// An update.
    Update(UpdateWish),
    /// The same version for several architectures.
    MultiArch(MultiArchWish),
    /// The release before.
    Rollback,
    /// The update that was asked for no more.
    Clear,
}

/// An update, and what may be overlooked for it.
#[expect(clippy::struct_excessive_bools, reason = "each is overlooked by itself")]
#[derive(Debug)]
pub(super) struct UpdateWish {
    pub(super) target: Target,
    /// A listed update that is not recommended.
    pub(super) allow_not_recommended: bool,
    /// An image that is not listed.
    pub(super) allow_explicit: bool,
    /// What is wrong with the cluster.
    pub(super) allow_warnings: bool,
    /// The signature and the guards.
    pub(super) force: bool,
    /// Who wishes it.
    pub(super) by: Option<String>,
    /// What an image that is not listed says about itself, once that was looked up; or why not.
    pub(super) looked_up: Option<Result<Box<Release>, String>>,
}

/// Several architectures, and what may be overlooked for them.
#[derive(Debug)]
pub(super) struct MultiArchWish {
    /// What is wrong with the cluster.
    pub(super) allow_warnings: bool,
    /// The signature and the guards.
    pub(super) force: bool,
}

/// Which release.
#[derive(Debug, PartialEq, Eq)]
pub(in super::super) enum Target {
    /// The one of this version.
    Version(String),
    /// This one, and it has to have the version.
    Image { image: String, version: Option<String> },
    /// The latest.
    Latest,
}

impl Target {
    /// The release that the arguments name, if they name one.
    pub(in super::super) fn of(args: &RequestArgs) -> Result<Option<Self>, WrongUsage> {
        Ok(match (&args.to_image, &args.to) {
            (Some(image), version) => {
                if !image.by_digest && !args.force {
                    return Err(WrongUsage(format!(
                        "--to-image: {} has a tag, which can change and has no signature; use the \
                         digest: @sha256:…",
                        image.text
                    )));
                }
                Some(Self::Image { image: image.text.clone(), version: version.clone() })
            }
            (None, Some(version)) => Some(Self::Version(version.clone())),
            (None, None) => args.to_latest.then_some(Self::Latest),
        })
    }
}

impl Wish {
    /// What the arguments say.
    pub(super) fn of(args: &RequestArgs) -> Result<Self, WrongUsage> {
        let (allow_warnings, force) = (args.allow_upgrade_with_warnings, args.force);
        if args.to_multi_arch {
            return Ok(Self::MultiArch(MultiArchWish { allow_warnings, force }));
        }
        let Some(target) = Target::of(args)? else { return Ok(Self::Clear) };
        Ok(Self::Update(UpdateWish {
            target,
            allow_not_recommended: args.allow_not_recommended,
            allow_explicit: args.allow_explicit_upgrade,
            allow_warnings,
            force,
            by: None,
            looked_up: None,
        }))
    }
}

impl UpdateWish {
    /// The image that has to be looked up before anybody can tell where it leads: one that may be
    /// taken although it is not listed, and whose version nobody names.
    pub(super) fn unknown_image(&self) -> Option<&str> {
        match &self.target {
            Target::Image { image, version: None } if self.allow_explicit => Some(image),
            _ => None,
        }
    }
}
