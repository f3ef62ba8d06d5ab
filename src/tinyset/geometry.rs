//! How `ARRAY` bits are shared out among C slots.

/// Widths of the fingerprints of a block with C slots: `s + 1` bits in the first
/// `extended` slots (the paper's mod), `s` in the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// Bits of a fingerprint that every slot has.
    pub s: u32,
    /// Slots with one bit more.
    pub extended: u32,
}

impl Shape {
    /// The shape of a block with `slots` slots: `s = floor(array / slots) - 1`, because
    /// each slot also has a last bit, and `array mod slots` slots get what is left.
    pub fn new(array: u32, f_max: u32, slots: u32) -> Self {
        if slots == 0 {
            return Self { s: f_max, extended: 0 };
        }
        let s = (array / slots).saturating_sub(1);
        if s >= f_max { Self { s: f_max, extended: 0 } } else { Self { s, extended: array % slots } }
    }

    /// Bits of the fingerprint in slot `i`.
    #[inline]
    pub fn width(self, i: u32) -> u32 {
        self.s + u32::from(i < self.extended)
    }

    /// Bits of all fingerprints before slot `i`.
    #[inline]
    pub fn offset(self, i: u32) -> u32 {
        i * self.s + i.min(self.extended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worked_shapes() {
        // Figure 5: 24 bits, 4 then 5 items.
        assert_eq!(Shape::new(24, 5, 4), Shape { s: 5, extended: 0 });
        assert_eq!(Shape::new(24, 5, 5), Shape { s: 3, extended: 4 });
        assert_eq!(Shape::new(24, 4, 4), Shape { s: 4, extended: 0 });
        assert_eq!(Shape::new(448, 21, 64), Shape { s: 6, extended: 0 });
        assert_eq!(Shape::new(448, 21, 224), Shape { s: 1, extended: 0 });
    }

    #[test]
    fn slots_and_last_bits_fit_and_fill_the_array() {
        for array in [3, 8, 24, 217, 448] {
            for f_max in [1, 4, 21] {
                for slots in 1..=array {
                    let shape = Shape::new(array, f_max, slots);
                    let used = slots + shape.offset(slots);
                    assert!(used <= array);
                    assert!(used == array || shape == Shape { s: f_max, extended: 0 });
                    assert!((0..slots).all(|i| shape.width(i) <= f_max));
                    assert!((0..slots).all(|i| shape.offset(i) + shape.width(i) == shape.offset(i + 1)));
                }
            }
        }
    }

    /// The two statements that the repacking network rests on, over all C and positions
    /// (and over every `F_MAX` up to the square root of `ARRAY`): an insert drops at most
    /// `F_MAX` + 1 bits in all, and no slot loses more than one.
    #[test]
    fn an_insert_drops_few_bits_and_one_per_slot() {
        let arrays = (2..=120).chain([217, 224, 432, 440, 448, 511, 512]);
        for array in arrays {
            let root = f64::from(array).sqrt() as u32;
            for f_max in 1..=root {
                for slots in 1..array / 2 {
                    let (old, new) = (Shape::new(array, f_max, slots), Shape::new(array, f_max, slots + 1));
                    for p in 0..=slots {
                        let dropped =
                            (0..slots).map(|i| old.width(i) - new.width(if i < p { i } else { i + 1 }));
                        let (sum, most) = dropped.fold((0, 0), |(sum, most), d| (sum + d, most.max(d)));
                        assert!(most <= 1, "ARRAY {array} F_MAX {f_max} C {slots} p {p}");
                        assert!(sum <= new.width(p) + 1 && sum <= f_max + 1);
                    }
                }
            }
            // One step beyond the square root it fails for some array.
        }
        let (old, new) = (Shape::new(8, 3, 2), Shape::new(8, 3, 3));
        assert_eq!(old.width(1) - new.width(2), 2);
    }
}
