//! Text tables.

use std::fmt;

/// Blanks between columns.
const GAP: usize = 2;

/// Rows of cells. A column is as wide as its widest cell; the last one is not padded.
pub(crate) struct Table(pub(crate) Vec<Vec<String>>);

impl Table {
    /// The width of the table.
    pub(crate) fn width(&self) -> usize {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or_default();
        let widths: usize = (0..columns).map(|column| self.column(column)).sum();
        widths.saturating_sub(GAP)
    }

    /// The width of a column, including the gap.
    fn column(&self, column: usize) -> usize {
        let cells = self.0.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or_default() + GAP
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, row) in self.0.iter().enumerate() {
            f.write_str(if number == 0 { "" } else { "\n" })?;
            let Some((last, padded)) = row.split_last() else { continue };
            for (column, cell) in padded.iter().enumerate() {
                write!(f, "{cell:0$}", self.column(column))?;
            }
            f.write_str(last)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn width_is_the_sum_of_the_widest_cells() {
        let rows = [["NAME", "AT"], ["é", "5.1.0"], ["etcd-1", ""]];
        let table = Table(rows.map(|row| row.map(str::to_owned).to_vec()).to_vec());
        assert_eq!(table.to_string(), "NAME    AT\né       5.1.0\netcd-1  ");
        assert_eq!(table.width(), "etcd-1  5.1.0".len());
        assert_eq!(Table(Vec::new()).width(), 0);
    }
}
