//! HTML: text, tables and figures of a page.

use std::fmt::Write as _;

pub use crate::plot::escape;

/// A cell of a table.
pub struct Cell {
    text: String,
    /// By which it is sorted; the text if there is none.
    value: Option<f64>,
    /// The share of the cell that is filled.
    bar: Option<f64>,
    class: &'static str,
}

impl Cell {
    pub fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), value: None, bar: None, class: "" }
    }

    /// A number in its own words.
    pub fn number(value: f64, text: impl Into<String>) -> Self {
        Self { text: text.into(), value: Some(value), bar: None, class: "n" }
    }

    /// A whole number, thousands apart.
    pub fn count(n: u64) -> Self {
        Self::number(n as f64, grouped(n))
    }

    /// A share, drawn too.
    pub fn share(share: f64) -> Self {
        Self { bar: Some(share.clamp(0.0, 1.0)), ..Self::number(share, format!("{:.1} %", 100.0 * share)) }
    }

    /// Nothing is known.
    pub fn none() -> Self {
        Self { class: "n", ..Self::text("\u{2013}") }
    }

    /// A value, or that there is none.
    pub fn or_none<T>(value: Option<T>, cell: impl Fn(T) -> Self) -> Self {
        value.map_or_else(Self::none, cell)
    }

    /// With a class of the style sheet.
    pub fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}

/// A number, thousands apart.
pub fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A table whose head sorts it. Columns of numbers are to the right, as their cells are.
pub fn table(caption: &str, head: &[&str], rows: &[Vec<Cell>]) -> String {
    let mut html = format!(
        "<div class=\"scroll\"><table class=\"sorts\">\n<caption>{}</caption>\n<thead><tr>",
        escape(caption)
    );
    for (column, name) in head.iter().enumerate() {
        let numbers = rows.iter().any(|row| row[column].value.is_some());
        let class = if numbers { " class=\"n\"" } else { "" };
        let _ =
            write!(html, "<th scope=\"col\"{class}><button type=\"button\">{}</button></th>", escape(name));
    }
    html += "</tr></thead>\n<tbody>\n";
    for row in rows {
        html += "<tr>";
        for cell in row {
            html += "<td";
            if !cell.class.is_empty() {
                let _ = write!(html, " class=\"{}\"", cell.class);
            }
            if let Some(value) = cell.value {
                let _ = write!(html, " data-v=\"{value}\"");
            }
            let text = escape(&cell.text);
            match cell.bar {
                Some(share) => {
                    let _ = write!(
                        html,
                        "><span class=\"bar\"><i style=\"width:{:.1}%\"></i></span>{text}</td>",
                        100.0 * share
                    );
                }
                None => {
                    let _ = write!(html, ">{text}</td>");
                }
            }
        }
        html += "</tr>\n";
    }
    html + "</tbody>\n</table></div>\n"
}

/// An image with what it shows.
pub fn figure(svg: &str, caption: &str) -> String {
    format!(
        "<figure><div class=\"scroll\">{svg}</div><figcaption>{}</figcaption></figure>\n",
        escape(caption)
    )
}

/// A paragraph.
pub fn paragraph(text: &str) -> String {
    format!("<p>{}</p>\n", escape(text))
}

/// A heading below that of a section.
pub fn heading(text: &str) -> String {
    format!("<h3>{}</h3>\n", escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_carry_their_value_and_are_escaped() {
        let rows = [
            vec![Cell::text("a<b"), Cell::count(1_234_567), Cell::share(0.5)],
            vec![Cell::text("c"), Cell::none(), Cell::none()],
        ];
        let html = table("x & y", &["name", "n", "share"], &rows);
        assert!(html.contains("<caption>x &amp; y</caption>") && html.contains("<td>a&lt;b</td>"));
        assert!(html.contains("<td class=\"n\" data-v=\"1234567\">1,234,567</td>"));
        assert!(html.contains("data-v=\"0.5\"><span class=\"bar\"><i style=\"width:50.0%\">"));
        assert_eq!(html.matches("<th scope=\"col\" class=\"n\">").count(), 2);
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!([0, 999, 1000, 123_456].map(grouped), ["0", "999", "1,000", "123,456"]);
    }
}
