//! How an operator is to behave: what a ConfigMap tells it.

use std::time::Duration;

use jiff::SignedDuration;
use k8s_openapi::api::core::v1::ConfigMap;

/// What an operator is told. Texts become messages of conditions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Behaviour {
    /// How long it takes to another version.
    pub rollout: Duration,
    /// Whether it works worse than it should.
    pub degraded: Option<String>,
    /// The same, but only on its way to another version.
    pub degraded_while_updating: Option<String>,
    /// Whether it does not work.
    pub unavailable: Option<String>,
    /// Whether updates to another minor version have to wait.
    pub not_upgradeable: Option<String>,
    /// Whether it never gets to another version.
    pub stuck: Option<String>,
    /// Whether its program ends with an error.
    pub crash: Option<String>,
}

/// The keys of the ConfigMap; each names its field.
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

/// Nobody waits longer to see what happens next.
const LONGEST_ROLLOUT: Duration = Duration::from_hours(1);

impl Behaviour {
    /// What a ConfigMap says. Without one an operator works as it should; what is empty or makes no
    /// sense changes nothing.
    pub fn of(map: Option<&ConfigMap>) -> Self {
        let data = map.and_then(|map| map.data.as_ref());
        let text = |key: &str| data.and_then(|data| data.get(key)).map(|text| text.trim());
        let message = |key: &str| text(key).filter(|text| !text.is_empty()).map(ToOwned::to_owned);
        let rollout = text(key::ROLLOUT).and_then(|text| text.parse::<SignedDuration>().ok());
        let rollout = rollout.and_then(|rollout| Duration::try_from(rollout).ok());
        Self {
            rollout: rollout.unwrap_or_default().min(LONGEST_ROLLOUT),
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

    fn told(data: &[(&str, &str)]) -> Behaviour {
        let data = data.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
        Behaviour::of(Some(&ConfigMap { data: Some(data.collect()), ..ConfigMap::default() }))
    }

    #[test]
    fn without_a_word_it_works_as_it_should() {
        assert_eq!(Behaviour::of(None), Behaviour::default());
        assert_eq!(told(&[("degraded", " "), ("else", "x")]), Behaviour::default());
    }

    #[test]
    fn durations_are_words_and_limited() {
        for (text, expected) in [
            ("1s", Duration::from_secs(1)),
            ("500ms", Duration::from_millis(500)),
            ("2m", Duration::from_mins(2)),
            ("-1s", Duration::ZERO),
            ("soon", Duration::ZERO),
            ("99999h", LONGEST_ROLLOUT),
        ] {
            assert_eq!(told(&[("rollout", text)]).rollout, expected, "{text}");
        }
    }

    #[test]
    fn texts_are_messages() {
        let behaviour = told(&[("degraded", "a"), ("unavailable", "b"), ("crash", "c")]);
        assert_eq!(behaviour.degraded.as_deref(), Some("a"));
        assert_eq!(behaviour.unavailable.as_deref(), Some("b"));
        assert_eq!(behaviour.crash.as_deref(), Some("c"));
    }
}
