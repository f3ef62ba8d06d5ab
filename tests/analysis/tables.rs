//! The partitioned paper's tables.

use super::*;

/// The rate of a key with d different bits by equation 14 (`None`: equation 10), as a sum over
/// the bits set, which stops `short` terms before nk.
pub fn by_bits_set(filter: Standard, distinct: Option<u32>, short: usize) -> f64 {
    let (m, draws) = (filter.bits as f64, (filter.keys * u64::from(filter.hashes)) as usize);
    let most = draws.min(filter.bits as usize);
    let mut set = vec![0.0; most + 1];
    set[0] = 1.0;
    for _ in 0..draws {
        for i in (1..=most).rev() {
            set[i] = set[i] * (i as f64 / m) + set[i - 1] * ((m - i as f64 + 1.0) / m);
        }
        set[0] = 0.0;
    }
    let end = draws.saturating_sub(short).min(most);
    (1..=end)
        .map(|i| {
            let i_f = i as f64;
            set[i]
                * distinct.map_or((i_f / m).powi(filter.hashes as i32), |d| {
                    (0..d).map(|j| (i_f - f64::from(j)).max(0.0) / (m - f64::from(j))).product()
                })
        })
        .sum()
}

pub fn at_occupation(bits: u64, hashes: u32, occupation: f64) -> Result<Standard, AnalysisError> {
    Ok(Standard { keys: nominal_keys(bits, hashes, occupation)?, bits, hashes })
}

pub fn partitioned_rate(filter: Standard) -> Result<f64, AnalysisError> {
    let part_bits = filter.bits / u64::from(filter.hashes);
    Partitioned { keys: filter.keys, part_bits, parts: filter.hashes }.false_positive_rate()
}

/// m, k, then the columns `F_a`, `F_s`, `F_p`, `F_p`/`F_s`.
pub const TABLE_1: &str = "
    64 4    0.06244514 0.06423247 0.06676410 1.03941360
    64 8    0.00227672 0.00260362 0.00316870 1.21703762
    512 4   0.06126247 0.06148344 0.06176528 1.00458411
    512 8   0.00375309 0.00381650 0.00389940 1.02172097
    512 16  0.00001409 0.00001513 0.00001661 1.09783475
    4096 4  0.06233016 0.06235819 0.06239353 1.00056676
    4096 8  0.00385474 0.00386284 0.00387308 1.00265094
    4096 16 0.00001486 0.00001499 0.00001516 1.01143019";

/// m, k, then `F_p`/`F_s` at occupations 1/4, 1/2 and 1/1.
pub const TABLE_2: &str = "
    64 4    4.42059447 1.11720759 1.03941360
    64 8    8.91227883 1.77601565 1.21703762
    512 4   1.00616297 1.00527287 1.00458411
    512 8   1.02790590 1.02512045 1.02172097
    512 16  1.13309283 1.11474124 1.09783475
    4096 4  1.00069246 1.00064963 1.00056676
    4096 8  1.00324437 1.00303940 1.00265094
    4096 16 1.01404449 1.01313731 1.01143019";

/// m, k, occupation, then the per-element rate over `F_s` for 0 to 3 collisions.
pub const TABLE_3: &str = "
    64 4   1 0.91 1.88 3.85 7.78
    64 8   1 0.59 1.39 3.25 7.47
    512 8  1 0.95 1.92 3.89 7.88
    512 16 1 0.79 1.62 3.31 6.78
    64 4   0.5 0.76 3.21 12.92 50.00
    64 8   0.5 0.14 1.09 7.50 47.38
    512 8  0.5 0.87 3.09 10.87 38.10
    512 16 0.5 0.56 2.03 7.41 26.86
    64 4   0.25 0.38 5.90 74.86 804.25
    64 8   0.25 0.00 0.07 4.45 134.33
    512 8  0.25 0.74 5.03 33.76 224.42
    512 16 0.25 0.23 1.87 15.28 123.08";

/// m, k, then the probability of some collision, and of exactly 0 to 3.
pub const TABLE_4: &str = "
    64 4   0.0911 0.9089 0.0894 0.0017 0.0000
    64 8   0.3660 0.6340 0.3115 0.0510 0.0034
    512 8  0.0535 0.9465 0.0525 0.0010 0.0000
    512 16 0.2108 0.7892 0.1905 0.0192 0.0011";

/// m, k and the further cells of each row of a table.
pub fn rows(table: &str) -> Vec<(u64, u32, Vec<&str>)> {
    let rows = table.lines().filter(|line| !line.is_empty()).map(|line| {
        let mut cells = line.split_whitespace();
        let mut number = || cells.next().and_then(|cell| cell.parse::<u32>().ok());
        let (m, k) = (number().expect("m"), number().expect("k"));
        (u64::from(m), k, cells.collect())
    });
    rows.collect()
}

#[test]
fn partitioned_paper_tables_1_to_3() -> Outcome {
    let mut cells = 0;
    let mut differ = 0;
    // printed, from the sum that stops at nk - 1, and the correct value
    let mut check = |printed: &str, short: f64, correct: f64| {
        let places = printed.len() - printed.find('.').unwrap_or(0) - 1;
        assert_eq!(format!("{short:.places$}"), printed);
        cells += 1;
        differ += usize::from(format!("{correct:.places$}") != printed);
    };
    for (m, k, printed) in rows(TABLE_1) {
        let filter = at_occupation(m, k, 1.0)?;
        let approximate = filter.approximate_rate()?;
        let (exact, parts) = (filter.false_positive_rate()?, partitioned_rate(filter)?);
        assert_close(exact, by_bits_set(filter, None, 0), "equation 10");
        let short = by_bits_set(filter, None, 1);
        check(printed[0], approximate, approximate);
        check(printed[1], short, exact);
        check(printed[2], parts, parts);
        check(printed[3], parts / short, parts / exact);
    }
    for (m, k, printed) in rows(TABLE_2) {
        for (printed, occupation) in printed.iter().zip([0.25, 0.5, 1.0]) {
            let filter = at_occupation(m, k, occupation)?;
            let (exact, parts) = (filter.false_positive_rate()?, partitioned_rate(filter)?);
            assert_close(exact, by_bits_set(filter, None, 0), "equation 10");
            let short = by_bits_set(filter, None, 1);
            check(printed, parts / short, parts / exact);
        }
    }
    for (m, k, printed) in rows(TABLE_3) {
        let filter = at_occupation(m, k, printed[0].parse().expect("an occupation"))?;
        for (printed, d) in printed[1..].iter().zip((1..=k).rev()) {
            let correct = filter.element_rate(d)?;
            assert_close(correct, by_bits_set(filter, Some(d), 0), "equation 14");
            let short = by_bits_set(filter, Some(d), 1) / by_bits_set(filter, None, 1);
            check(printed, short, correct / filter.false_positive_rate()?);
        }
    }
    assert_eq!((cells, differ), (104, 25));
    let small = at_occupation(64, 4, 0.25)?;
    let ratio = partitioned_rate(small)? / small.false_positive_rate()?;
    assert_eq!(format!("{ratio:.5}"), "1.05697");
    Ok(())
}

#[test]
fn partitioned_paper_table_4() -> Outcome {
    for (bits, hashes, printed) in rows(TABLE_4) {
        let filter = Standard { keys: 0, bits, hashes };
        let distinct = filter.distinct_indices()?;
        let none = distinct[hashes as usize];
        assert_eq!(format!("{:.4}", 1.0 - none), printed[0]);
        for (collisions, printed) in printed[1..].iter().enumerate() {
            let share = distinct[hashes as usize - collisions];
            assert_eq!(format!("{share:.4}"), *printed);
        }
    }
    Ok(())
}
