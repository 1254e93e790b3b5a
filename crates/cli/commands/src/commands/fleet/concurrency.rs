//! Concurrent work on several clusters, with progress.

use std::time::Duration;

use fairway_insight::fleet::ClusterError;
use futures::StreamExt as _;
use futures::stream;
use tokio::time::interval;

use crate::errors;
use crate::printer::Printer;

/// Delay of the first progress note.
const PROGRESS_DELAY: Duration = Duration::from_secs(2);

/// Runs work for each item with limited concurrency. The results have the order of the items, and an error
/// of one does not stop the others.
pub(super) async fn each<'a, T, R, F>(
    all: &'a [T],
    parallel: u8,
    printer: &Printer,
    work: impl Fn(&'a T) -> F,
) -> Vec<Result<R, ClusterError>>
where
    F: Future<Output = anyhow::Result<R>>,
{
    let numbered = all.iter().enumerate().map(|(number, one)| {
        let done = work(one);
        async move { (number, done.await.map_err(|error| cluster_error(&error))) }
    });
    let mut at_work = stream::iter(numbered).buffer_unordered(usize::from(parallel));
    let (mut done, mut told, mut ticks) =
        (Vec::with_capacity(all.len()), 0, interval(PROGRESS_DELAY));
    loop {
        tokio::select! {
            next = at_work.next() => match next {
                Some(one) => done.push(one),
                None => break,
            },
            _ = ticks.tick() => if done.len() > told {
                told = done.len();
                printer.note(format_args!("{told} of {} clusters done…", all.len()));
            },
        }
    }
    done.sort_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The error and the hint of a cluster.
fn cluster_error(error: &anyhow::Error) -> ClusterError {
    let hint = errors::hint(error).map(str::to_owned);
    ClusterError { message: errors::chain(error).join(": "), hint }
}

#[cfg(test)]
mod tests {
    use anyhow::bail;
    use tokio::sync::Semaphore;

    use super::*;
    use crate::settings::Verbosity;
    use crate::text::Invocation;

    /// The first item ends last, one fails, and the limit is not exceeded.
    #[tokio::test]
    async fn each_keeps_order_and_continues_after_errors() {
        let printer =
            Printer::new(anstream::ColorChoice::Never, Verbosity::Quiet, Invocation::Fairway);
        let (free, last) = (Semaphore::new(2), Semaphore::new(0));
        let work = |number: &'static u8| {
            let (free, last) = (&free, &last);
            async move {
                let _turn = free.try_acquire()?;
                match number {
                    1 => drop(last.acquire().await?),
                    2 => bail!("the second fails"),
                    4 => last.add_permits(1),
                    _ => tokio::task::yield_now().await,
                }
                Ok(*number)
            }
        };
        let results = each(&[1, 2, 3, 4], 2, &printer, work).await;
        let failed = ClusterError { message: "the second fails".to_owned(), hint: None };
        assert_eq!(results, [Ok(1), Err(failed), Ok(3), Ok(4)]);
    }
}
