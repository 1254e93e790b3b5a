//! What building the graph of a whole platform costs, as a ratio to parsing the same bytes
//! without looking at what they mean.

use std::path::PathBuf;

use fairway_graph::build::build;
use fairway_graph::wire::View;
use fairway_graph::{Files, Graph, GraphData, directory, releases};
use fairway_testkit::measure::Bench;
use serde_json::Value;

fn main() -> anyhow::Result<()> {
    let bench = Bench::from_arguments();
    let Some(data) = std::env::var_os("FAIRWAY_DATA").map(PathBuf::from) else { return Ok(()) };
    let files = directory::read(&data.join("graph-data-2026-08"))?;
    let list = std::fs::read(data.join("releases-2026-08.json"))?;
    let any_json = || serde_json::from_slice::<Value>(&list);
    let any_yaml = || any_yaml(&files);

    bench.compare("read releases (baseline: any JSON)", || releases::read("list", &list), any_json);
    bench.compare("read graph-data (baseline: any YAML)", || GraphData::read(&files), any_yaml);
    let graph_data = GraphData::read(&files)?;
    let releases = releases::read("list", &list)?.0;
    let built = || build(releases::declare(releases.clone()).0, &graph_data).0;
    bench.compare("build the graph (baseline: any JSON)", built, any_json);
    let graph = built();
    bench.compare("write every answer (baseline: any JSON)", || answers(&graph), any_json);
    let from_files = || -> anyhow::Result<usize> {
        let releases = releases::read("list", &list)?.0;
        let data = GraphData::read(&files)?;
        Ok(answers(&build(releases::declare(releases).0, &data).0).iter().map(Vec::len).sum())
    };
    bench.compare("from files to answers (baseline: any of both)", from_files, || {
        (any_json(), any_yaml())
    });
    Ok(())
}

fn any_yaml(files: &Files) -> usize {
    let texts = files.iter().filter_map(|(_, bytes)| std::str::from_utf8(bytes).ok());
    texts.filter_map(|text| serde_saphyr::from_str::<Value>(text).ok()).count()
}

/// Every answer that clients may ask for.
fn answers(graph: &Graph) -> Vec<Vec<u8>> {
    let mut answers = Vec::new();
    for architecture in graph.architectures() {
        let view = View::architecture(graph, architecture);
        answers.extend(view.channels().map(|channel| view.channel_json(channel)));
    }
    answers
}
