//! How an operator gets to a version of itself that runs on a target.

use std::collections::BTreeMap;
use std::fmt;

use fairway_api::Version;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::Declaration;
use super::{Package, Subscription};

/// Version of an operator that supports a target release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OperatorUpgrade {
    /// Name of the ClusterServiceVersion.
    pub name: String,
    /// Version of the operator.
    pub version: Version,
    /// Channel that contains the version.
    pub channel: String,
    /// Catalog that contains the version.
    pub catalog: String,
    /// Maximum cluster version that it declares.
    #[serde(skip)]
    pub declared: Declaration,
    /// Whether the channel is not the one of the subscription.
    pub channel_change: bool,
    /// Whether the install plan needs manual approval.
    pub manual_approval: bool,
}

/// All newer versions of an operator that a package has, the nearest first; those in the channel
/// that the operator follows come before all others.
pub(super) fn all(
    package: &Package,
    installed: &str,
    subscription: Option<&Subscription>,
) -> Vec<OperatorUpgrade> {
    let Some(current) = package.bundles.get(installed).and_then(|it| it.version.as_ref()) else {
        return Vec::new();
    };
    let followed = subscription.and_then(|it| it.channel.as_ref());
    let followed = followed.or(package.default_channel.as_ref());
    // A bundle that many channels have is one way out: by the channel that is followed, or the first.
    let mut channel_of: BTreeMap<&String, &String> = BTreeMap::new();
    for (channel, names) in &package.channels {
        for name in names {
            let known = channel_of.entry(name).or_insert(channel);
            if followed == Some(channel) {
                *known = channel;
            }
        }
    }
    let ways_out = channel_of.into_iter().filter_map(|(name, channel)| {
        let bundle = package.bundles.get(name)?;
        let version = bundle.version.clone().filter(|version| version > current)?;
        Some(OperatorUpgrade {
            name: name.clone(),
            version,
            channel: channel.clone(),
            catalog: package.catalog.clone(),
            declared: bundle.declared.clone()?,
            channel_change: followed != Some(channel),
            manual_approval: subscription.is_some_and(|it| it.is_manual),
        })
    });
    let mut all: Vec<OperatorUpgrade> = ways_out.collect();
    all.sort_by(|one, other| {
        (one.channel_change, &one.version).cmp(&(other.channel_change, &other.version))
    });
    all
}

impl fmt::Display for OperatorUpgrade {
    /// What to do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, version: _, channel, catalog, declared, channel_change, manual_approval } =
            self;
        if *channel_change {
            write!(f, "switch to channel {channel} of {catalog} and update to {name}")?;
        } else {
            write!(f, "update to {name} in channel {channel} of {catalog}")?;
        }
        if *manual_approval {
            f.write_str(", which requires manual approval")?;
        }
        if declared.maximum().is_none() {
            f.write_str(" (it declares no maximum version)")?;
        }
        Ok(())
    }
}
