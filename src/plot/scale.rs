//! Where a value goes on an axis, and which values are marked.

/// An axis from `low` to `high`, drawn from `from` to `to`.
pub struct Scale {
    low: f64,
    high: f64,
    logarithmic: bool,
    from: f64,
    to: f64,
}

impl Scale {
    /// With room for all values, and with round ends.
    pub fn new(values: impl Iterator<Item = f64>, logarithmic: bool, from: f64, to: f64) -> Self {
        let (mut low, mut high) = values.fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        if low > high {
            (low, high) = (if logarithmic { 0.1 } else { 0.0 }, 1.0);
        }
        if logarithmic {
            (low, high) = (10f64.powf(low.log10().floor()), 10f64.powf(high.log10().ceil()));
            if low >= high {
                high *= 10.0;
            }
        } else {
            // A chart of amounts starts at nothing.
            low = low.min(0.0);
            let step = step(high - low);
            (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
            if low >= high {
                high += 1.0;
            }
        }
        Self { low, high, logarithmic, from, to }
    }

    /// Where a value is drawn.
    pub fn place(&self, value: f64) -> f64 {
        let share = if self.logarithmic {
            (value / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// The values that are marked: decades, or round steps.
    pub fn ticks(&self) -> Vec<f64> {
        if self.logarithmic {
            let (low, high) = (self.low.log10().round() as i32, self.high.log10().round() as i32);
            // Every decade, or every so many if there are many.
            let every = (high - low) / 10 + 1;
            return (low..=high).filter(|n| (n - low) % every == 0).map(|n| 10f64.powi(n)).collect();
        }
        let step = step(self.high - self.low);
        let count = ((self.high - self.low) / step).round() as u32;
        (0..=count).map(|i| self.low + f64::from(i) * step).collect()
    }
}

/// A round number of which about five make up `range`.
fn step(range: f64) -> f64 {
    if range <= 0.0 {
        return 1.0;
    }
    let rough = range / 5.0;
    let decade = 10f64.powf(rough.log10().floor());
    let round = [1.0, 2.0, 5.0, 10.0].into_iter().find(|n| n * decade >= rough * 0.999);
    round.unwrap_or(10.0) * decade
}

/// A value as a mark says it.
pub fn label(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        "0".into()
    } else if size >= 1e9 {
        format!("{value:.0e}")
    } else if size >= 1e6 {
        trimmed(value / 1e6) + " M"
    } else if size >= 1e4 {
        trimmed(value / 1e3) + " k"
    } else if size < 1e-3 * 0.999 {
        format!("{value:.0e}")
    } else {
        trimmed(value)
    }
}

/// Without the digits that rounding makes.
fn trimmed(value: f64) -> String {
    let text = format!("{value:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_round_and_marks_are_few() {
        let scale = Scale::new([3.0, 97.0].into_iter(), false, 0.0, 100.0);
        assert_eq!(scale.ticks(), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert!((scale.place(50.0) - 50.0).abs() < 1e-9);
        let scale = Scale::new([2e-5, 0.3].into_iter(), true, 100.0, 0.0);
        assert_eq!(scale.ticks().len(), 6);
        assert!((scale.place(1e-5) - 100.0).abs() < 1e-9 && scale.place(1.0).abs() < 1e-9);
        for range in [1e-9, 0.07, 1.0, 13.0, 99.0, 1e12] {
            let ticks = Scale::new([0.0, range].into_iter(), false, 0.0, 1.0).ticks();
            assert!((3..=7).contains(&ticks.len()), "{range}: {ticks:?}");
        }
        assert!(Scale::new([1e-30, 1.0].into_iter(), true, 0.0, 1.0).ticks().len() <= 12);
    }

    #[test]
    fn labels_are_short() {
        let labels = [0.0, 0.001, 1e-4, 0.25, 20.0, 12_000.0, 2.5e6, 1e9].map(label);
        assert_eq!(labels, ["0", "0.001", "1e-4", "0.25", "20", "12 k", "2.5 M", "1e9"]);
    }
}
