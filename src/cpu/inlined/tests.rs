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
    fn check_on(asks: impl Fn(Inlined, AllRows, Pair) -> bool) {
        check::<8>(
            asks,
            [0x3f3f_3f3f_3f3f_3f3f, u64::MAX],
            [0; 2],
            (32, |words| words[1] & 0xffff_ffff),
            |words| {
                (0..).zip(words[0].to_le_bytes()).map(|(i, down)| 64 * i + 63 - u64::from(down)).collect()
            },
        );
    }
    check_on(Inlined::one_of_each_64);
    if let Some(wider) = Cpu::detect().inlined_wider() {
        check_on(|_, rows, bits| wider.one_of_each_64(rows, bits));
    }
}

#[test]
fn bits_of_a_whole_row() {
    /// Bit 3 of a byte of the high word, times 128, is the first bit of the quarter.
    fn bits(words: [u64; 2]) -> Vec<u64> {
        let both = words[0].to_le_bytes().into_iter().zip(words[1].to_le_bytes()).take(7);
        let bit = |(low, high): (u8, u8)| {
            let (low, high) = (u64::from(low), u64::from(high));
            (high >> 7) * 256 + (high >> 3 & 1) * 128 + (low & 15) * 8 + (high & 7)
        };
        both.map(bit).collect()
    }
    fn check_on(asks: impl Fn(Inlined, AllRows, Pair) -> bool) {
        check::<4>(asks, [u64::MAX; 2], [0; 2], (32, |words| words[1] & 0xffff_ffff), |words| {
            let bit = |byte: u8| 32 * u64::from(byte & 7) + 31 - u64::from(byte >> 3);
            words[0].to_le_bytes().map(bit).to_vec()
        });
    }
    check_on(Inlined::all_of_256);
    if let Some(wider) = Cpu::detect().inlined_wider() {
        check_on(|_, rows, bits| wider.all_of_256(rows, bits));
    }
    check::<8>(
        |level: Inlined, rows, bits| level.all_of_512(rows, bits),
        [0x000f_0f0f_0f0f_0f0f | ROOM_OF_512, 0x008f_8f8f_8f8f_8f8f],
        [0, 0x80 << 56],
        (29, |words| extracted(words[0], ROOM_OF_512)),
        bits,
    );
}

#[test]
fn bits_of_a_whole_row_in_one_vector() {
    let Some(wider) = Cpu::detect().inlined_wider() else { return };
    check::<8>(
        |_, rows, bits| wider.all_of_512(rows, bits),
        [u64::MAX; 2],
        [0; 2],
        (32, |words| words[1] & 0xffff_ffff),
        |words| {
            let number = |i: u32| words[0] >> (9 * i) & 511;
            (0..7).map(|i| 64 * (number(i) & 7) + 63 - (number(i) >> 3)).collect()
        },
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
        assert!(level.one_of_each_64(rows, bits) && level.all_of_256(rows, bits));
    }
}
