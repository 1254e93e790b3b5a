//! `fairway crds`: the CustomResourceDefinitions of the update API.

use std::io::Write;
use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::json;

use crate::args::{CrdsArgs, OutputFormat};
use crate::exit::ExitStatus;
use crate::output;
use crate::printer::Printer;

pub(crate) fn run(args: CrdsArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let crds = fairway_api::crds::all();
    match (args.dir, args.output) {
        (Some(dir), _) => write_files(&dir, &crds, printer)?,
        (None, OutputFormat::Json) => {
            // One document: kubectl accepts a list like several documents.
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": crds });
            output::json(printer.stdout(), &list)?;
        }
        (None, OutputFormat::Yaml) => {
            let mut stdout = printer.stdout();
            for crd in &crds {
                write!(stdout, "---\n{}", output::yaml(crd)?)?;
            }
        }
    }
    Ok(ExitStatus::Success)
}

fn write_files(
    dir: &Path,
    crds: &[CustomResourceDefinition],
    printer: &Printer,
) -> anyhow::Result<()> {
    output::directory(dir)?;
    for crd in crds {
        let path = dir.join(format!("{}.yaml", crd.spec.names.plural));
        output::file(&path, output::yaml(crd)?)?;
        printer.note(format_args!("wrote {}", path.display()));
    }
    Ok(())
}
