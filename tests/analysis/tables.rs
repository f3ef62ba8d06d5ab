//! Equations 10 and 14 of the partitioned paper, which print their sums over the bits set. The
//! tables that it computed from them are in `membrane repro`.

use super::*;

/// The rate of a key with d different bits by equation 14 (`None`: equation 10).
fn by_bits_set(filter: Standard, distinct: Option<u32>) -> f64 {
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
    (1..=most)
        .map(|i| {
            let i_f = i as f64;
            set[i]
                * distinct.map_or((i_f / m).powi(filter.hashes as i32), |d| {
                    (0..d).map(|j| (i_f - f64::from(j)).max(0.0) / (m - f64::from(j))).product()
                })
        })
        .sum()
}

#[test]
fn sums_over_the_bits_set() -> Outcome {
    for (bits, hashes) in [(64, 4), (64, 8), (512, 4), (512, 8), (512, 16), (4096, 4), (4096, 8), (4096, 16)]
    {
        for occupation in [0.25, 0.5, 1.0] {
            let filter = Standard { keys: nominal_keys(bits, hashes, occupation)?, bits, hashes };
            assert_close(filter.false_positive_rate()?, by_bits_set(filter, None), "equation 10");
            for d in hashes - 3..=hashes {
                assert_close(filter.element_rate(d)?, by_bits_set(filter, Some(d)), "equation 14");
            }
        }
    }
    Ok(())
}
