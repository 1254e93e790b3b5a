//! How long a Job waits after its pods have failed.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;

use super::tracking::Finished;

/// The pause after the first failure, as in the real controller.
const FIRST: SignedDuration = SignedDuration::from_secs(10);

/// The longest pause, as in the real controller.
const LONGEST: SignedDuration = SignedDuration::from_mins(10);

/// The failures since the last success.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BackOff {
    failures: u32,
    last: Option<Timestamp>,
}

impl BackOff {
    /// The same after these pods have ended.
    pub(super) fn after(self, news: &[Finished], now: Timestamp) -> Self {
        let mut ends: Vec<_> =
            news.iter().map(|it| (finished_at(&it.pod).unwrap_or(now), it.succeeded)).collect();
        ends.sort_unstable();
        ends.into_iter().fold(self, |before, (at, succeeded)| {
            let failures = before.failures.saturating_add(1);
            if succeeded { Self::default() } else { Self { failures, last: Some(at) } }
        })
    }

    /// When pods may be made again.
    pub(super) fn until(self) -> Option<Timestamp> {
        let doublings = self.failures.checked_sub(1)?;
        let factor = 2_i32.saturating_pow(doublings);
        let pause = FIRST.checked_mul(factor).unwrap_or(LONGEST).min(LONGEST);
        self.last?.checked_add(pause).ok()
    }
}

/// When a pod has ended: with its last container, or when it was deleted.
fn finished_at(pod: &Pod) -> Option<Timestamp> {
    let statuses = pod.status.as_ref().and_then(|status| status.container_statuses.as_ref());
    let ends = statuses.into_iter().flatten().filter_map(|status| {
        let ended = status.state.as_ref()?.terminated.as_ref()?;
        ended.finished_at.as_ref().map(|time| time.0)
    });
    let deleted = || pod.metadata.deletion_timestamp.as_ref().map(|time| time.0);
    ends.max().or_else(deleted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ended(second: i64, succeeded: bool) -> Finished {
        let at = Timestamp::from_second(second).unwrap().to_string();
        let pod =
            serde_json::from_value(json!({ "metadata": {}, "status": { "containerStatuses": [{
            "name": "c", "image": "", "imageID": "", "ready": false, "restartCount": 0,
            "state": { "terminated": { "exitCode": 1, "finishedAt": at } },
        }] } }));
        Finished { pod: pod.unwrap(), succeeded }
    }

    #[test]
    fn pauses_double_and_end_with_a_success() {
        let now = Timestamp::from_second(1000).unwrap();
        let until = |news: &[Finished]| {
            BackOff::default().after(news, now).until().map(Timestamp::as_second)
        };
        assert_eq!(until(&[]), None);
        assert_eq!(until(&[ended(5, true)]), None);
        assert_eq!(until(&[ended(5, false)]), Some(15));
        assert_eq!(until(&[ended(9, false), ended(5, false)]), Some(29));
        assert_eq!(until(&[ended(9, false), ended(5, false), ended(7, true)]), Some(19));
        assert_eq!(until(&[ended(5, false), ended(9, true)]), None);
        let many: Vec<_> = (0..50).map(|second| ended(second, false)).collect();
        assert_eq!(until(&many), Some(49 + 600));
    }
}
