//! `fairway reference`: the generated pages of the documentation.

use crate::args::PagesArgs;
use crate::exit::ExitStatus;
use crate::printer::Printer;
use crate::schema::Shape;
use crate::{output, reference};

pub(crate) fn run(args: &PagesArgs, printer: &Printer) -> anyhow::Result<ExitStatus> {
    output::directory(&args.dir)?;
    for (name, page) in [
        ("command-line.md", reference::command_line()),
        ("reasons.md", fairway_api::reason::reference_page()),
    ] {
        let path = args.dir.join(name);
        output::file(&path, page)?;
        printer.note(format_args!("wrote {}", path.display()));
    }
    let schemas = args.dir.join("schemas");
    output::directory(&schemas)?;
    for Shape { kind, schema } in super::shapes() {
        let path = schemas.join(format!("{kind}.json"));
        output::file(&path, format!("{schema:#}\n"))?;
        printer.note(format_args!("wrote {}", path.display()));
    }
    Ok(ExitStatus::Success)
}
