//! Time in windows: few enough to show, whatever the length of the trace.

use std::ops::AddAssign;

use serde::Serialize;

/// What the clocked model spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Spent {
    /// Cycles.
    pub cycles: u64,
    /// Cycles in which a request was offered and not taken.
    pub stalls: u64,
    /// Accesses of all memories.
    pub accesses: u64,
}

/// What happened in a stretch of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Window {
    /// Keys asked for.
    pub queries: u64,
    /// Of these, how many the filter said may be there.
    pub hits: u64,
    /// Of these, how many were not there.
    pub absent: u64,
    /// Of the absent, how many the filter said may be there.
    pub false_positives: u64,
    /// Keys inserted or refused.
    pub inserts: u64,
    /// Of these, how many were refused.
    pub refused: u64,
    /// Inserted, not refused, and unknown to the filter right after: none, or the model
    /// is wrong.
    pub false_negatives: u64,
    /// Entries in the overflow list at the end.
    pub level: u64,
    /// Where a clocked model plays along.
    pub spent: Spent,
}

impl Window {
    /// Requests.
    pub fn requests(&self) -> u64 {
        self.queries + self.inserts
    }

    /// False positives per absent key, if there was one.
    pub fn false_positive_rate(&self) -> Option<f64> {
        (self.absent > 0).then(|| self.false_positives as f64 / self.absent as f64)
    }
}

impl AddAssign for Window {
    fn add_assign(&mut self, next: Self) {
        self.queries += next.queries;
        self.hits += next.hits;
        self.absent += next.absent;
        self.false_positives += next.false_positives;
        self.inserts += next.inserts;
        self.refused += next.refused;
        self.false_negatives += next.false_negatives;
        self.level = next.level;
        self.spent.cycles += next.spent.cycles;
        self.spent.stalls += next.spent.stalls;
        self.spent.accesses += next.spent.accesses;
    }
}

/// Windows of equal numbers of requests, but for the last. Whenever there are too many,
/// neighbours become one.
#[derive(Clone, Debug)]
pub struct Windows {
    all: Vec<Window>,
    /// Requests of a window.
    size: u64,
}

/// More windows than this are merged.
const MOST: usize = 64;
/// Requests of a window at the start.
const SMALLEST: u64 = 64;

impl Default for Windows {
    fn default() -> Self {
        Self { all: vec![Window::default()], size: SMALLEST }
    }
}

impl Windows {
    /// The windows, first to last.
    pub fn all(&self) -> &[Window] {
        &self.all
    }

    /// All in one.
    pub fn total(&self) -> Window {
        let mut total = Window::default();
        self.all.iter().for_each(|window| total += *window);
        total
    }

    /// The last window.
    pub(super) fn last(&mut self) -> &mut Window {
        self.all.last_mut().expect("there is one from the start")
    }

    /// Requests that the last window still takes.
    pub(super) fn room(&self) -> u64 {
        self.size.saturating_sub(self.all.last().map_or(0, Window::requests))
    }

    /// Starts another window.
    pub(super) fn open(&mut self) {
        if self.all.len() == MOST {
            let pairs = self.all.chunks_exact(2);
            self.all = pairs
                .map(|pair| {
                    let mut both = pair[0];
                    both += pair[1];
                    both
                })
                .collect();
            self.size *= 2;
        }
        let level = self.last().level;
        self.all.push(Window { level, ..Window::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_never_too_many_and_nothing_is_lost() {
        let mut windows = Windows::default();
        for n in 0..100_000 {
            if windows.room() == 0 {
                windows.open();
            }
            let window = windows.last();
            window.inserts += 1;
            window.level = n;
        }
        assert!((MOST / 2..=MOST).contains(&windows.all().len()));
        let sizes: Vec<_> = windows.all().iter().map(Window::requests).collect();
        assert!(sizes[..sizes.len() - 1].iter().all(|size| *size == sizes[0]), "{sizes:?}");
        assert_eq!(windows.total().inserts, 100_000);
        assert_eq!(windows.total().level, 99_999);
        assert!(windows.all().is_sorted_by_key(|window| window.level));
    }
}
