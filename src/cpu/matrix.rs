use super::GROUP;

/// What a word of a key adds to a word of a sum: a matrix of 64 by 64 bits, in the forms that
/// levels multiply by.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Matrix {
    /// By half of the sum, the lower one first, and by half of the key: what leads from the one to the other.
    pub(super) quarters: [[Quarter; 2]; 2],
    /// By half of a byte of a key, the lowest first, by byte of a sum, and by value: what it adds.
    pub(super) halves: [[[u8; 16]; 8]; 16],
    /// By half of the sum, the lower one first: the same in vectors.
    pub(super) lanes: [Lanes; 2],
    /// What every sum begins with.
    pub(super) constant: u64,
    /// Bytes of the sum that are ever other than zero, one bit for each.
    pub(super) used: u8,
}

/// A quarter of a matrix, in words of vectors that have four bytes each of two sets of eight keys: by turn and by word, the
/// part of the matrix that leads from a byte of the key to a byte of the sum. In turn `t` byte `b` of the sum meets byte `b ^
/// t` of the key, so that all have met after four. The rows of a part are bytes, the last one lowest, as the instruction
/// wants them.
pub(super) type Quarter = [[u64; 8]; 4];

/// By half of a key, by turn, by half of a byte: what each value of that adds to four bytes of a sum, in a quarter of a vector
/// each. In turn `t` byte `b` of the sum meets byte `b ^ t` of the key here, too.
pub(super) type Lanes = [[[[[u8; 16]; 4]; 2]; 4]; 2];

/// The word of such a vector that has this byte of a set of keys. Bytes that meet in odd turns are side by side, in one
/// quarter of a vector: to exchange these costs least.
#[inline(always)]
#[cfg(target_arch = "x86_64")]
pub(super) const fn word_of(byte: usize, set: usize) -> usize {
    byte / 2 * 4 + set * 2 + byte % 2
}

/// The byte that is there.
const fn byte_of(word: usize) -> usize {
    word / 4 * 2 + word % 2
}

impl Matrix {
    /// The matrix with these columns, what each bit of the key adds, and a constant to begin with.
    pub fn new(columns: &[u64; 64], constant: u64) -> Self {
        let part = |from: usize, to: usize| {
            let from = &columns[from * 8..][..8];
            let mut rows = [0; 8];
            for (bit, column) in from.iter().enumerate() {
                for (row, rows) in rows.iter_mut().rev().enumerate() {
                    *rows |= ((column >> (8 * to + row) & 1) as u8) << bit;
                }
            }
            u64::from_le_bytes(rows)
        };
        let mut halves = [[[0; 16]; 8]; 16];
        for (halves, columns) in halves.iter_mut().zip(columns.as_chunks::<4>().0) {
            for value in 0..16 {
                let set = columns.iter().enumerate().filter(|(bit, _)| value >> bit & 1 == 1);
                let sum = set.fold(0, |sum, (_, column)| sum ^ column);
                for (table, byte) in halves.iter_mut().zip(sum.to_le_bytes()) {
                    table[value] = byte;
                }
            }
        }
        let bytes = columns.iter().fold(constant, |bits, column| bits | column).to_le_bytes();
        Self {
            quarters: [0, 4].map(|to| {
                [0, 4].map(|from| {
                    std::array::from_fn(|turn| {
                        std::array::from_fn(|word| {
                            let byte = byte_of(word);
                            part(from + (byte ^ turn), to + byte)
                        })
                    })
                })
            }),
            lanes: [0, 4].map(|to| {
                [0, 4].map(|from| {
                    std::array::from_fn(|turn| {
                        [0, 1].map(|half| {
                            std::array::from_fn(|byte| halves[2 * (from + (byte ^ turn)) + half][to + byte])
                        })
                    })
                })
            }),
            halves,
            constant,
            used: (0..8).filter(|byte| bytes[*byte] != 0).fold(0, |used, byte| used | 1 << byte),
        }
    }

    /// Bytes of the sum that any of them ever makes other than zero, one bit for each.
    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    pub(super) fn all_used(matrices: &[Self]) -> u8 {
        matrices.iter().fold(0, |used, matrix| used | matrix.used)
    }

    /// The part of the matrix by which a byte of the key is multiplied for a byte of the sum.
    #[inline(always)]
    #[cfg(target_arch = "x86_64")]
    pub(super) fn part(&self, from: usize, to: usize) -> u64 {
        self.quarters[to / 4][from / 4][(from ^ to) % 4][word_of(to % 4, 0)]
    }

    /// The product by what every processor has.
    #[inline]
    pub(super) fn add_products(&self, keys: &[u64; GROUP], sums: &mut [u64; GROUP]) {
        for (sum, key) in sums.iter_mut().zip(keys) {
            for (half, tables) in self.halves.iter().enumerate() {
                *sum ^= u64::from_le_bytes(tables.map(|table| table[(key >> (4 * half) & 15) as usize]));
            }
        }
    }
}
