//! Simulated behaviour of an operator, from a ConfigMap.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::ConfigMap;

/// Simulated behaviour of an operator. Texts become messages of conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// Duration of a rollout to another version.
    pub rollout: Duration,
    /// Reports Degraded.
    pub degraded: Option<String>,
    /// Reports Degraded during a rollout only.
    pub degraded_while_updating: Option<String>,
    /// Reports Available=False.
    pub unavailable: Option<String>,
    /// Reports Upgradeable=False.
    pub not_upgradeable: Option<String>,
    /// Never completes the rollout to another version.
    pub stuck: Option<String>,
    /// Exits with an error.
    pub crash: Option<String>,
}

/// Keys of the ConfigMap, one for each field.
pub mod key {
    /// A duration such as `1s`.
    pub const ROLLOUT: &str = "rollout";
    /// A message.
    pub const DEGRADED: &str = "degraded";
    /// A message.
    pub const DEGRADED_WHILE_UPDATING: &str = "degraded-while-updating";
    /// A message.
    pub const UNAVAILABLE: &str = "unavailable";
    /// A message.
    pub const NOT_UPGRADEABLE: &str = "not-upgradeable";
    /// A message.
    pub const STUCK: &str = "stuck";
    /// A message.
    pub const CRASH: &str = "crash";
}

/// Maximum rollout duration.
const MAX_ROLLOUT: Duration = Duration::from_hours(1);

impl Behaviour {
    /// Reads the behaviour. A missing ConfigMap, empty values and invalid values mean normal
    /// operation.
    pub fn from_config_map(map: Option<&ConfigMap>) -> Self {
        let data = map.and_then(|map| map.data.as_ref());
        let text = |key: &str| data.and_then(|data| data.get(key)).map(|text| text.trim());
        let message = |key: &str| text(key).filter(|text| !text.is_empty()).map(ToOwned::to_owned);
        let rollout = text(key::ROLLOUT).and_then(|text| text.parse::<SignedDuration>().ok());
        let rollout = rollout.and_then(|rollout| Duration::try_from(rollout).ok());
        Self {
            rollout: rollout.unwrap_or_default().min(MAX_ROLLOUT),
            degraded: message(key::DEGRADED),
            degraded_while_updating: message(key::DEGRADED_WHILE_UPDATING),
            unavailable: message(key::UNAVAILABLE),
            not_upgradeable: message(key::NOT_UPGRADEABLE),
            stuck: message(key::STUCK),
            crash: message(key::CRASH),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(data: &[(&str, &str)]) -> Behaviour {
        let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        Behaviour::from_config_map(Some(&ConfigMap {
            data: Some(data.collect()),
            ..ConfigMap::default()
        }))
    }

    #[test]
    fn behaviour_without_values_is_default() {
        assert_eq!(Behaviour::from_config_map(None), Behaviour::default());
        assert_eq!(condition(&[("degraded", " "), ("else", "x")]), Behaviour::default());
    }

    #[test]
    fn rollout_duration_is_parsed_and_limited() {
        for (text, expected) in [
            ("1s", Duration::from_secs(1)),
            ("500ms", Duration::from_millis(500)),
            ("2m", Duration::from_mins(2)),
            ("-1s", Duration::ZERO),
            ("soon", Duration::ZERO),
            ("99999h", MAX_ROLLOUT),
        ] {
            assert_eq!(condition(&[("rollout", text)]).rollout, expected, "{text}");
        }
    }

    #[test]
    fn texts_become_messages() {
        let behaviour = condition(&[("degraded", "a"), ("unavailable", "b"), ("crash", "c")]);
        assert_eq!(behaviour.degraded.as_deref(), Some("a"));
        assert_eq!(behaviour.unavailable.as_deref(), Some("b"));
        assert_eq!(behaviour.crash.as_deref(), Some("c"));
    }
}
