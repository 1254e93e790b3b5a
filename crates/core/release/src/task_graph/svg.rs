//! A task graph as SVG: a column for each step, a box for each component.

use std::fmt::{self, Write as _};

use super::{ComponentTasks, Step, TaskGraph};

const COLUMN_GAP: usize = 28;
const ROW: usize = 34;
const BOX_HEIGHT: usize = 26;
const LEFT: usize = 20;
const TOP: usize = 90;
const BOTTOM: usize = 20;

/// The width of a letter of the labels, about.
const LETTER: usize = 7;

/// Letters of a label; longer ones are cut, and complete where the pointer rests.
const MAX_LABEL: usize = 40;

/// The least width of a column: its heading fits.
const MIN_COLUMN: usize = 90;

/// The least width of the picture: the title fits.
const MIN_WIDTH: usize = 640;

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
            escaped(title)
        ));
        drawing.add(format_args!(
            "<text x=\"{LEFT}\" y=\"54\" fill=\"#555\">Steps are applied from left to right; \
             components of a step are applied in parallel.</text>"
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

    fn step(&mut self, number: usize, step: &Step, x: usize, width: usize) {
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
            escaped(&label),
            x + 8,
            y + 17,
            escaped(&cut),
            if cut.len() < label.len() { "…" } else { "" }
        ));
    }
}

fn width(step: &Step) -> usize {
    let letters = step.components.iter().map(|component| component.to_string().chars().count());
    let letters = letters.max().unwrap_or_default().min(MAX_LABEL + 1);
    (letters * LETTER + 16).max(MIN_COLUMN)
}

/// Text for XML, without characters that it cannot have.
fn escaped(text: &str) -> String {
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
