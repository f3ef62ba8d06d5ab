//! Every level computes what is defined, bit for bit.

use super::*;
use crate::hash::SplitMix64;

struct All(u64, u64, [u64; 8]);

impl Work for All {
    type Output = (u64, u64, [u64; 65], [u64; 4], ([u64; 4], [u64; 8]), [bool; 2]);

    fn run<L: Level>(self, level: L) -> Self::Output {
        let Self(word, mask, row) = self;
        let lows = std::array::from_fn(|n| level.low(n as u32));
        let [a, b, c, d, ..] = row;
        let set = [level.all_of_256(&[a, b, c, d], word), level.all_of_512(&row, word)];
        let some = (level.some_of_256(word), level.some_of_512(word));
        (level.extract(word, mask), level.deposit(word, mask), lows, level.one_of_32(word), some, set)
    }
}

/// The bits of a group of keys: whether rows have them, on levels that know another way for a group than for one; and the rows
/// with them, and whether they had them before.
struct Group<const N: usize>(Numbers, [u64; GROUP], Vec<[u64; N]>, [u32; GROUP]);

/// What is found, and put.
type Grouped<const N: usize> = ([bool; GROUP], Option<([bool; GROUP], Vec<[u64; N]>)>);

impl<const N: usize> Work for Group<N> {
    type Output = Option<Grouped<N>>;

    fn run<L: Level>(self, level: L) -> Self::Output {
        let Self(numbers, words, mut rows, chosen) = self;
        let starts = chosen.map(|row| row * N as u32);
        let (mut found, mut there) = ([false; GROUP], [false; GROUP]);
        let told = std::cell::RefCell::new(Vec::new());
        let tell = |i| told.borrow_mut().push(i);
        let is_told = || told.take().into_iter().eq((0..GROUP).step_by(2));
        if !level.find_in_group(
            numbers,
            &words,
            Rows::<N>::new(rows.as_flattened(), &starts),
            tell,
            &mut found,
        ) {
            return None;
        }
        assert!(is_told());
        let mut put = RowsMut::<N>::new(rows.as_flattened_mut(), &starts);
        let all = |i: usize, hit: bool| there[i] = hit;
        let mut ready = Ready::default();
        level.make_ready(numbers, &words, &mut ready);
        let has_put = level.put_in_group(numbers, (&words, &ready), &mut put, |_, i| tell(i), all);
        assert!(!has_put || is_told());
        Some((found, has_put.then_some((there, rows))))
    }
}

/// A mask by one of the ways for one key.
struct Masked(Numbers, u64);

impl Work for Masked {
    type Output = [u64; 8];

    fn run<L: Level>(self, level: L) -> [u64; 8] {
        let longer = |row: [u64; 4]| std::array::from_fn(|i| row.get(i).copied().unwrap_or(0));
        match self.0 {
            Numbers::OneOf32 => longer(level.one_of_32(self.1)),
            Numbers::OneOf64 => level.one_of_64(self.1),
            Numbers::SomeOf256 => longer(level.some_of_256(self.1)),
            Numbers::SomeOf512 => level.some_of_512(self.1),
        }
    }
}

fn check_groups<const N: usize>(numbers: Numbers) {
    let mut rng = SplitMix64::new(15);
    let mut seen = [[0; 2]; 2];
    for n in 0..2_000 {
        let rows: Vec<[u64; N]> = (0..=rng.below(40))
            .map(|_| [(); N].map(|()| (0..n % 7).fold(0, |bits, _| bits | rng.next_u64())))
            .collect();
        let chosen = [(); GROUP].map(|()| rng.below(rows.len() as u64) as u32);
        // Numbers come again in some keys: twice, often, and all the same.
        let few = [u64::MAX, 0x8181_8181_8181_8181, 0x0101_0101_0101_0101, 0][n % 4];
        let words = [(); GROUP].map(|()| rng.next_u64() & (few | 0xff << 56));
        let (mut found, mut there, mut expected) = ([false; GROUP], [false; GROUP], rows.clone());
        for i in 0..GROUP {
            let mask = *Cpu::portable().run(Masked(numbers, words[i])).first_chunk().unwrap();
            found[i] = rows::has(&rows[chosen[i] as usize], &mask);
            there[i] = rows::put(&mut expected[chosen[i] as usize], &mask);
            seen[0][usize::from(found[i])] += 1;
            seen[1][usize::from(there[i])] += 1;
        }
        for cpu in Cpu::levels() {
            let grouped = cpu.run(Group(numbers, words, rows.clone(), chosen));
            assert_eq!(grouped.is_some(), cpu.inlined_wider().is_some());
            if let Some((grouped, put)) = grouped {
                assert_eq!(grouped, found, "{cpu:?}, {numbers:?}");
                assert_eq!(put.is_some(), cpu.has_products());
                assert!(put.is_none_or(|put| put == (there, expected.clone())), "{cpu:?}, {numbers:?}");
            }
        }
    }
    assert!(seen.as_flattened().iter().all(|count| *count > 5_000), "{seen:?}");
}

#[test]
fn every_level_does_with_a_group_what_it_does_with_one() {
    check_groups::<4>(Numbers::OneOf32);
    check_groups::<8>(Numbers::OneOf64);
    check_groups::<4>(Numbers::SomeOf256);
    check_groups::<8>(Numbers::SomeOf512);
}

/// What makes it safe to read rows as vectors.
#[test]
fn rows_of_another_length_are_refused() {
    fn is_refused<const N: usize>(numbers: Numbers) {
        for cpu in Cpu::levels().into_iter().filter(|cpu| cpu.inlined_wider().is_some()) {
            let group = || cpu.run(Group(numbers, [0; GROUP], vec![[0; N]], [0; GROUP]));
            assert!(std::panic::catch_unwind(group).is_err(), "{N} words, {numbers:?}");
        }
    }
    is_refused::<2>(Numbers::OneOf32);
    is_refused::<4>(Numbers::OneOf64);
    is_refused::<8>(Numbers::SomeOf256);
    is_refused::<1>(Numbers::SomeOf512);
}

/// Two keys at once.
struct Two([u64; 2], [[u64; 8]; 2]);

impl Work for Two {
    type Output = [[bool; 2]; 2];

    fn run<L: Level>(self, level: L) -> Self::Output {
        let Self(bits, [first, second]) = &self;
        let short = [first, second].map(|row| row.first_chunk().unwrap());
        [level.all_of_two_256(short, *bits), level.all_of_two_512([first, second], *bits)]
    }
}

#[test]
fn two_keys_are_what_each_is() {
    let mut rng = SplitMix64::new(19);
    for n in 0..20_000 {
        let row =
            |rng: &mut SplitMix64| [(); 8].map(|()| (0..n % 7).fold(0, |bits, _| bits | rng.next_u64()));
        let (bits, rows) = ([rng.next_u64(), rng.next_u64()], [row(&mut rng), row(&mut rng)]);
        let [first, second] = [0, 1].map(|i| Cpu::portable().run(All(bits[i], 0, rows[i])).5);
        for cpu in Cpu::levels() {
            assert_eq!(cpu.run(Two(bits, rows)), [[first[0], second[0]], [first[1], second[1]]], "{cpu:?}");
        }
    }
}

/// Eight words with a bit each, and two rows with them put in: whether they were there.
struct Put([u64; 8], u64);

impl Work for Put {
    type Output = ([u64; 8], [u64; 8], [u64; 4], [bool; 2]);

    fn run<L: Level>(self, level: L) -> Self::Output {
        let Self(mut row, bits) = self;
        let mask = level.one_of_64(bits);
        let [a, b, c, d, ..] = row;
        let [e, f, g, h, ..] = mask;
        let mut half = [a, b, c, d];
        let set = [level.put(&mut row, &mask), level.put(&mut half, &[e, f, g, h])];
        (mask, row, half, set)
    }
}

#[test]
fn every_level_puts_the_same_bits() {
    let mut rng = SplitMix64::new(11);
    let mut seen = [[0; 2]; 2];
    for n in 0..5_000 {
        let bits = rng.next_u64();
        let row = [(); 8].map(|()| (0..n % 7).fold(0, |bits, _| bits | rng.next_u64()));
        let expected: [u64; 8] = std::array::from_fn(|i| 1 << (bits >> (6 * i) & 63));
        let there = |words: usize| (0..words).all(|i| row[i] & expected[i] != 0);
        for cpu in Cpu::levels() {
            let (mask, new, half, set) = cpu.run(Put(row, bits));
            assert_eq!((mask, set), (expected, [there(8), there(4)]), "{cpu:?}");
            assert!((0..8).all(|i| new[i] == row[i] | mask[i]), "{cpu:?}");
            assert_eq!(half, *new.first_chunk().unwrap(), "{cpu:?}");
        }
        for (seen, words) in seen.iter_mut().zip([8, 4]) {
            seen[usize::from(there(words))] += 1;
        }
    }
    assert!(seen.as_flattened().iter().all(|count| *count > 100), "{seen:?}");
}

#[test]
fn words_from_any_byte_on() {
    let row = [0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908];
    for byte in 0..=8 {
        let expected = std::array::from_fn(|i| byte as u8 + i as u8);
        assert_eq!(word_at(&row, byte).to_le_bytes(), expected);
    }
    assert!(
        [9, 16, usize::MAX].iter().all(|byte| std::panic::catch_unwind(|| word_at(&row, *byte)).is_err())
    );
}

struct Ones;

impl Question<Reads<u32>> for Ones {
    fn ask<L: Level>(level: L, least: &u32, key: u64) -> bool {
        level.extract(u64::MAX, key).trailing_ones() >= *least
    }
}

impl Question<Changes<u32, u32>> for Ones {
    fn ask<L: Level>(level: L, sum: &mut u32, key: u64) -> u32 {
        *sum += level.extract(u64::MAX, key).trailing_ones();
        *sum
    }
}

#[test]
fn questions_are_answered_on_every_level() {
    for cpu in Cpu::levels() {
        let asked = cpu.asks::<Reads<_>, Ones>();
        assert!(asked.ask(&3, 0b1011) && !asked.ask(&4, 0b1011), "{cpu:?} {asked:?}");
        let (mut sum, asked) = (0, cpu.asks::<Changes<_, _>, Ones>());
        assert_eq!([0b1011, 1, 0].map(|key| asked.ask(&mut sum, key)), [3, 4, 4], "{cpu:?} {asked:?}");
        assert_eq!(sum, 4);
    }
}

struct Products<'a>(&'a [Matrix; 2], &'a [u64; GROUP], [[u64; GROUP]; 2]);

impl Work for Products<'_> {
    type Output = [[[u64; GROUP]; 2]; 2];

    fn run<L: Level>(mut self, level: L) -> Self::Output {
        let mut set = self.2;
        level.set_products(self.0, self.1, &mut set);
        level.add_products(self.0, self.1, &mut self.2);
        [self.2, set]
    }
}

#[test]
fn every_level_multiplies_as_defined() {
    let mut rng = SplitMix64::new(9);
    for used in [u64::MAX, 0x00ff_ffff_ffff_ffff, 0x00ff_ff3f_00ff_ffff, 0xffff, 0x0f00_0000_0000_0000] {
        let columns = [used, u64::MAX].map(|used| [(); 64].map(|()| rng.next_u64() & used));
        let (keys, sums) =
            ([(); GROUP].map(|()| rng.next_u64()), [[(); GROUP]; 2].map(|s| s.map(|()| rng.next_u64())));
        // Some levels leave out what is never other than zero.
        let constants = [rng.next_u64() & used, rng.next_u64()];
        let matrices = [0, 1].map(|m| Matrix::new(&columns[m], constants[m]));
        for cpu in Cpu::levels() {
            let [products, set] = cpu.run(Products(&matrices, &keys, sums));
            for m in 0..2 {
                for (i, key) in keys.into_iter().enumerate() {
                    let expected = (0..64)
                        .filter(|bit| key >> bit & 1 == 1)
                        .fold(sums[m][i], |sum, bit| sum ^ columns[m][bit]);
                    assert_eq!(products[m][i], expected, "{cpu:?}, {used:#x}");
                    assert_eq!(set[m][i], expected ^ sums[m][i] ^ constants[m], "{cpu:?}, {used:#x}");
                }
            }
        }
    }
}

struct Select<'a>(&'a [Matrix], u32, &'a [[u64; GROUP]], usize);

impl Work for Select<'_> {
    type Output = Vec<[u32; GROUP]>;

    fn run<L: Level>(self, level: L) -> Self::Output {
        let Self(matrices, n, keys, groups) = self;
        let arranged: Vec<_> = keys.iter().map(|keys| level.arranged(*keys)).collect();
        let mut numbers = vec![[u32::MAX; GROUP]; groups];
        level.select(matrices, n, &arranged, &mut numbers);
        numbers
    }
}

/// By hashes of few bytes and of many, of keys of one word and of more, for groups in pairs and alone.
#[test]
fn every_level_selects_as_defined() {
    let mut rng = SplitMix64::new(13);
    for (width, words, groups) in [
        (0, 1, 1),
        (7, 1, 2),
        (22, 1, 3),
        (24, 2, 2),
        (26, 1, 4),
        (32, 3, 5),
        (33, 1, 3),
        (38, 2, 3),
        (SHORT, 1, 2),
    ] {
        let n = 1 + rng.below(1 << 30) as u32;
        let used = u64::MAX.unbounded_shl(64 - width);
        let columns: Vec<[u64; 64]> = (0..words).map(|_| [(); 64].map(|()| rng.next_u64() & used)).collect();
        let constant = rng.next_u64() & used;
        let matrix = |(w, columns)| Matrix::new(columns, if w == 0 { constant } else { 0 });
        let matrices: Vec<_> = columns.iter().enumerate().map(matrix).collect();
        let keys: Vec<_> = (0..words * groups).map(|_| [(); GROUP].map(|()| rng.next_u64())).collect();
        let sum = |group: usize, i: usize| {
            let bits = (0..64 * words).filter(|bit| keys[group * words + bit / 64][i] >> (bit % 64) & 1 == 1);
            bits.fold(constant, |sum, bit| sum ^ columns[bit / 64][bit % 64])
        };
        let number = |sum: u64| ((u128::from(sum) * u128::from(n)) >> 64) as u32;
        let expected: Vec<[u32; GROUP]> =
            (0..groups).map(|group| std::array::from_fn(|i| number(sum(group, i)))).collect();
        for cpu in Cpu::levels() {
            let numbers = cpu.run(Select(&matrices, n, &keys, groups));
            assert_eq!(numbers, expected, "{cpu:?}, {width} bits, {words} words");
        }
    }
}

struct Choose<'a>(&'a [Matrix; 2], u32, &'a [u64; GROUP]);

impl Work for Choose<'_> {
    type Output = ([[u32; GROUP]; 2], [[u64; GROUP]; 2]);

    fn run<L: Level>(self, level: L) -> Self::Output {
        let Self(matrices, n, keys) = self;
        let (mut numbers, mut sums) = ([[u32::MAX; GROUP]; 2], [[u64::MAX; GROUP]; 2]);
        level.set_chosen::<1>(matrices, n, keys, &mut numbers[0], &mut sums[0]);
        level.set_chosen::<8>(matrices, n, keys, &mut numbers[1], &mut sums[1]);
        (numbers, sums)
    }
}

/// By as many bytes as there are ways to do it.
#[test]
fn every_level_chooses_as_defined() {
    let mut rng = SplitMix64::new(14);
    for (width, n, used) in [
        (0, 1, u64::MAX),
        (9, 512, 0xffff_ffff_ffff),
        (23, 21_485, 0x7fff_ffff_ffff_ffff),
        (24, 1 << 16, 0x000f_ffff_000f_ffff),
        (25, 100_000, 0xff),
        (32, 10_000_019, 0),
    ] {
        let masks = [u64::MAX.unbounded_shl(64 - width), used];
        let columns = masks.map(|mask| [(); 64].map(|()| rng.next_u64() & mask));
        let constants = masks.map(|mask| rng.next_u64() & mask);
        let matrices = std::array::from_fn(|m| Matrix::new(&columns[m], constants[m]));
        let keys = [(); GROUP].map(|()| rng.next_u64());
        let sum = |m: usize, key: u64| {
            let bits = (0..64).filter(|bit| key >> bit & 1 == 1);
            bits.fold(constants[m], |sum, bit| sum ^ columns[m][bit])
        };
        let number = |key| ((u128::from(sum(0, key)) * u128::from(n)) >> 64) as u32;
        for cpu in Cpu::levels() {
            let (numbers, sums) = cpu.run(Choose(&matrices, n, &keys));
            let expected = keys.map(number);
            assert_eq!(numbers, [expected, expected.map(|number| 8 * number)], "{cpu:?}, {width} bits");
            assert_eq!(sums, [keys.map(|key| sum(1, key)); 2], "{cpu:?}, {width} bits");
        }
    }
}

struct Repacked<const N: usize>([u64; N], Kept, Filled);

impl<const N: usize> Work for Repacked<N> {
    type Output = [[u64; N]; 3];

    fn run<L: Level>(self, level: L) -> Self::Output {
        let Self(row, kept, filled) = self;
        let Filled { at, width, value, .. } = filled;
        [
            level.closed(&row, &kept.mask()),
            level.opened(&row, at, width, value),
            level.repacked(&row, &kept, filled),
        ]
    }
}

/// The same, bit by bit.
fn repacked<const N: usize>(row: &[u64; N], kept: &Kept, filled: Filled) -> [[u64; N]; 3] {
    let Filled { bit_at, bit, at, width, value } = filled;
    let bits =
        |words: &[u64; N]| -> Vec<u64> { (0..64 * N).map(|i| words[i / 64] >> (i % 64) & 1).collect() };
    let words = |bits: &[u64]| {
        let mut words = [0; N];
        for (i, bit) in bits.iter().take(64 * N).enumerate() {
            words[i / 64] |= bit << (i % 64);
        }
        words
    };
    let row = bits(row);
    let is_kept = bits(&kept.mask());
    let mut closed: Vec<u64> =
        row.iter().zip(is_kept).filter(|(_, kept)| *kept == 1).map(|(bit, _)| *bit).collect();
    let gap = || (0..width).map(|i| value >> i & 1);
    let mut opened = row;
    opened.splice(at as usize..at as usize, gap());
    let only_closed = words(&closed);
    closed.resize(64 * N, 0);
    closed.insert(bit_at as usize, bit.into());
    closed.splice(at as usize..at as usize, gap());
    [only_closed, words(&opened), words(&closed)]
}

fn check_repacked<const N: usize>(rng: &mut SplitMix64) {
    let row = [(); N].map(|()| rng.next_u64());
    let mut mask = [0; 8];
    mask[..N].fill(u64::MAX);
    for _ in 0..rng.below(DROPPED.into()) {
        let bit = rng.below(64 * N as u64);
        mask[bit as usize / 64] &= !(1 << (bit % 64));
    }
    let kept = Kept::new(mask).expect("few are dropped");
    let at = 1 + rng.below(64 * N as u64) as u32;
    let width = 1 + rng.below(DROPPED.into()) as u32;
    let filled = Filled {
        bit_at: rng.below(at.into()) as u32,
        bit: rng.next_u64() & 1 == 1,
        at,
        width,
        value: rng.next_u64() >> (64 - width),
    };
    let expected = repacked(&row, &kept, filled);
    for cpu in Cpu::levels() {
        assert_eq!(cpu.run(Repacked(row, kept.clone(), filled)), expected, "{cpu:?}, {filled:?}");
    }
}

/// What the levels rely on: no word moves by half a word or more.
#[test]
fn rows_that_drop_too_much_are_refused() {
    let dropping = |n: u32, last: u64| Kept::new([u64::MAX << n, 0, 0, 0, 0, 0, 0, last]);
    let first = |n: u32| Kept::new([u64::MAX << n, 1, 0, 0, 0, 0, 0, 0]);
    assert!(first(DROPPED - 1).is_some() && first(DROPPED).is_none());
    // What is dropped behind the last that is kept does not count.
    assert!(dropping(DROPPED, 0).is_some() && dropping(0, 1).is_none());
}

#[test]
fn every_level_repacks_as_defined() {
    let mut rng = SplitMix64::new(10);
    for _ in 0..5_000 {
        check_repacked::<8>(&mut rng);
        check_repacked::<4>(&mut rng);
        check_repacked::<3>(&mut rng);
    }
}

#[test]
fn every_level_computes_the_same() {
    let mut rng = SplitMix64::new(8);
    let mut seen = [[0; 2]; 2];
    for n in 0..10_000 {
        let (word, mask) = (rng.next_u64(), rng.next_u64() & rng.next_u64());
        // Rows that are nearly full: else no one would ever have all its bits.
        let row = [(); 8].map(|()| (0..n % 7).fold(0, |bits, _| bits | rng.next_u64()));
        let levels: Vec<_> = Cpu::levels().into_iter().map(|cpu| cpu.run(All(word, mask, row))).collect();
        let (extracted, deposited, lows, halves, some, set) = levels[0];
        assert!(levels.iter().all(|level| *level == levels[0]));
        assert_eq!(extracted.count_ones(), (word & mask).count_ones());
        // One undoes the other.
        assert_eq!(Cpu::portable().run(All(extracted, mask, row)).1, word & mask);
        assert_eq!(deposited & !mask, 0);
        assert!((0..=64).all(|n| lows[n as usize].trailing_ones() == n));
        for i in 0..8 {
            let half = (halves[i / 2] >> (i % 2 * 32)) as u32;
            assert_eq!(half, 1 << (word >> (i % 2 * 32 + i / 2 * 5) & 31));
        }
        let bit = |number: u64| row[(number / 64) as usize] >> (number % 64) & 1 == 1;
        assert_eq!(set[0], (0..8).all(|i| bit(word >> (8 * i) & 0xff)));
        let numbers: [u64; 7] =
            std::array::from_fn(|i| (word >> (8 * i) & 0xff) * 2 + (word >> (56 + i) & 1));
        assert_eq!(set[1], numbers.iter().all(|n| bit(*n)));
        let has = |row: &[u64], number: u64| row[(number / 64) as usize] >> (number % 64) & 1 == 1;
        assert!((0..256).all(|n| has(&some.0, n) == (0..8).any(|i| word >> (8 * i) & 0xff == n)));
        assert!((0..512).all(|n| has(&some.1, n) == numbers.contains(&n)));
        for (seen, set) in seen.iter_mut().zip(set) {
            seen[usize::from(set)] += 1;
        }
    }
    assert!(seen.as_flattened().iter().all(|count| *count > 100), "{seen:?}");
}
