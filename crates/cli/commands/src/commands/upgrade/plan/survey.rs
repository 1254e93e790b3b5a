//! What an update service tells of one channel after the other.

use std::collections::BTreeSet;

use fairway_graph::Graph;
use tokio::time::{Instant, timeout_at};

/// Channels that an update service is asked for: every minor version of ten years.
const MOST_CHANNELS: usize = 40;

/// Releases of all channels together: as many as forty of the largest channels have.
const MOST_RELEASES: usize = 100_000;

/// What a service has told of channels.
#[derive(Debug)]
pub(super) struct Survey {
    /// Its address.
    pub(super) address: String,
    /// The channels that it has told of.
    pub(super) channels: BTreeSet<String>,
    /// The updates of all of them.
    pub(super) graph: Graph,
    /// The channels that it has not told of, and why.
    pub(super) untold: Option<(BTreeSet<String>, String)>,
}

impl Survey {
    /// Asks for channels, and for those that `more` finds in what was told of them, all of them
    /// until then; `late` is said of others. What is told stays, whatever else is not; an error is
    /// why nothing is.
    pub(super) async fn of(
        mut wanted: BTreeSet<String>,
        end: Instant,
        late: &str,
        ask: impl AsyncFn(&str) -> Result<(String, Graph), String>,
        more: impl Fn(&Graph, &BTreeSet<String>) -> BTreeSet<String>,
    ) -> Result<Self, String> {
        let (mut address, mut graphs) = (String::new(), Vec::new());
        let (mut asked, mut untold) = (BTreeSet::new(), BTreeSet::new());
        let (mut releases, mut why) = (0, None);
        while let Some(channel) = wanted.pop_first() {
            let told = if asked.len() >= MOST_CHANNELS || releases > MOST_RELEASES {
                Err("too many channels or releases".to_owned())
            } else {
                let answer = timeout_at(end, ask(&channel)).await;
                answer.unwrap_or_else(|_| Err(late.to_owned()))
            };
            asked.insert(channel.clone());
            match told {
                Ok((service, graph)) => {
                    address = service;
                    wanted.extend(more(&graph, &asked));
                    releases += graph.nodes().len();
                    graphs.push(graph);
                }
                Err(error) => {
                    untold.insert(channel);
                    why.get_or_insert(error);
                }
            }
        }
        if graphs.is_empty() {
            let nowhere = || "the cluster has no channel; set one with --channel".to_owned();
            return Err(why.unwrap_or_else(nowhere));
        }
        let channels = asked.difference(&untold).cloned().collect();
        let untold = why.map(|why| (untold, why));
        Ok(Self { address, channels, graph: Graph::union(graphs), untold })
    }
}

#[cfg(test)]
mod tests {
    use fairway_api::Version;
    use fairway_graph::Node;

    use super::*;

    /// A service whose channel 5.x has the release 5.x.0, and leads to 5.(x+1) up to `last`. It is
    /// silent about one of them, and refuses another.
    async fn survey(
        first: &[&str],
        last: u64,
        silent: &str,
        refused: &str,
    ) -> Result<Survey, String> {
        let minor = |channel: &str| channel["stable-5.".len()..].parse::<u64>().unwrap();
        let ask = async |channel: &str| match channel {
            _ if channel == silent => std::future::pending().await,
            _ if channel == refused => Err("it answers 404".to_owned()),
            _ => {
                let here = Node::named(Version::new(5, minor(channel), 0));
                Ok(("https://updates.example".to_owned(), Graph::around(&here, [])))
            }
        };
        let more = |graph: &Graph, asked: &BTreeSet<String>| {
            let next = graph.nodes()[0].version.minor() + 1;
            let next = (next <= last).then(|| format!("stable-5.{next}"));
            next.into_iter().filter(|next| !asked.contains(next)).collect()
        };
        let first = first.iter().map(|channel| (*channel).to_owned()).collect();
        Survey::of(first, Instant::now(), "too late", ask, more).await
    }

    #[tokio::test]
    async fn what_is_told_stays_whatever_else_is_not() {
        let told = async |first: &[&str], silent: &str, refused: &str| {
            let survey = survey(first, 3, silent, refused).await?;
            assert_eq!(survey.graph.nodes().len(), survey.channels.len());
            let channels: Vec<String> = survey.channels.into_iter().collect();
            Ok::<_, String>((channels.join(" "), survey.untold.map(|(_, why)| why)))
        };
        let all = "stable-5.1 stable-5.2 stable-5.3".to_owned();
        assert_eq!(told(&["stable-5.1"], "", "").await, Ok((all, None)));
        let late = Some("too late".to_owned());
        assert_eq!(told(&["stable-5.1"], "stable-5.2", "").await, Ok(("stable-5.1".into(), late)));
        let refused = Some("it answers 404".to_owned());
        let others = ["stable-5.1", "stable-5.3"];
        assert_eq!(told(&others, "", "stable-5.1").await, Ok(("stable-5.3".into(), refused)));
        assert_eq!(told(&["stable-5.1"], "stable-5.1", "").await, Err("too late".into()));
        let nobody = "the cluster has no channel; set one with --channel";
        assert_eq!(told(&[], "", "").await, Err(nobody.into()));
    }

    #[tokio::test]
    async fn channels_without_end_come_to_one() {
        let survey = survey(&["stable-5.1"], u64::MAX, "", "").await.unwrap();
        assert_eq!(survey.channels.len(), MOST_CHANNELS);
        let (untold, why) = survey.untold.unwrap();
        assert_eq!((untold.len(), why.as_str()), (1, "too many channels or releases"));
    }
}
