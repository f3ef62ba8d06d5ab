use std::panic::catch_unwind;

use super::{
    super::{Cpu, Level, Work},
    *,
};
use crate::hash::SplitMix64;

/// For those that have it.
fn widest() -> Option<InlinedWidest> {
    Cpu::detect().inlined_widest()
}

fn levels() -> impl Iterator<Item = Inlined> {
    Cpu::levels().into_iter().filter_map(Cpu::inlined)
}

#[test]
fn sums_are_what_the_bits_add() {
    let mut rng = SplitMix64::new(16);
    let mut pair = || [rng.next_u64(), rng.next_u64()];
    let (constant, columns) = (pair(), [(); 64].map(|()| pair()));
    let tables = Pairs::new(constant, &columns);
    let single = (0..64).map(|bit| 1 << bit);
    let words = single.chain([0, u64::MAX]).chain((0..10_000).map(|_| rng.next_u64()));
    for word in words {
        let added = (0..64).filter(|bit| word >> bit & 1 == 1).map(|bit| columns[bit]);
        let expected = added.fold(constant, |sum, column| [sum[0] ^ column[0], sum[1] ^ column[1]]);
        for level in levels() {
            assert_eq!(level.sum::<0>(&tables, word).words(), expected, "{word:#x}");
        }
    }
}

/// Rows of which few bits are missing: else no one would ever have all that are asked for.
fn rows<const N: usize>(rng: &mut SplitMix64) -> Vec<[u64; N]> {
    (0..2 + rng.below(20))
        .map(|_| [(); N].map(|()| (0..4).fold(0, |bits, _| bits | rng.next_u64())))
        .collect()
}

fn is_set(row: &[u64], bit: u64) -> bool {
    row[bit as usize / 64] >> (bit % 64) & 1 == 1
}

/// Each of a hash's two words is random where it may be, and what is asked for is what `field`, of so many bits, and
/// `bits` say.
fn check<const N: usize>(
    asks: impl Fn(Inlined, AllRows, Pair) -> bool,
    used: [u64; 2],
    always: [u64; 2],
    (field_w, field): (u32, impl Fn([u64; 2]) -> u64),
    bits: impl Fn([u64; 2]) -> Vec<u64>,
) {
    let mut rng = SplitMix64::new(17);
    let mut seen = [0; 2];
    for _ in 0..10_000 {
        let rows = rows::<N>(&mut rng);
        let words = [0, 1].map(|i| rng.next_u64() & used[i] | always[i]);
        let row = (field(words) * rows.len() as u64) >> field_w;
        let expected = bits(words).into_iter().all(|bit| is_set(&rows[row as usize], bit));
        for level in levels() {
            assert_eq!(
                asks(level, AllRows::new(rows.as_flattened()), Pair::read(&words)),
                expected,
                "{words:#x?}, row {row}"
            );
        }
        seen[usize::from(expected)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 1000), "{seen:?}");
}

/// The bits of a word where a mask is set, from bit 0 on.
fn extracted(word: u64, mask: u64) -> u64 {
    Cpu::portable().run(Extract(word, mask))
}

struct Extract(u64, u64);

impl Work for Extract {
    type Output = u64;

    fn run<L: Level>(self, level: L) -> u64 {
        level.extract(self.0, self.1)
    }
}

#[test]
fn one_bit_of_each_part() {
    let field = || (32, |words: [u64; 2]| words[1] & 0xffff_ffff);
    let bytes = |word: u64| word.to_le_bytes().map(u64::from);
    check::<4>(
        |level: Inlined, rows, bits| level.one_of_each_32(rows, bits),
        [0x1f1f_1f1f_1f1f_1f1f, u64::MAX],
        [0; 2],
        field(),
        |words| (0..).zip(bytes(words[0])).map(|(i, down)| 32 * i + 31 - down).collect(),
    );
    check::<8>(
        |level: Inlined, rows, bits| level.one_of_each_64(rows, bits),
        [0x3f3f_3f3f_3f3f_3f3f, u64::MAX],
        [0; 2],
        field(),
        |words| (0..).zip(bytes(words[0])).map(|(i, down)| 64 * i + 63 - down).collect(),
    );
}

#[test]
fn bits_of_a_whole_row() {
    /// Bit 3 of a byte of the high word, times 128, is the first bit of the half or quarter.
    fn bits(words: [u64; 2], count: usize) -> Vec<u64> {
        let both = words[0].to_le_bytes().into_iter().zip(words[1].to_le_bytes()).take(count);
        let bit = |(low, high): (u8, u8)| {
            let (low, high) = (u64::from(low), u64::from(high));
            (high >> 7) * 256 + (high >> 3 & 1) * 128 + (low & 15) * 8 + (high & 7)
        };
        both.map(bit).collect()
    }
    const NUMBERS: u64 = 0x0f0f_0f0f_0f0f_0f0f;
    check::<4>(
        |level: Inlined, rows, bits| level.all_of_256(rows, bits),
        [NUMBERS | ROOM_OF_256, NUMBERS | MORE_ROOM_OF_256],
        [0; 2],
        (32, |words| extracted(words[0], ROOM_OF_256) | extracted(words[1], MORE_ROOM_OF_256) << 24),
        |words| bits(words, 8),
    );
    check::<8>(
        |level: Inlined, rows, bits| level.all_of_512(rows, bits),
        [NUMBERS >> 8 | ROOM_OF_512, 0x008f_8f8f_8f8f_8f8f],
        [0, 0x80 << 56],
        (29, |words| extracted(words[0], ROOM_OF_512)),
        |words| bits(words, 7),
    );
}

#[test]
fn bits_of_a_whole_row_in_fewer_instructions() {
    let Some(widest) = widest() else { return };
    // Bits above the numbers are no matter.
    let bits = |words: [u64; 2], bytes: u64| -> Vec<u64> {
        let number = |i: usize| {
            let (byte, bit) = (words[1] >> (8 * i) & (bytes - 1), words[0] >> (32 + 4 * i) & 7);
            8 * byte + bit
        };
        (0..8).map(number).collect()
    };
    let field = || (32, |words: [u64; 2]| words[0] & 0xffff_ffff);
    check::<4>(
        |_, rows, bits| widest.all_of_256(rows, bits),
        [u64::MAX; 2],
        [0; 2],
        field(),
        |words| bits(words, 32),
    );
    check::<8>(
        |_, rows, bits| widest.all_of_512(rows, bits),
        [u64::MAX; 2],
        [0; 2],
        field(),
        |words| bits(words, 64),
    );
}

/// What makes it safe not to check each row.
#[test]
fn less_than_a_row_is_refused() {
    assert!(catch_unwind(|| AllRows::new(&[0; 7])).is_err());
    let bits = Pair::read(&[0, u64::MAX]);
    for level in levels() {
        // All fields of one row lead to it.
        let rows = AllRows::new(&[u64::MAX; 8]);
        assert!(level.one_of_each_64(rows, bits) && level.one_of_each_32(rows, bits));
    }
}
