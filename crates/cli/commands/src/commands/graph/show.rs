//! `fairway graph show`: the graph as text, as an image, or as data.

use std::io::Write;

use fairway_graph::render;

use super::build;
use super::view::View;
use crate::args::graph::{ShowArgs, ShowFormat};
use crate::exit::ExitStatus;
use crate::printer::Printer;

pub(crate) fn run(args: &ShowArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    let view = View::read(&args.view, printer)?;
    let drawn = match args.output {
        ShowFormat::Text => render::text(&view.graph, &view.title()),
        ShowFormat::Dot => render::dot(&view.graph, &view.title()),
        ShowFormat::Svg => render::svg(&view.graph, &view.title()),
        ShowFormat::Json => {
            build::json(&view.graph, printer)?;
            return Ok(ExitStatus::Success);
        }
    };
    printer.stdout().write_all(drawn.as_bytes())?;
    Ok(ExitStatus::Success)
}
