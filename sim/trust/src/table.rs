//! Tables in plain text.

/// Columns separated by two spaces; those of numbers to the right.
pub fn render(head: &[&str], rows: &[Vec<String>]) -> String {
    let columns = 0..head.len();
    let cells = |column: usize| rows.iter().map(move |row| row[column].as_str());
    let numeric =
        |column: usize| cells(column).all(|cell| cell.starts_with(|c: char| c.is_ascii_digit() || c == '-'));
    let width = |column: usize| cells(column).chain([head[column]]).map(str::len).max().unwrap_or(0);
    let shape: Vec<_> = columns.map(|column| (width(column), numeric(column))).collect();
    let line =
        |row: &mut dyn Iterator<Item = &str>| {
            let cells = row.zip(&shape).map(|(cell, (width, right))| {
                if *right { format!("{cell:>width$}") } else { format!("{cell:width$}") }
            });
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
    let mut text = line(&mut head.iter().copied());
    for row in rows {
        text += &line(&mut row.iter().map(String::as_str));
    }
    text
}
