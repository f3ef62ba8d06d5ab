//! Cycles that come, and what is known of their keys. The first of them has number 1.

use crate::{cpu::GROUP, pins::FilterPins};

use super::{
    Balanced, Plan,
    clocked::{Aheads, GROUPS},
    config::MAX_D,
};

/// In more cycles it is not known what comes.
pub const LONGEST: usize = GROUPS * GROUP;

/// What will be offered.
#[derive(Clone, Copy)]
pub struct Coming<'a> {
    pub pins: &'a FilterPins,
    /// Input rows of so many words.
    pub rows: (&'a [u64], usize),
    /// Knows the keys from the one with this number on.
    pub ahead: (&'a Aheads, usize),
}

impl<'a> Coming<'a> {
    /// The input row of a cycle, of which the first is 1.
    #[inline(always)]
    pub fn row(&self, cycle: usize) -> &'a [u64] {
        let (rows, each) = self.rows;
        &rows[(cycle - 1) * each..][..each]
    }

    /// The input rows of a group of cycles.
    #[inline(always)]
    pub fn group(&self, group: usize) -> impl Iterator<Item = &'a [u64]> {
        let (rows, each) = self.rows;
        rows[group * GROUP * each..][..GROUP * each].chunks_exact(each)
    }

    /// What is known of its key, and by which number.
    #[inline(always)]
    pub fn known(&self, cycle: usize) -> (&'a Aheads, usize) {
        (self.ahead.0, self.ahead.1 + cycle - 1)
    }

    #[inline(always)]
    pub fn key(&self, cycle: usize) -> &'a [u64] {
        &self.row(cycle)[..self.pins.key_words()]
    }

    /// For how many cycles, up to so many, the core is busy, and [`FilterPins::controls_of`] their rows.
    #[inline(always)]
    pub fn busy(&self, most: usize, controls: &mut [u64; LONGEST]) -> usize {
        let (rows, each) = self.rows;
        let most = most.min(LONGEST - self.ahead.1).min(rows.len() / each);
        let mut busy = 0;
        for (rows, controls) in
            rows[..most * each].chunks(GROUP * each).zip(controls.as_chunks_mut::<GROUP>().0)
        {
            let controls = &mut controls[..rows.len() / each];
            for (control, row) in controls.iter_mut().zip(rows.chunks_exact(each)) {
                *control = self.pins.controls_of(row);
            }
            if !self.pins.all_flow(controls) {
                return busy + controls.iter().take_while(|control| self.pins.all_flow(&[**control])).count();
            }
            busy += controls.len();
        }
        busy
    }

    /// What the request that is accepted in a cycle does after all those before it. Masks are of one
    /// word, or of any number.
    #[inline(always)]
    pub fn plan<const ONE: bool>(&self, filter: &Balanced, inserts: bool, cycle: usize) -> Plan {
        let ((ahead, i), choices) = (self.known(cycle), filter.choices());
        let mut rows = [0; MAX_D];
        for (c, row) in rows.iter_mut().enumerate().take(choices.len()) {
            *row = ahead.row(c, i) as u32;
        }
        let has = |c: usize, row| {
            let level = choices[c].level;
            if ONE {
                filter.has_mask::<1>(level, row, 1, |w| ahead.word(c, w, i))
            } else {
                filter.has_bits(level, row, ahead.bits(c, choices[c].bits.len(), i))
            }
        };
        filter.plan(inserts, self.key(cycle), rows, has, |c| ahead.coin(c, i))
    }

    /// Does what was planned.
    #[inline(always)]
    pub fn commit<const ONE: bool>(&self, filter: &mut Balanced, plan: &Plan, cycle: usize) {
        let ((ahead, i), key) = (self.known(cycle), self.key(cycle));
        if ONE {
            let mask: [_; MAX_D] =
                std::array::from_fn(|c| if c < filter.choices().len() { ahead.word(c, 0, i) } else { 0 });
            filter.commit_masks(key, plan, |c| std::slice::from_ref(&mask[c]));
        } else {
            filter.commit_bits(key, plan, |c, count| ahead.bits(c, count, i));
        }
    }
}
