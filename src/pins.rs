//! Pins: names, widths, and where each sits in a packed row.
//!
//! A row holds all input pins, or all output pins, of one cycle, packed from bit
//! 0 upwards into little-endian 64-bit words. Vectors, models and simulators
//! exchange nothing else. The clock is not part of a row: a row *is* a cycle.

use bitvec::{field::BitField, order::Lsb0, view::BitView};
use serde::{Deserialize, Serialize};

use crate::{filter::Op, hash::extract};

/// Which way a pin points, seen from the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Driven by the user of the core.
    Input,
    /// Driven by the core.
    Output,
}

/// One pin and its place in the packed row of its direction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// Port name in the Verilog.
    pub name: String,
    /// Which row it belongs to.
    pub direction: Direction,
    /// Bits.
    pub width: u32,
    /// First bit in the row.
    pub lsb: u32,
}

impl Pin {
    /// The value of a pin of at most 64 bits.
    #[inline]
    pub fn get(&self, row: &[u64]) -> u64 {
        extract(row, self.lsb, self.width)
    }

    /// Sets a pin of at most 64 bits.
    #[inline]
    pub fn put(&self, row: &mut [u64], value: u64) {
        let (word, shift) = ((self.lsb / 64) as usize, self.lsb % 64);
        let mask = u64::MAX >> (64 - self.width);
        row[word] = row[word] & !(mask << shift) | ((value & mask) << shift);
        if shift + self.width > 64 {
            let high = 64 - shift;
            row[word + 1] = row[word + 1] & !(mask >> high) | ((value & mask) >> high);
        }
    }

    /// The value of a pin of any width, low word first.
    pub fn get_wide(&self, row: &[u64]) -> Vec<u64> {
        let bits = &row.view_bits::<Lsb0>()[self.range()];
        bits.chunks(64).map(BitField::load_le).collect()
    }

    /// Sets a pin of any width.
    pub fn put_wide(&self, row: &mut [u64], value: &[u64]) {
        let bits = &mut row.view_bits_mut::<Lsb0>()[self.range()];
        for (bits, word) in bits.chunks_mut(64).zip(value) {
            bits.store_le(*word);
        }
    }

    fn range(&self) -> std::ops::Range<usize> {
        self.lsb as usize..(self.lsb + self.width) as usize
    }
}

/// All pins of a core but its clock, in packing order.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct PinMap {
    inputs: Vec<Pin>,
    outputs: Vec<Pin>,
}

impl PinMap {
    /// Packs the named pins in the order given, from bit 0 upwards.
    pub fn new<'a>(
        inputs: impl IntoIterator<Item = (&'a str, u32)>,
        outputs: impl IntoIterator<Item = (&'a str, u32)>,
    ) -> Self {
        fn pack<'a>(pins: impl IntoIterator<Item = (&'a str, u32)>, direction: Direction) -> Vec<Pin> {
            let mut lsb = 0;
            pins.into_iter()
                .map(|(name, width)| {
                    let pin = Pin { name: name.to_owned(), direction, width, lsb };
                    lsb += width;
                    pin
                })
                .collect()
        }
        Self { inputs: pack(inputs, Direction::Input), outputs: pack(outputs, Direction::Output) }
    }

    /// The input pins, lowest position first.
    pub fn inputs(&self) -> &[Pin] {
        &self.inputs
    }

    /// The output pins, lowest position first.
    pub fn outputs(&self) -> &[Pin] {
        &self.outputs
    }

    /// Bits of an input row.
    pub fn input_bits(&self) -> u32 {
        self.inputs.last().map_or(0, |pin| pin.lsb + pin.width)
    }

    /// Bits of an output row.
    pub fn output_bits(&self) -> u32 {
        self.outputs.last().map_or(0, |pin| pin.lsb + pin.width)
    }

    /// Words of an input row.
    pub fn input_words(&self) -> usize {
        self.input_bits().div_ceil(64) as usize
    }

    /// Words of an output row.
    pub fn output_words(&self) -> usize {
        self.output_bits().div_ceil(64) as usize
    }
}

/// The port list that all filter cores share.
///
/// The key is at bit 0 of an input row, so that its words are those of the row; the
/// other input pins lie together above it, and all output pins fit into one word.
/// So a model reads and writes its pins with a handful of shifts.
#[derive(Clone, Debug)]
pub struct FilterPins {
    map: PinMap,
    key_w: u32,
    key_words: usize,
    key_top: u64,
    /// Word and bit where the pins above the key begin.
    controls: (usize, u32),
    tag_w: u32,
    tag_mask: u64,
    level_w: u32,
    level_mask: u64,
}

// Above the tag: op (2 bits), valid, ready, reset.
const CONTROL_W: u32 = 5;

/// The input pins of a filter core but for the key, which may be wide.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// Synchronous reset.
    pub rst: bool,
    /// A request is offered.
    pub req_valid: bool,
    /// Its operation.
    pub op: Op,
    /// Its tag.
    pub tag: u64,
    /// The response, if any, is taken.
    pub rsp_ready: bool,
}

/// The output pins of a filter core.
#[allow(clippy::struct_excessive_bools)] // pins are bits
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// A request offered in this cycle moves.
    pub req_ready: bool,
    /// A response is offered.
    pub rsp_valid: bool,
    /// Its hit bit.
    pub hit: bool,
    /// Its status code.
    pub status: u8,
    /// Its tag.
    pub tag: u64,
    /// Clearing, or requests in flight.
    pub busy: bool,
    /// Entries in the overflow list.
    pub level: u64,
    /// A memory row with wrong parity was read since reset.
    pub parity_error: bool,
}

impl FilterPins {
    /// The pins for these widths.
    ///
    /// # Panics
    /// When tag and level do not fit into one word with the other outputs.
    pub fn new(key_w: u32, tag_w: u32, level_w: u32) -> Self {
        let map = PinMap::new(
            [
                ("req_key", key_w),
                ("req_tag", tag_w),
                ("req_op", 2),
                ("req_valid", 1),
                ("rsp_ready", 1),
                ("rst", 1),
            ],
            [
                ("rsp_tag", tag_w),
                ("level", level_w),
                ("rsp_status", 2),
                ("rsp_hit", 1),
                ("rsp_valid", 1),
                ("req_ready", 1),
                ("busy", 1),
                ("parity_error", 1),
            ],
        );
        assert!(map.output_bits() <= 64, "TAG_W and LEVEL_W are limited by the rules of every core");
        Self {
            map,
            key_w,
            key_words: key_w.div_ceil(64) as usize,
            key_top: u64::MAX >> ((64 - key_w % 64) % 64),
            controls: ((key_w / 64) as usize, key_w % 64),
            tag_w,
            tag_mask: u64::MAX >> (64 - tag_w),
            level_w,
            level_mask: u64::MAX >> (64 - level_w),
        }
    }

    /// The same pins by name and position.
    pub fn map(&self) -> &PinMap {
        &self.map
    }

    /// The view of any core's pins as a filter's, if they are a filter's.
    pub fn of(map: &PinMap) -> Option<Self> {
        let (key, tag, level) = (map.inputs().first()?, map.inputs().get(1)?, map.outputs().get(1)?);
        if tag.width + level.width > 57 {
            return None;
        }
        let pins = Self::new(key.width, tag.width, level.width);
        (pins.map == *map).then_some(pins)
    }

    /// Width of a key.
    pub fn key_w(&self) -> u32 {
        self.key_w
    }

    /// Words of a key.
    pub fn key_words(&self) -> usize {
        self.key_words
    }

    /// The bits that the top word of a key has.
    pub fn key_top(&self) -> u64 {
        self.key_top
    }

    /// Reads an input row; the key goes to `key`, with the bits above its width
    /// cleared.
    #[inline]
    pub fn read_inputs(&self, row: &[u64], key: &mut [u64]) -> Inputs {
        key[..self.key_words].copy_from_slice(&row[..self.key_words]);
        key[self.key_words - 1] &= self.key_top;
        self.read_controls(row)
    }

    /// Reads an input row without copying the key: bits above its width are those of other
    /// pins.
    #[inline(always)]
    pub fn borrow_inputs<'a>(&self, row: &'a [u64]) -> (Inputs, &'a [u64]) {
        (self.read_controls(row), &row[..self.key_words])
    }

    /// All input pins but the key, in a word.
    #[inline(always)]
    pub fn controls_of(&self, row: &[u64]) -> u64 {
        let (word, shift) = self.controls;
        let mut rest = row[word] >> shift;
        if shift + self.tag_w + CONTROL_W > 64 {
            rest |= row[word + 1] << (64 - shift);
        }
        rest
    }

    /// The same of many rows.
    #[inline(always)]
    pub fn controls_of_all(&self, rows: &[u64], controls: &mut [u64]) {
        let (word, shift) = self.controls;
        // The most frequent cases as vectors want them.
        match (self.map.input_words(), rows.as_chunks()) {
            (1, _) => controls.iter_mut().zip(rows).for_each(|(controls, row)| *controls = row >> shift),
            (2, (rows, [])) => {
                for (controls, [first, second]) in controls.iter_mut().zip(rows) {
                    *controls = if word == 1 {
                        second >> shift
                    } else {
                        first >> shift | second << 1 << (63 - shift)
                    };
                }
            }
            (each, _) => {
                for (controls, row) in controls.iter_mut().zip(rows.chunks_exact(each)) {
                    *controls = self.controls_of(row);
                }
            }
        }
    }

    /// Whether in all of some cycles a request to query or to insert is offered, a response is taken, and nothing is reset.
    #[inline(always)]
    pub fn all_flow(&self, controls: &[u64]) -> bool {
        let always = controls.iter().fold(u64::MAX, |all, control| all & control) >> self.tag_w;
        let ever = controls.iter().fold(0, |all, control| all | control) >> self.tag_w;
        always & 0b01100 == 0b01100 && ever & 0b10010 == 0
    }

    /// The tag among [`FilterPins::controls_of`] a row.
    #[inline(always)]
    pub fn tag_of(&self, controls: u64) -> u64 {
        controls & self.tag_mask
    }

    /// The operation among [`FilterPins::controls_of`] a row.
    #[inline(always)]
    pub fn op_of(&self, controls: u64) -> Op {
        Op::from_bits(controls >> self.tag_w)
    }

    /// 1 for an insert, 0 for a query, among [`FilterPins::controls_of`] a row.
    #[inline(always)]
    pub(crate) fn inserts(&self, controls: u64) -> u64 {
        controls >> self.tag_w & 1
    }

    /// All input pins but the key.
    #[inline]
    fn read_controls(&self, row: &[u64]) -> Inputs {
        let rest = self.controls_of(row);
        let control = rest >> self.tag_w;
        Inputs {
            tag: rest & self.tag_mask,
            op: Op::from_bits(control),
            req_valid: control & 4 != 0,
            rsp_ready: control & 8 != 0,
            rst: control & 16 != 0,
        }
    }

    /// Writes an input row; `key` has no bits above its width.
    #[inline]
    pub fn write_inputs(&self, inputs: &Inputs, key: &[u64], row: &mut [u64]) {
        let control = inputs.op as u64
            | u64::from(inputs.req_valid) << 2
            | u64::from(inputs.rsp_ready) << 3
            | u64::from(inputs.rst) << 4;
        let rest = inputs.tag & self.tag_mask | control << self.tag_w;
        match self.key_words {
            1 => row[0] = key[0],
            words => row[..words].copy_from_slice(&key[..words]),
        }
        // The other pins are less than a word.
        if let Some(above) = row.get_mut(self.key_words) {
            *above = 0;
        }
        let (word, shift) = self.controls;
        row[word] |= rest << shift;
        if shift + self.tag_w + CONTROL_W > 64 {
            row[word + 1] |= rest >> (64 - shift);
        }
    }

    /// Reads an output row.
    #[inline]
    pub fn read_outputs(&self, row: &[u64]) -> Outputs {
        let level = row[0] >> self.tag_w;
        let control = level >> self.level_w;
        Outputs {
            tag: row[0] & self.tag_mask,
            level: level & self.level_mask,
            status: (control & 3) as u8,
            hit: control & 4 != 0,
            rsp_valid: control & 8 != 0,
            req_ready: control & 16 != 0,
            busy: control & 32 != 0,
            parity_error: control & 64 != 0,
        }
    }

    /// Whether a request is an insert, and its tag, if it is a query or an insert, no reset comes with it, and a response
    /// would be taken: most cycles of a busy core.
    #[inline(always)]
    pub(crate) fn saturating(&self, row: &[u64]) -> Option<(bool, u64)> {
        let controls = self.controls_of(row);
        let inserts = controls >> self.tag_w & 1 == 1;
        self.all_flow(&[controls]).then_some((inserts, self.tag_of(controls)))
    }

    /// Writes an output row.
    #[inline]
    pub fn write_outputs(&self, outputs: &Outputs, row: &mut [u64]) {
        row[0] = self.pack_outputs(outputs);
    }

    /// The one word of an output row.
    #[inline]
    pub fn pack_outputs(&self, outputs: &Outputs) -> u64 {
        let control = u64::from(outputs.status & 3)
            | u64::from(outputs.hit) << 2
            | u64::from(outputs.rsp_valid) << 3
            | u64::from(outputs.req_ready) << 4
            | u64::from(outputs.busy) << 5
            | u64::from(outputs.parity_error) << 6;
        let level = outputs.level & self.level_mask;
        outputs.tag & self.tag_mask | level << self.tag_w | control << (self.tag_w + self.level_w)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_that_straddle_words_are_set_alone() {
        let map = PinMap::new([("low", 50), ("over", 40), ("high", 30)], [("out", 1)]);
        let mut row = vec![u64::MAX; map.input_words()];
        let (over, value) = (&map.inputs()[1], 0x12_3456_789a);
        over.put(&mut row, value);
        assert_eq!(over.get(&row), value);
        assert_eq!(row, [u64::MAX >> 14 | value << 50, u64::MAX << 26 | value >> 14]);
        // A tag and a level that leave no room for other pins in a word: no filter's.
        let outputs = [("req_ready", 1), ("level", 40)];
        assert!(FilterPins::of(&PinMap::new([("key", 64), ("tag", 32)], outputs)).is_none());
    }

    #[test]
    fn rows_round_trip_at_awkward_widths() {
        for (key_w, tag_w, level_w) in
            [(1, 1, 1), (63, 32, 5), (64, 8, 1), (65, 31, 9), (100, 32, 16), (200, 32, 16)]
        {
            let pins = FilterPins::new(key_w, tag_w, level_w);
            assert_eq!(FilterPins::of(pins.map()).unwrap().map(), pins.map());
            let tag = 0xdead_beef_0123_4567 & (u64::MAX >> (64 - tag_w));
            let mut key = vec![u64::MAX; pins.key_words()];
            key[pins.key_words() - 1] = u64::MAX >> ((64 - key_w % 64) % 64);
            let inputs = Inputs { rst: false, req_valid: true, op: Op::Remove, tag, rsp_ready: true };
            let mut row = vec![0; pins.map().input_words()];
            pins.write_inputs(&inputs, &key, &mut row);
            let mut back = vec![0; pins.key_words()];
            assert_eq!(pins.read_inputs(&row, &mut back), inputs);
            assert_eq!(back, key);
            let controls = pins.controls_of(&row);
            assert_eq!((pins.tag_of(controls), pins.op_of(controls)), (tag, Op::Remove));
            let (rows, mut all) = ([row.clone(), vec![0; row.len()], row.clone()].concat(), [1; 3]);
            pins.controls_of_all(&rows, &mut all);
            assert_eq!(all, [controls, 0, controls]);
            let named: Vec<_> = pins.map().inputs()[1..].iter().map(|pin| pin.get(&row)).collect();
            assert_eq!(named, [tag, 2, 1, 1, 0]);
            assert_eq!(pins.map().inputs()[0].get_wide(&row), key);

            let outputs = Outputs {
                req_ready: true,
                rsp_valid: false,
                hit: true,
                status: 2,
                tag,
                busy: false,
                level: 1,
                parity_error: true,
            };
            let mut row = vec![0; pins.map().output_words()];
            pins.write_outputs(&outputs, &mut row);
            assert_eq!(pins.read_outputs(&row), outputs);
            // The shifts agree with the map that everybody else goes by.
            let named: Vec<_> = pins.map().outputs().iter().map(|pin| pin.get(&row)).collect();
            assert_eq!(named, [tag, 1, 2, 1, 0, 1, 0, 1]);
        }
    }

    #[test]
    fn all_that_moves_flows() {
        for (key_w, tag_w) in [(8, 4), (63, 32), (64, 8)] {
            let pins = FilterPins::new(key_w, tag_w, 1);
            let controls = |inputs: Inputs| {
                let mut row = vec![0; pins.map().input_words()];
                pins.write_inputs(&inputs, &[0; 2], &mut row);
                pins.controls_of(&row)
            };
            let insert = Inputs { req_valid: true, rsp_ready: true, op: Op::Insert, tag: 3, rst: false };
            let query = Inputs { op: Op::Query, tag: 12, ..insert };
            assert!(pins.all_flow(&[insert, query].map(controls)));
            for other in [
                Inputs { req_valid: false, ..query },
                Inputs { rsp_ready: false, ..query },
                Inputs { op: Op::Remove, ..query },
                Inputs { op: Op::Clear, ..query },
                Inputs { rst: true, ..query },
            ] {
                assert!(!pins.all_flow(&[insert, query, other, insert].map(controls)), "{other:?}");
            }
        }
    }

    #[test]
    fn wide_pins_keep_their_neighbours() {
        let map = PinMap::new([("a", 3), ("b", 130), ("c", 9)], []);
        let mut row = vec![u64::MAX; map.input_words()];
        map.inputs()[1].put_wide(&mut row, &[0, 0x55, 0b10]);
        assert_eq!(map.inputs()[1].get_wide(&row), [0, 0x55, 0b10]);
        assert_eq!(map.inputs()[0].get(&row), 7);
        assert_eq!(map.inputs()[2].get(&row), 0x1ff);
    }
}
