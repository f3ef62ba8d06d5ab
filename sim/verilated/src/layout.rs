//! Where each pin lies in a packed row.

use serde::{Deserialize, Serialize};

/// One pin's place in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinSlot {
    /// The port's name in the Verilog source.
    pub name: String,
    /// Position of the pin's lowest bit in the row.
    pub lsb: usize,
    /// Width in bits.
    pub width: usize,
}

/// How the pins of one side are packed into a row of words.
///
/// ```
/// use verilated::{Layout, PinSlot};
///
/// let layout = Layout {
///     pins: vec![
///         PinSlot { name: "valid".into(), lsb: 0, width: 1 },
///         PinSlot { name: "data".into(), lsb: 1, width: 64 },
///     ],
/// };
/// assert_eq!((layout.bits(), layout.words()), (65, 2));
///
/// let data = layout.pin("data").unwrap();
/// let mut row = [0; 2];
/// Layout::set(&mut row, data, &[u64::MAX]);
/// assert_eq!(row, [!1, 1]);
/// assert_eq!(Layout::get(&row, data), [u64::MAX]);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The pins, the one at bit 0 first.
    pub pins: Vec<PinSlot>,
}

impl Layout {
    /// Packs pins of the given names and widths one after another.
    pub(crate) fn pack<'a>(pins: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let mut lsb = 0;
        let place = |(name, width): (&str, usize)| {
            let slot = PinSlot { name: name.to_owned(), lsb, width };
            lsb += width;
            slot
        };
        Self { pins: pins.into_iter().map(place).collect() }
    }

    /// Bits used in a row.
    pub fn bits(&self) -> usize {
        self.pins.last().map_or(0, |pin| pin.lsb + pin.width)
    }

    /// Words of 64 bits in a row: one row holds one cycle.
    pub fn words(&self) -> usize {
        self.bits().div_ceil(64)
    }

    /// The place of the pin called `name`.
    pub fn pin(&self, name: &str) -> Option<&PinSlot> {
        self.pins.iter().find(|pin| pin.name == name)
    }

    /// Reads one pin from a row: `width.div_ceil(64)` words, low word first.
    ///
    /// # Panics
    /// If the row is too short to hold the pin.
    pub fn get(row: &[u64], pin: &PinSlot) -> Vec<u64> {
        (0..pin.width.div_ceil(64))
            .map(|i| {
                let (at, bits) = (pin.lsb + 64 * i, (pin.width - 64 * i).min(64));
                let (word, shift) = (at / 64, at % 64);
                let mut value = row[word] >> shift;
                if shift + bits > 64 {
                    value |= row[word + 1] << (64 - shift);
                }
                value & mask(bits)
            })
            .collect()
    }

    /// Writes one pin into a row and leaves the others alone. Words that
    /// `value` lacks count as zero; bits beyond the pin's width are dropped.
    ///
    /// # Panics
    /// If the row is too short to hold the pin.
    pub fn set(row: &mut [u64], pin: &PinSlot, value: &[u64]) {
        for i in 0..pin.width.div_ceil(64) {
            let (at, bits) = (pin.lsb + 64 * i, (pin.width - 64 * i).min(64));
            let (word, shift) = (at / 64, at % 64);
            let bits_set = value.get(i).copied().unwrap_or(0) & mask(bits);
            row[word] = row[word] & !(mask(bits) << shift) | bits_set << shift;
            if shift + bits > 64 {
                let up = 64 - shift;
                row[word + 1] = row[word + 1] & !(mask(bits) >> up) | bits_set >> up;
            }
        }
    }
}

/// The lowest `bits` bits set; `bits` is 1 to 64.
pub(crate) fn mask(bits: usize) -> u64 {
    u64::MAX >> (64 - bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_straddle_words_and_leave_neighbours_alone() {
        let layout = Layout::pack([("a", 60), ("b", 130), ("c", 3)]);
        assert_eq!((layout.bits(), layout.words()), (193, 4));
        let b = layout.pin("b").unwrap();
        let mut row = vec![u64::MAX; 4];
        Layout::set(&mut row, b, &[0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0b110]);
        assert_eq!(
            Layout::get(&row, b),
            [0x0123_4567_89ab_cdef, 0xfedc_ba98_7654_3210, 0b10],
            "bits above the pin's width are dropped"
        );
        assert_eq!(Layout::get(&row, layout.pin("a").unwrap()), [mask(60)]);
        assert_eq!(Layout::get(&row, layout.pin("c").unwrap()), [7]);
    }

    #[test]
    fn nothing_to_pack() {
        let layout = Layout::pack([]);
        assert_eq!((layout.bits(), layout.words()), (0, 0));
    }
}
