use super::GROUP;

/// What a word of a key adds to a word of a sum: a matrix of 64 by 64 bits, in the forms that
/// levels multiply by.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct Matrix {
    /// By turn and by byte of the sum: the part of the matrix that the byte of the key so many
    /// places further (around the end) is multiplied by. Its rows are bytes, the last one lowest,
    /// as the instruction wants them.
    pub(super) turned: [[u64; 8]; 8],
    /// The same for the four highest bytes of the sum alone, in half as many turns: twice, one for each half of the key.
    pub(super) upper: [[u64; 8]; 4],
    /// By half of a byte of a key, the lowest first, by byte of a sum, and by value: what it adds.
    pub(super) halves: [[[u8; 16]; 8]; 16],
    /// What every sum begins with.
    pub(super) constant: u64,
    /// Bytes of the sum that are ever other than zero, one bit for each.
    pub(super) used: u8,
}

impl Matrix {
    /// The matrix with these columns, what each bit of the key adds, and a constant to begin with.
    pub fn new(columns: &[u64; 64], constant: u64) -> Self {
        let part = |from: usize, to: usize| {
            let from = &columns[from % 8 * 8..][..8];
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
            turned: std::array::from_fn(|turn| std::array::from_fn(|to| part(to + turn, to))),
            upper: std::array::from_fn(|turn| std::array::from_fn(|i| part(i + turn, 4 + i % 4))),
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
        self.turned[(from + 8 - to) % 8][to]
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
