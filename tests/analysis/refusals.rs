//! What is refused, and in which words.

use super::*;

/// The error names `argument`, its value, and what to do.
pub fn assert_refused<T: std::fmt::Debug>(result: Result<T, AnalysisError>, argument: &str) {
    let error = result.expect_err(argument);
    let (AnalysisError::OutOfRange { argument: named, remedy, .. }
    | AnalysisError::NoSolution { argument: named, remedy, .. }) = &error
    else {
        panic!("another error: {error}");
    };
    assert_eq!(*named, argument);
    assert!(!remedy.is_empty());
    let text = error.to_string();
    assert!(text.starts_with(&format!("{argument} = ")) && text.ends_with(remedy), "{text}");
}

#[test]
fn illegal_arguments_are_named() -> Outcome {
    let filter = Standard { keys: 1, bits: 64, hashes: 4 };
    assert_refused(Standard { bits: 0, ..filter }.false_positive_rate(), "bits");
    assert_refused(Standard { bits: u64::MAX, ..filter }.approximate_rate(), "bits");
    assert_refused(Standard { hashes: 0, ..filter }.false_positive_rate(), "hashes");
    assert_refused(Standard { hashes: 5_000, ..filter }.distinct_indices(), "hashes");
    assert_refused(Standard { keys: u64::MAX, ..filter }.false_positive_rate(), "keys");
    assert_refused(filter.element_rate(0), "distinct");
    assert_refused(filter.element_rate(5), "distinct");
    assert_refused(coverage(9, 3, 4), "given");
    assert_refused(nominal_keys(64, 4, f64::NAN), "occupation");
    let parts = Partitioned { keys: 1, part_bits: 8, parts: 0 };
    assert_refused(parts.false_positive_rate(), "parts");
    let hybrid = Hybrid { keys: 1, part_bits: 8, parts: 2, hashes_per_part: 0 };
    assert_refused(hybrid.false_positive_rate(), "hashes");
    let in_block = InBlock::Partitioned { part_bits: 16 };
    let blocked = Blocked { keys: 100, blocks: 0, hashes: 4, in_block };
    assert_refused(blocked.false_positive_rate(), "blocks");
    assert_refused(blocked.poisson_rate(), "blocks");
    assert_refused(Blocked { keys: 1 << 40, blocks: 2, ..blocked }.loads(), "keys / blocks");
    assert_refused(InBlock::Partitioned { part_bits: 0 }.rates(4, 3), "bits");
    let words = BloomG { keys: 9, words: 4, group: 2, hashes: 5, in_word: in_block };
    assert_refused(words.false_positive_rate(), "hashes");
    assert_refused(words.independent_rate(), "hashes");
    assert_refused(BloomG { group: 0, ..words }.survey_rate(), "group");
    assert_refused(BloomG { group: 6, ..words }.survey_rate(), "group");
    assert_refused(BloomG { words: 0, ..words }.independent_rate(), "words");
    let crowded = BloomG { keys: 1 << 20, hashes: 4, ..words };
    assert_refused(crowded.false_positive_rate(), "keys * group^2 / words");
    assert_refused(LoadDistribution::new(vec![0.5, -0.5, 1.0]), "probability");
    assert_refused(LoadDistribution::new(vec![0.5, f64::NAN]), "probability");
    assert_refused(LoadDistribution::new(vec![0.5, 0.4]), "sum of probabilities");
    assert_refused(LoadDistribution::from_histogram(&[0, 0]), "number of blocks");
    assert_refused(LoadDistribution::poisson(-1.0), "mean");
    assert_refused(LoadDistribution::poisson(1.0)?.average(&[0.0]), "cost");
    let threshold = Threshold::new(3, 0.5)?;
    assert_refused(Threshold::new(3, 1.5), "p");
    let sequential = Sequential { r: 2.0, choices: 2, threshold, budget: None };
    assert_refused(Sequential { r: 0.0, ..sequential }.balance(), "r");
    assert_refused(Sequential { choices: 0, ..sequential }.balance(), "choices");
    assert_refused(Sequential { budget: Some(0.0), ..sequential }.balance(), "budget");
    assert_refused(Sequential { r: 4e4, ..sequential }.balance(), "r * choices");
    let multilevel = |alpha| Multilevel { r: 2.0, alpha, threshold, budget: None }.balance();
    assert_refused(multilevel(vec![]), "levels");
    assert_refused(multilevel(vec![0.5, 0.4]), "sum of alpha");
    assert_refused(multilevel(vec![1.0, 0.0]), "alpha");
    assert_refused(multilevel(vec![1e-5, 1.0 - 1e-5]), "keys per block of a level");
    let problem = AccessProblem { a: 1.0, r: 8.0, gamma: 0.0 };
    assert_refused(problem.threshold(), "gamma");
    assert_refused(AccessProblem { gamma: 1.0, ..problem }.lower_bound(), "gamma");
    assert_refused(AccessProblem { a: 0.9, ..problem }.lower_bound(), "a");
    assert_refused(AccessProblem { r: f64::NAN, ..problem }.lower_bound(), "r");
    assert_refused(AccessProblem { a: 9e4, ..problem }.lower_bound(), "a * r");
    assert_refused(Levels::for_budget(1.2, 1), "levels");
    assert_refused(Levels::for_budget(1.0, 3), "a");
    assert_refused(Levels::for_overflow(0.0, 3), "gamma");
    assert_refused(sequential_gamma(3.0, 8.0, 3), "a");
    assert_refused(sequential_gamma(1.2, 8.0, 1), "choices");
    Ok(())
}
