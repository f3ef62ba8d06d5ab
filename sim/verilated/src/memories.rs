//! Which variables Verilator made public, read from the generated symbol table.
//!
//! Verilator has a table of them at run time, too, but not a reliable one: some
//! versions leave out arrays of several dimensions, others forget widths. The
//! code that fills the table has it all.

use std::collections::HashMap;

/// A variable that the shim can reach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Variable {
    /// Path from the top module.
    pub path: String,
    /// Name without the path.
    pub name: String,
    /// C++ expression relative to the symbol table's class.
    pub place: String,
    /// Bits in all rows together; how many rows there are, the C++ type knows.
    pub bits: u64,
}

/// Reads the generated `Vmodel__Syms*.cpp`.
pub(crate) fn parse_symbols(text: &str) -> Vec<Variable> {
    let scopes: HashMap<&str, String> = text.lines().filter_map(parse_scope).collect();
    let mut found: Vec<_> = text.lines().filter_map(|line| parse_insert(line, &scopes)).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup();
    found
}

/// `__Vscope_X.configure(this, name(), "top.x", ...` or
/// `__Vscopep_X = new VerilatedScope{this, "top.x", ...`.
fn parse_scope(line: &str) -> Option<(&str, String)> {
    let line = line.trim();
    if !line.starts_with("__Vscope")
        || !(line.contains(".configure(") || line.contains(" new VerilatedScope{"))
    {
        return None;
    }
    let end = line.find(['.', ' '])?;
    Some((&line[..end], first_string(line)?.0))
}

/// `SCOPE.varInsert(__Vfinal,"mem", &(TOP.place), false, VLVT_UINT8,FLAGS,2 ,7,0 ,0,7);` or
/// `SCOPE->varInsert("mem", &(TOP.place), false, VLVT_UINT8, FLAGS, 1, 1 ,0,7 ,7,0);`
fn parse_insert(line: &str, scopes: &HashMap<&str, String>) -> Option<Variable> {
    // Marked so when Verilator's own table cannot hold it.
    let line = line.trim().trim_start_matches("//UNSUP").trim_start();
    let (scope, call) = line.split_once(".varInsert(").or_else(|| line.split_once("->varInsert("))?;
    let (name, rest) = first_string(call)?;
    let (place, rest) = rest.trim_start_matches([',', ' ']).strip_prefix("&(")?.split_once(')')?;
    let mut fields = rest.trim_end_matches([')', ';']).split(',').map(str::trim).skip(2);
    let is_number =
        matches!(fields.next()?, "VLVT_UINT8" | "VLVT_UINT16" | "VLVT_UINT32" | "VLVT_UINT64" | "VLVT_WDATA");
    let numbers: Vec<i64> = fields.skip(1).map(|f| f.parse().ok()).collect::<Option<_>>()?;
    // One count of dimensions before the ranges, or two: unpacked and packed.
    let ranges = &numbers[if numbers.len() % 2 == 1 { 1 } else { 2.min(numbers.len()) }..];
    let bits = ranges.chunks(2).map(|r| r[0].abs_diff(r[1]) + 1).product();
    let path = format!("{}.{name}", scopes.get(scope)?);
    is_number.then(|| Variable { path, name, place: place.to_owned(), bits })
}

/// The first string literal, and what follows it.
fn first_string(text: &str) -> Option<(String, &str)> {
    let (_, body) = text.split_once('"')?;
    let mut value = String::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &body[at + 1..])),
            '\\' => value.push(chars.next()?.1),
            _ => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(path: &str, place: &str, bits: u64) -> Variable {
        let name = path.rsplit('.').next().unwrap().to_owned();
        Variable { path: path.to_owned(), name, place: place.to_owned(), bits }
    }

    #[test]
    fn symbols_of_5_006() {
        let text = r#"
    __Vscope_pk__g__BRA__0__KET__.configure(this, name(), "pk.g[0]", "g[0]", -12, VerilatedScope::SCOPE_OTHER);
    __Vscope_pk.configure(this, name(), "pk", "pk", -12, VerilatedScope::SCOPE_OTHER);
        __Vscope_pk__g__BRA__0__KET__.varInsert(__Vfinal,"mem", &(TOP.pk__DOT__mem), false, VLVT_UINT8,VLVD_NODIR|VLVF_PUB_RD,2 ,7,0 ,0,3);
        //UNSUP __Vscope_pk.varInsert(__Vfinal,"big", &(TOP__pk.big), false, VLVT_WDATA,VLVD_NODIR|VLVF_PUB_RD,4 ,99,0 ,0,1 ,0,2 ,1,0);
        __Vscope_pk.varInsert(__Vfinal,"clk", &(TOP.clk), false, VLVT_UINT8,VLVD_IN|VLVF_PUB_RD,0);
        __Vscope_pk.varInsert(__Vfinal,"P", const_cast<void*>(static_cast<const void*>(&(TOP.P))), true, VLVT_UINT32,VLVD_NODIR|VLVF_PUB_RD,1 ,31,0);
"#;
        assert_eq!(
            parse_symbols(text),
            [
                variable("pk.big", "TOP__pk.big", 1200),
                variable("pk.clk", "TOP.clk", 1),
                variable("pk.g[0].mem", "TOP.pk__DOT__mem", 32)
            ]
        );
    }

    #[test]
    fn symbols_of_5_048() {
        let text = r#"
    __Vscopep_top__wide = new VerilatedScope{this, "top.wide", "wide", "<null>", 0, VerilatedScope::SCOPE_OTHER};
    __Vscopep_top__wide->varInsert("mem", &(TOP.top__DOT__wide__DOT__mem), false, VLVT_WDATA, VLVD_NODIR|VLVF_PUB_RD, 1, 1 ,0,7 ,99,0);
    __Vscopep_top__wide->varInsert("one", &(TOP.one), false, VLVT_UINT8, VLVD_NODIR|VLVF_PUB_RD, 1, 0 ,0,3);
    __Vscopep_top__wide->varInsert("r", &(TOP.r), false, VLVT_REAL, VLVD_NODIR|VLVF_PUB_RD, 0, 0);
"#;
        assert_eq!(
            parse_symbols(text),
            [
                variable("top.wide.mem", "TOP.top__DOT__wide__DOT__mem", 800),
                variable("top.wide.one", "TOP.one", 4)
            ]
        );
    }
}
