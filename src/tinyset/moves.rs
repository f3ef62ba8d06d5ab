//! Slots that move from one block to another, part by part.

use super::{
    bits::{self, Fields},
    geometry::Shape,
};

/// Fingerprints on their way from one block to another.
pub struct Move<'a, const N: usize> {
    pub from: &'a [u64; N],
    pub old: Shape,
    pub old_lsb: u32,
    pub to: &'a mut [u64; N],
    pub new: Shape,
    pub new_lsb: u32,
}

impl<const N: usize> Move<'_, N> {
    /// Moves `count` slots from slot `first` to slot `to` on, each cut or padded with
    /// zeros to its new width.
    #[inline]
    pub fn slots(&mut self, first: u32, to: u32, count: u32) {
        let mut i = 0;
        while i < count {
            // Widths change where a shape's extended slots end, and nowhere else.
            let run = [self.old.extended.saturating_sub(first), self.new.extended.saturating_sub(to)]
                .into_iter()
                .filter(|&end| end > i)
                .fold(count, u32::min);
            self.run(first + i, to + i, run - i);
            i = run;
        }
    }

    /// Moves slots that all have one width, to slots that all have one.
    #[inline]
    fn run(&mut self, first: u32, to: u32, count: u32) {
        let (old, new) = (self.old.width(first), self.new.width(to));
        let mut from_lsb = self.old_lsb + self.old.offset(first);
        let mut to_lsb = self.new_lsb + self.new.offset(to);
        if old == new {
            bits::copy(self.from, from_lsb, self.to, to_lsb, count * old);
            return;
        }
        // Neighbours that lose a bit, as many as a word holds. One that is padded, or that
        // loses more, moves alone.
        let fields = Fields::of(old);
        let step = if old == new + 1 { fields.count } else { 1 };
        let mut left = count;
        while left > 0 {
            let step = step.min(left);
            let stored = bits::window(self.from, from_lsb) & bits::low(step * old);
            let fitted = if old == new + 1 { fields.cut(old, stored) } else { stored };
            bits::put(self.to, to_lsb, step * old.min(new), fitted);
            from_lsb += step * old;
            to_lsb += step * new;
            left -= step;
        }
    }
}
