//! A task graph as text, DOT and SVG. The SVG has a column for each step and a box for each component.

use std::fmt::{self, Write as _};

use super::{ComponentTasks, RolloutStep, Task, TaskGraph, TaskNode};

const COLUMN_GAP: usize = 28;
const ROW: usize = 34;
const BOX_HEIGHT: usize = 26;
const LEFT: usize = 20;
const TOP: usize = 90;
const BOTTOM: usize = 20;

/// Approximate width of a character.
const CHARACTER_WIDTH: usize = 7;

/// Characters of a label. Longer labels are truncated, and complete in the tooltip.
const MAX_LABEL: usize = 40;

/// Minimum width of a column: its heading fits.
const MIN_COLUMN: usize = 90;

/// Minimum width of the picture: the title fits.
const MIN_WIDTH: usize = 640;

impl fmt::Display for TaskGraph {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, node) in self.nodes.iter().enumerate() {
            write!(f, "{index}: {}", summary(node).join(", "))?;
            if !node.after.is_empty() {
                let after: Vec<String> = node.after.iter().map(usize::to_string).collect();
                write!(f, "; after {}", after.join(", "))?;
            }
            writeln!(f)?;
            if f.alternate() {
                for task in &node.tasks {
                    writeln!(f, "   {task} in {}", task.file)?;
                }
            }
        }
        Ok(())
    }
}

impl TaskGraph {
    /// The graph in the DOT language of Graphviz.
    pub fn dot(&self) -> String {
        let mut out = "digraph tasks {\n  node [shape=box fontname=\"sans-serif\"];\n".to_owned();
        // Writing to memory cannot fail.
        for (index, node) in self.nodes.iter().enumerate() {
            let border = if node.tasks.iter().any(|task| task.is_barrier) { 2 } else { 1 };
            let _ = if node.tasks.is_empty() {
                writeln!(out, "  {index} [shape=point];")
            } else {
                let label = summary(node).iter().map(|line| escape_dot(line)).collect::<Vec<_>>();
                let label = label.join("\\n");
                writeln!(out, "  {index} [label=\"{label}\" peripheries={border}];")
            };
        }
        for (index, node) in self.nodes.iter().enumerate() {
            for next in &node.before {
                let _ = writeln!(out, "  {index} -> {next};");
            }
        }
        out.push_str("}\n");
        out
    }
}

impl fmt::Display for ComponentTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { level, component, manifests, is_barrier } = self;
        if let Some(level) = level {
            write!(f, "{level} ")?;
        }
        write!(f, "{component}: {}", count(*manifests))?;
        if *is_barrier { f.write_str(", Job") } else { Ok(()) }
    }
}

impl TaskGraph {
    /// The steps of the graph as lines of text.
    pub fn text(&self) -> String {
        let mut out = String::new();
        // Writing to a string cannot fail.
        for (number, step) in (1..).zip(self.steps()) {
            let _ = writeln!(out, "step {number}");
            for component in &step.components {
                let _ = writeln!(out, "  {component}");
            }
        }
        out
    }
}

fn count(manifests: usize) -> String {
    match manifests {
        0 => "nothing".to_owned(),
        1 => "1 manifest".to_owned(),
        count => format!("{count} manifests"),
    }
}

/// Levels and components of a node, and its number of manifests.
fn summary(node: &TaskNode) -> Vec<String> {
    let label =
        |task: &Task| task.file_name().map_or_else(|| task.file.clone(), |name| name.to_string());
    let mut lines: Vec<String> = node.tasks.iter().map(label).collect();
    lines.dedup();
    lines.push(count(node.tasks.len()));
    lines
}

fn escape_dot(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

impl TaskGraph {
    /// Draws the steps of the graph as SVG.
    pub fn svg(&self, title: &str) -> String {
        let steps = self.steps();
        let widths: Vec<usize> = steps.iter().map(width).collect();
        let width = LEFT + widths.iter().map(|width| width + COLUMN_GAP).sum::<usize>();
        let width = width.max(MIN_WIDTH);
        let rows = steps.iter().map(|step| step.components.len()).max().unwrap_or_default();
        let height = TOP + rows * ROW + BOTTOM;
        let mut drawing = Drawing(String::new());
        drawing.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">"
        ));
        drawing.add(format_args!("<rect width=\"{width}\" height=\"{height}\" fill=\"white\"/>"));
        drawing.add(format_args!(
            "<text x=\"{LEFT}\" y=\"32\" font-size=\"20\">{}</text>",
            escape_xml(title)
        ));
        drawing.add(format_args!(
            "<text x=\"{LEFT}\" y=\"54\" fill=\"#555\">The operator applies steps from left to \
             right, and the components of a step in parallel.</text>"
        ));
        let mut x = LEFT;
        for (number, (step, width)) in (1..).zip(steps.iter().zip(&widths)) {
            drawing.step(number, step, x, *width);
            x += width + COLUMN_GAP;
        }
        drawing.add(format_args!("</svg>"));
        drawing.0
    }
}

struct Drawing(String);

impl Drawing {
    fn add(&mut self, element: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.0.write_fmt(element);
        self.0.push('\n');
    }

    fn step(&mut self, number: usize, step: &RolloutStep, x: usize, width: usize) {
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{}\" font-weight=\"bold\">step {number}</text>",
            TOP - 12
        ));
        if number > 1 {
            let (from, y) = (x - COLUMN_GAP + 6, TOP - 16);
            self.add(format_args!(
                "<path d=\"M{from} {y}h14m-5 -4l5 4l-5 4\" fill=\"none\" stroke=\"#555\"/>"
            ));
        }
        for (row, component) in step.components.iter().enumerate() {
            self.component(component, x, TOP + row * ROW, width);
        }
    }

    fn component(&mut self, component: &ComponentTasks, x: usize, y: usize, width: usize) {
        let stroke = if component.is_barrier { 3 } else { 1 };
        let label = component.to_string();
        let cut: String = label.chars().take(MAX_LABEL).collect();
        self.add(format_args!(
            "<g><title>{}</title><rect x=\"{x}\" y=\"{y}\" width=\"{width}\" \
             height=\"{BOX_HEIGHT}\" rx=\"4\" fill=\"#eef4fb\" stroke=\"#4a78a8\" \
             stroke-width=\"{stroke}\"/><text x=\"{}\" y=\"{}\">{}{}</text></g>",
            escape_xml(&label),
            x + 8,
            y + 17,
            escape_xml(&cut),
            if cut.len() < label.len() { "…" } else { "" }
        ));
    }
}

fn width(step: &RolloutStep) -> usize {
    let letters = step.components.iter().map(|component| component.to_string().chars().count());
    let letters = letters.max().unwrap_or_default().min(MAX_LABEL + 1);
    (letters * CHARACTER_WIDTH + 16).max(MIN_COLUMN)
}

/// Text for XML, without characters that it cannot have.
fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            character if character.is_control() => out.push('\u{fffd}'),
            character => out.push(character),
        }
    }
    out
}
