//! Finding a short vector that still fails.

use std::time::{Duration, Instant};

/// Removes rows of `words` words from `rows`, in ever smaller runs, while `fails`
/// holds; the first `keep` rows stay. Any subset of rows is a legal stimulus,
/// because a core must survive whatever its inputs do.
pub fn shrink(
    mut rows: Vec<u64>,
    words: usize,
    keep: usize,
    budget: Duration,
    mut fails: impl FnMut(&[u64]) -> bool,
) -> Vec<u64> {
    let start = Instant::now();
    let mut run = (rows.len() / words).saturating_sub(keep) / 2;
    while run > 0 {
        let mut at = keep;
        let mut removed = false;
        while at + run <= rows.len() / words {
            if start.elapsed() > budget {
                return rows;
            }
            let mut shorter = rows[..at * words].to_vec();
            shorter.extend_from_slice(&rows[(at + run) * words..]);
            if fails(&shorter) {
                rows = shorter;
                removed = true;
            } else {
                at += run;
            }
        }
        // Go over the same size again only where it pays: at single rows.
        if run > 1 || !removed {
            run /= 2;
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_only_what_fails() {
        let rows: Vec<u64> = (0..1000).collect();
        let fails = |rows: &[u64]| rows.contains(&17) && rows.contains(&801);
        let short = shrink(rows.clone(), 1, 0, Duration::from_secs(60), fails);
        assert_eq!(short, [17, 801]);
        let short = shrink(rows, 1, 3, Duration::from_secs(60), fails);
        assert_eq!(short, [0, 1, 2, 17, 801]);
    }
}
