//! Cost of building all responses from the files of a platform and of linting them, and of the
//! single steps, as ratios to parsing the same bytes without interpretation.
#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use fairway_fixtures::measure::{Bench, Figure, Table};
use fairway_fixtures::platform::Platform;
use fairway_graph::build::build;
use fairway_graph::cincinnati::GraphSerializer;
use fairway_graph::lint::lint;
use fairway_graph::{Files, Graph, GraphData, releases};
use fairway_testbed::bench_job::{self, Job};
use serde_json::Value;

const RESPONSES: Job = Job { name: "answers", work: all_responses };
const LINT: Job = Job { name: "lint", work: lint_all };

/// Measurement of Cincinnati with the same data on one core: assembling and parsing, after
/// everything was fetched.
const EXISTING: Figure = Figure::Time(Duration::from_secs(16));
const EXISTING_MEMORY: Figure = Figure::Bytes(303 << 20);

fn main() -> Result<()> {
    if bench_job::do_own(&[RESPONSES, LINT])? {
        return Ok(());
    }
    let platform = Platform::find()?;
    println!("\nThe update graph of a platform, on one core, with {}", platform.origin());
    whole(&platform)?;
    println!();
    steps(&platform)
}

/// From files to responses, in a separate process.
fn whole(platform: &Platform) -> Result<()> {
    let table = Table::new("fairway", "existing one");
    let cost = RESPONSES.cost(platform)?;
    let existing = platform.known(EXISTING);
    table.row("from files to every answer", Figure::Time(cost.processor), existing);
    let existing = platform.known(EXISTING_MEMORY);
    table.row("    most memory", Figure::Bytes(cost.peak_bytes), existing);
    let cost = LINT.cost(platform)?;
    table.row("lint", Figure::Time(cost.processor), None);
    table.row("    most memory", Figure::Bytes(cost.peak_bytes), None);
    Ok(())
}

fn all_responses(platform: &Platform) -> Result<()> {
    let releases = releases::read("list", &std::fs::read(platform.releases())?)?.0;
    let data = GraphData::read(&fairway_graph_files::read(&platform.graph_data())?)?;
    black_box(responses(&build(releases::declare(releases).0, &data).0));
    Ok(())
}

fn lint_all(platform: &Platform) -> Result<()> {
    black_box(lint(&fairway_graph_files::read(&platform.graph_data())?, None).worst());
    Ok(())
}

fn steps(platform: &Platform) -> Result<()> {
    let bench = Bench::from_arguments();
    let files = fairway_graph_files::read(&platform.graph_data())?;
    let list = std::fs::read(platform.releases())?;
    let any_json = || serde_json::from_slice::<Value>(&list);
    let any_yaml = || any_yaml(&files);

    bench.compare("read releases (baseline: any JSON)", || releases::read("list", &list), any_json);
    bench.compare("read graph-data (baseline: any YAML)", || GraphData::read(&files), any_yaml);
    let graph_data = GraphData::read(&files)?;
    let releases = releases::read("list", &list)?.0;
    let built = || build(releases::declare(releases.clone()).0, &graph_data).0;
    bench.compare("build the graph (baseline: any JSON)", built, any_json);
    let graph = built();
    bench.compare("write every answer (baseline: any JSON)", || responses(&graph), any_json);
    bench.compare("lint (baseline: any YAML)", || lint(&files, None), any_yaml);
    Ok(())
}

fn any_yaml(files: &Files) -> usize {
    let texts = files.iter().filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok());
    texts.filter_map(|text| serde_saphyr::from_str::<Value>(text).ok()).count()
}

/// All graph responses.
fn responses(graph: &Graph) -> Vec<Vec<u8>> {
    let mut responses = Vec::new();
    for architecture in graph.architectures() {
        let view = GraphSerializer::architecture(graph, architecture);
        responses.extend(view.channels().map(|channel| view.channel_json(channel)));
    }
    responses
}
