//! The papers' figures, reproduced; and that a broken tolerance is seen.

use membrane::repro::{
    Claim, Effort, Figure, Item, Paper, Printed, Sample, Tolerance, Verdict, count, papers, report, run,
};

/// `membrane repro --quick`, as CI runs it.
#[test]
fn every_figure_is_within_its_tolerance() {
    let chapters = run(&papers().expect("formulas"), Effort::Quick, &|| ());
    for section in chapters.iter().flat_map(|chapter| &chapter.sections) {
        for row in section.rows.iter().filter(|row| row.verdict == Verdict::Fails) {
            println!("{}: {}", section.place, report::cells(row).join(" | "));
        }
        for claim in section.claims.iter().filter(|claim| claim.verdict() == Verdict::Fails) {
            println!("{}: {}", section.place, report::claim(claim));
        }
    }
    assert_eq!(count(&chapters, Verdict::Fails), 0, "{}", report::summary(&chapters));
    // The page in docs/ is a full run of the same items.
    let page = include_str!("../docs/repro.md");
    assert!(page.contains("`membrane repro --full --markdown docs/repro.md`") && page.contains(" 0 fail"));
    let quick = report::markdown(&chapters, Effort::Quick, "");
    assert_eq!(computed(page), computed(&quick), "run `make repro`");
    // Measured on the models, and not only computed.
    let rows = chapters.iter().flat_map(|chapter| &chapter.sections).flat_map(|section| &section.rows);
    assert!(rows.filter(|row| row.measured.is_some()).count() > 90);
    for chapter in &chapters {
        assert!(count(std::slice::from_ref(chapter), Verdict::Agrees) > 2, "{}", chapter.title);
    }
}

/// What a page says that does not depend on how much was measured.
fn computed(page: &str) -> Vec<String> {
    let chapters = page.lines().skip_while(|line| !line.starts_with("## "));
    let of_row = |line: &str| {
        let cells: Vec<_> = line.split(" | ").collect();
        // Measured, difference and verdict may differ.
        if cells.len() == report::HEAD.len() {
            [&cells[..4], &cells[6..7]].concat().join(" | ")
        } else {
            line.into()
        }
    };
    chapters.map(of_row).collect()
}

/// Every cell of tables 1 to 3 is what a sum gives that stops one term early; 25 of 104 are wrong
/// for that. Table 4 is right.
#[test]
fn the_partitioned_tables_stop_one_term_early() {
    let papers = papers().expect("formulas");
    let (mut cells, mut wrong) = (0, 0);
    for item in &papers[0].items {
        let Some(table) = item.place.strip_prefix("table ") else { continue };
        for figure in &item.figures {
            let printed = figure.printed.expect("a table");
            let ours = figure.formula.expect("a formula");
            let theirs = figure.reading.unwrap_or(ours);
            assert!(printed.tolerance.allows(printed.value, theirs), "{} {}", item.place, figure.what);
            let right = printed.tolerance.allows(printed.value, ours);
            if table.starts_with('4') {
                assert!(right, "{} {}", item.place, figure.what);
            } else {
                cells += 1;
                wrong += usize::from(!right);
            }
        }
    }
    assert_eq!((cells, wrong), (104, 25));
    let ratio = papers[0].items.iter().find(|item| item.place == "table 2, m=64, k=4").expect("table 2");
    assert_eq!(format!("{:.5}", ratio.figures[0].formula.expect("a formula")), "1.05697");
}

fn verdict_of(item: Item) -> Verdict {
    let paper = Paper { title: "made up", items: vec![item] };
    let chapters = run(&[paper], Effort::Quick, &|| ());
    let verdicts: Vec<_> = chapters[0].sections[0].verdicts().collect();
    assert_eq!(verdicts.len(), 1);
    verdicts[0]
}

fn figure(printed: f64, tolerance: Tolerance) -> Figure {
    Figure::new("x", 1.0).printed(Printed::new(printed, tolerance))
}

#[test]
fn a_wrong_figure_fails() {
    let item = |figure| Item::new("nowhere", vec![figure]);
    let verdict = |printed, tolerance| verdict_of(item(figure(printed, tolerance)));
    for (near, far, tolerance) in [
        (1.004, 1.006, Tolerance::Decimals(2)),
        (1.05, 1.2, Tolerance::Relative(0.1)),
        (0.95, 0.8, Tolerance::Absolute(0.1)),
        (1.0, 0.99, Tolerance::AtMost),
        (1.05, 1.2, Tolerance::Between(0.1)),
    ] {
        assert_eq!(verdict(near, tolerance), Verdict::Agrees, "{tolerance:?}");
        assert_eq!(verdict(far, tolerance), Verdict::Fails, "{tolerance:?}");
    }
    // Explained by the paper's own formula, or known to be an error: corrected, not agreed to.
    let digits = Tolerance::Decimals(2);
    assert_eq!(verdict_of(item(figure(2.0, digits).reading(2.0))), Verdict::Corrected);
    assert_eq!(verdict_of(item(figure(2.0, digits).reading(3.0))), Verdict::Fails);
    assert_eq!(verdict_of(item(figure(2.0, Tolerance::Between(0.1)).reading(3.0))), Verdict::Agrees);
    let erratum = |printed| Figure { erratum: Some("because"), ..figure(printed, digits) };
    assert_eq!(verdict_of(item(erratum(2.0))), Verdict::Corrected);
    assert_eq!(verdict_of(item(erratum(1.0))), Verdict::Fails, "an error that is none");
}

#[test]
fn a_measurement_that_disagrees_fails() {
    let measured = |mean, error| {
        let item = Item::new("nowhere", vec![figure(1.0, Tolerance::Decimals(1))]);
        verdict_of(item.measured(move |_| vec![Some(Sample { mean, error })]))
    };
    assert_eq!(measured(1.03, 0.01), Verdict::Agrees);
    assert_eq!(measured(1.05, 0.01), Verdict::Fails);
    assert_eq!(measured(0.95, 0.01), Verdict::Fails);
    // Without a formula the print itself is what is measured against.
    let print = Printed::new(1.0, Tolerance::Relative(0.1));
    let bare = || Figure { what: "x".into(), printed: Some(print), ..Figure::default() };
    let measured = |mean| {
        verdict_of(
            Item::new("nowhere", vec![bare()]).measured(move |_| vec![Some(Sample { mean, error: 0.01 })]),
        )
    };
    assert_eq!(measured(1.05), Verdict::Agrees);
    assert_eq!(measured(1.2), Verdict::Fails);
}

#[test]
fn a_claim_that_does_not_hold_fails() {
    let verdict = |holds, erratum| {
        let claim = Claim { erratum, ..Claim::new("so it is", "or not", holds) };
        verdict_of(Item::new("nowhere", Vec::new()).claims(vec![claim]))
    };
    assert_eq!(verdict(true, false), Verdict::Agrees);
    assert_eq!(verdict(false, false), Verdict::Fails);
    assert_eq!(verdict(false, true), Verdict::Corrected);
    assert_eq!(verdict(true, true), Verdict::Fails, "an error that is none");
}

/// One figure of a paper changed in the last digit: the whole run fails.
#[test]
fn a_typing_error_is_found() {
    let mut papers = papers().expect("formulas");
    let item = papers[0].items.iter_mut().find(|item| item.place.starts_with("table 4")).expect("table 4");
    item.measure = None;
    let printed = item.figures[0].printed.as_mut().expect("a number");
    printed.value += 1e-4;
    let place = item.place.clone();
    papers.truncate(1);
    papers[0].items.retain(|item| item.place == place);
    let chapters = run(&papers, Effort::Quick, &|| ());
    assert_eq!(count(&chapters, Verdict::Fails), 1);
    assert!(report::markdown(&chapters, Effort::Quick, "command").contains("| FAILS |"));
}
