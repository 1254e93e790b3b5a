//! Arguments of leader election.

use std::time::Duration;

use fairway_election::Timing;

use super::duration::duration;

/// Hint for inconsistent durations.
pub(crate) const ADVICE: &str = "--lease-duration must be longer than --lease-renew-deadline, \
     which must be at least twice --lease-retry-period";

#[expect(clippy::struct_field_names, reason = "each field is named after its flag")]
#[derive(clap::Args)]
pub(crate) struct LeaseArgs {
    /// Lease duration: candidates wait this long for an unresponsive leader
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_LEASE_DURATION", default_value = seconds(Timing::default().lease), value_parser = duration)]
    lease_duration: Duration,

    /// Time after which a leader that cannot renew its Lease steps down
    #[arg(long, value_name = "DURATION", env = "FAIRWAY_LEASE_RENEW_DEADLINE", default_value = seconds(Timing::default().renew), value_parser = duration)]
    lease_renew_deadline: Duration,

    /// Interval between requests for the Lease
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
