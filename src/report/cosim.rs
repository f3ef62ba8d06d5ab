//! Co-simulations and areas.

use super::{
    Area, Cosim,
    html::{Cell, paragraph, table},
};

/// A table of all runs.
pub fn runs(cosim: &Cosim) -> String {
    let rows: Vec<_> = cosim
        .results
        .iter()
        .map(|run| {
            let mismatches = Cell::count(run.mismatches);
            vec![
                Cell::text(&run.core),
                Cell::text(&run.preset).class("name"),
                Cell::count(run.cycles),
                Cell::or_none(run.requests, Cell::count),
                if run.mismatches == 0 { mismatches } else { mismatches.class("n bad") },
                Cell::or_none(run.port_utilization, Cell::share),
                Cell::or_none(run.port_utilization_saturated, Cell::share),
                Cell::or_none(run.cycles_per_second, |speed| Cell::count(speed as u64)),
                Cell::count(run.seed),
                Cell::text(run.parameters.to_string()).class("name fine"),
            ]
        })
        .collect();
    let (runs, bad) = (rows.len(), cosim.results.iter().filter(|run| run.mismatches > 0).count());
    let cycles: u64 = cosim.results.iter().map(|run| run.cycles).sum();
    let verdict = match bad {
        0 => "no output pin differed in any cycle, and no memory row at the end".to_owned(),
        bad => format!("{bad} of them stopped at a mismatch"),
    };
    paragraph(&format!(
        "Clocked model and Verilog in lock-step: {runs} runs, {:.1} million cycles; {verdict}. {}.",
        cycles as f64 / 1e6,
        cosim.tools.trim_end_matches('.')
    )) + &paragraph(
        "Port use is the share of cycles in which a memory port reads or writes, averaged over the memories; \
         saturated: while requests are offered and responses taken in every cycle.",
    ) + &table(
        "Co-simulation of every core and preset",
        &[
            "core",
            "preset",
            "cycles",
            "requests",
            "mismatches",
            "port use",
            "saturated",
            "cycles/s",
            "seed",
            "parameters",
        ],
        &rows,
    )
}

/// A table of areas.
pub fn area(area: &Area) -> String {
    let cells = |row: &super::AreaRow| {
        let counts = [row.lut4, row.ccu2c, row.flip_flops, row.block_rams].map(Cell::count);
        [Cell::text(&row.core), Cell::text(&row.preset).class("name")].into_iter().chain(counts).collect()
    };
    let rows: Vec<Vec<_>> = area.rows.iter().map(cells).collect();
    table(
        &format!("Cells after synthesis for {}", area.target),
        &["core", "preset", "LUT4", "CCU2C (carry)", "flip-flops", "DP16KD (block RAM)"],
        &rows,
    )
}
