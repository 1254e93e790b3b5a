//! How long a Lease lasts, for whatever of which only one may write.

use std::time::Duration;

use fairway_election::Timing;

use super::duration::duration;

/// What to do about times that do not fit together.
pub(crate) const ADVICE: &str = "--lease-duration has to be longer than --lease-renew-deadline, \
     and that at least twice --lease-retry-period";

#[expect(clippy::struct_field_names, reason = "each is named as its flag")]
#[derive(clap::Args)]
pub(crate) struct LeaseArgs {
    /// How long others wait for a leader that gives no sign
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_LEASE_DURATION", default_value = seconds(Timing::default().lease), value_parser = duration)]
    lease_duration: Duration,

    /// How long a leader goes on that cannot renew its Lease
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_LEASE_RENEW_DEADLINE", default_value = seconds(Timing::default().renew), value_parser = duration)]
    lease_renew_deadline: Duration,

    /// The time between two requests about the Lease
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_LEASE_RETRY_PERIOD", default_value = seconds(Timing::default().retry), value_parser = duration)]
    lease_retry_period: Duration,
}

impl LeaseArgs {
    pub(crate) fn timing(&self) -> Timing {
        Timing {
            lease: self.lease_duration,
            renew: self.lease_renew_deadline,
            retry: self.lease_retry_period,
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs())
}
