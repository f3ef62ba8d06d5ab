use crate::{
    ahead::{Hasher, Row},
    filter::{Filter, Op},
    hash::Field,
    parity::Parity,
    pins::Inputs,
    sram::{Conflict, Memory, Port},
};

use super::{Balanced, Choice, Plan, clocked::Aheads, config::MAX_D, functional::COIN_W, masks::set_bits};

/// The memories, and all that stays where it is until its request is done.
#[derive(Clone, Debug)]
pub struct State {
    /// What requests that left s3 have done.
    pub filter: Balanced,
    /// What is in the memories.
    pub srams: Vec<Memory>,
    pub ports: Vec<Port>,
    pub parity: Option<Parity>,
    pub sequential: bool,
    /// Requests stay in a place of their own; only its number moves.
    pub slots: [Slot; PLACES],
    /// Their keys, one after the other.
    pub keys: Vec<u64>,
    /// Their bits in the block of each choice, one after the other.
    pub masks: Vec<u64>,
    /// Words of a mask.
    pub words: usize,
    /// Room for a hash.
    pub hash: Vec<u64>,
    /// Per level: the row that was changed last, which requests see in its register.
    pub changed: [Option<usize>; MAX_D],
    /// That row has a soft error in the memory, which requests do not see yet.
    pub hidden: [bool; MAX_D],
}

/// For a request in each of s1, s2 and s3, and one to spare.
pub const PLACES: usize = 4;
/// The number of no place, row or level.
pub const NONE: usize = usize::MAX;

/// A request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    pub op: Op,
    pub tag: u64,
    /// The block and the coin of each choice.
    pub rows: [u32; MAX_D],
    pub coins: [u32; MAX_D],
}

/// What a request does that needs no block.
pub const NOTHING: Plan = Plan { hit: false, probes: 0, place: None, changes: false, rows: [0; MAX_D] };

impl State {
    /// Takes a request.
    #[inline(always)]
    pub fn accept(
        &mut self,
        place: usize,
        &Inputs { op, tag, .. }: &Inputs,
        key: &[u64],
        ahead: Option<(&Aheads, usize)>,
    ) {
        for (kept, word) in self.keys[place * key.len()..].iter_mut().zip(key) {
            *kept = *word;
        }
        let slot = &mut self.slots[place];
        (slot.op, slot.tag) = (op, tag);
        let (words, choices) = (self.words, self.filter.choices());
        let masks = &mut self.masks[place * choices.len() * words..][..choices.len() * words];
        if let Some((ahead, i)) = ahead {
            for (c, choice) in choices.iter().enumerate() {
                (slot.rows[c], slot.coins[c]) = (ahead.row(c, i) as u32, ahead.coin(c, i));
                let mask = &mut masks[c * words..][..words];
                match mask {
                    [mask] => *mask = ahead.word(c, 0, i),
                    mask => set_bits(mask, ahead.bits(c, choice.bits.len(), i)),
                }
            }
        } else {
            self.filter.hash().hash_into(key, &mut self.hash);
            for (c, choice) in choices.iter().enumerate() {
                (slot.rows[c], slot.coins[c]) =
                    (choice.row.of(&self.hash) as u32, choice.coin_of(&self.hash));
                choice.mask_into(&self.hash, &mut masks[c * words..][..words]);
            }
        }
    }

    /// The key of a request.
    #[inline]
    fn key(keys: &[u64], place: usize) -> &[u64] {
        let words = keys.len() / PLACES;
        &keys[place * words..][..words]
    }

    /// The bits of a request in the block of a choice.
    #[inline(always)]
    fn mask(&self, place: usize, choice: usize) -> &[u64] {
        &self.masks[(place * self.filter.choices().len() + choice) * self.words..][..self.words]
    }

    /// What the request in a place does. Masks are of `N` words, or of any number if that is 0.
    #[inline(always)]
    fn plan<const N: usize>(&self, place: usize) -> Plan {
        let (slot, key) = (&self.slots[place], Self::key(&self.keys, place));
        let config = self.filter.config();
        let has = |c, row| {
            let mask = self.mask(place, c);
            self.filter.has_mask::<N>(config.level_of(c), row, mask.len(), |i| mask[i])
        };
        match slot.op {
            Op::Query | Op::Insert => {
                self.filter.plan(slot.op == Op::Insert, key, slot.rows, has, |c| slot.coins[c])
            }
            Op::Remove | Op::Clear => NOTHING,
        }
    }

    /// What the request in a place does.
    #[inline(always)]
    pub fn plan_any(&self, place: usize) -> Plan {
        match self.words {
            1 => self.plan::<1>(place),
            4 => self.plan::<4>(place),
            8 => self.plan::<8>(place),
            _ => self.plan::<0>(place),
        }
    }

    /// Writes zeros to a row of every level that has it.
    pub fn clear_row(&mut self, cycle: u64, row: usize) -> Result<(), Conflict> {
        if row == 0 {
            self.filter.clear();
            self.changed = [None; MAX_D];
            self.hidden = [false; MAX_D];
        }
        for (level, (sram, port)) in self.srams.iter_mut().zip(&mut self.ports).enumerate() {
            if row < sram.rows() {
                port.write(cycle, sram)?;
                sram.clear_row(row);
                if let Some(parity) = &mut self.parity {
                    parity.write(level, sram, row);
                }
            }
        }
        Ok(())
    }

    /// Writes a row that waits.
    #[inline]
    pub fn write(&mut self, cycle: u64, level: usize, row: usize) -> Result<(), Conflict> {
        self.ports[level].write(cycle, &self.srams[level])?;
        self.put_back(level, row);
        Ok(())
    }

    /// The same without its access.
    #[inline]
    pub fn put_back(&mut self, level: usize, row: usize) {
        self.srams[level].copy_row(row, &self.filter.levels()[level]);
        self.hidden[level] = false;
        if let Some(parity) = &mut self.parity {
            parity.write(level, &self.srams[level], row);
        }
    }

    /// Reads every level: the rows of a request from this choice on.
    #[inline(always)]
    pub fn read(&mut self, cycle: u64, place: usize, first: usize) -> Result<(), Conflict> {
        for (sram, port) in self.srams.iter().zip(&mut self.ports) {
            port.read(cycle, sram)?;
        }
        if let Some(parity) = &mut self.parity {
            let rows = self.slots[place].rows;
            for (level, sram) in self.srams.iter().enumerate() {
                parity.read(level, sram, rows[first + level] as usize);
            }
        }
        Ok(())
    }

    /// Whether a request needs its blocks. Without budget an insert does not.
    #[inline(always)]
    pub fn needs_blocks(&self, op: Op) -> bool {
        (op == Op::Query) | (op == Op::Insert) & self.filter.has_budget()
    }

    /// An insert changes this row of a level.
    #[inline]
    pub fn change(&mut self, level: usize, row: usize) {
        let before = self.changed[level].replace(row);
        if let Some(before) = before.filter(|before| *before != row && self.hidden[level]) {
            self.filter.memories_mut()[level].copy_row(before, &self.srams[level]);
            self.hidden[level] = false;
        }
    }

    /// Does what the request in a place is to do.
    #[inline]
    pub fn commit(&mut self, place: usize, plan: &Plan) {
        let (words, first) = (self.words, place * self.filter.choices().len());
        let mask = |c| &self.masks[(first + c) * words..][..words];
        self.filter.commit_masks(Self::key(&self.keys, place), plan, mask);
    }

    pub fn reset(&mut self) {
        self.filter.clear();
        self.changed = [None; MAX_D];
        self.hidden = [false; MAX_D];
        if let Some(parity) = &mut self.parity {
            parity.reset();
        }
    }
}

/// How a filter hashes coming keys, whose masks are of so many words.
pub fn hasher(filter: &Balanced, words: usize) -> Option<Hasher> {
    let row = |choice: &Choice| Row {
        number: choice.row,
        index: choice.bits[0],
        count: choice.bits.len() as u32,
        step: 0,
        coin: Some(Field::selecting(1 << COIN_W, choice.coin)),
    };
    let rows: Vec<_> = filter.choices().iter().map(row).collect();
    // Of more than one, masks are made only when they are needed.
    Hasher::new(filter.hash(), &rows, usize::from(words == 1), None)
}
