//! Tables in plain text.

/// Columns separated by two spaces, numbers to the right.
pub fn render(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let numeric = |column: usize| {
        rows.iter().all(|row| row[column].starts_with(|c: char| c.is_ascii_digit() || c == '-'))
    };
    let right: Vec<_> = (0..head.len()).map(|column| !rows.is_empty() && numeric(column)).collect();
    let mut text = String::new();
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut line = String::new();
        for (column, cell) in cells.enumerate() {
            let pad = " ".repeat(widths[column] - cell.chars().count());
            let cells = if right[column] { [&pad, cell, "  "] } else { [cell, &pad, "  "] };
            line.extend(cells);
        }
        text += line.trim_end();
        text.push('\n');
    };
    line(&mut head.iter().copied());
    for row in rows {
        line(&mut row.iter().map(String::as_str));
    }
    text
}
