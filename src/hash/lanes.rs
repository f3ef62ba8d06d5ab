use super::{Field, H3, Mix, extract};

/// Hash fields side by side, each in a lane of its own.
///
/// H3 is linear, so the table entry of a key byte can hold its share of every field
/// already cut out: the XOR of one entry per byte is all fields at once, without a
/// shift, and vector instructions add several lanes at a time.
#[derive(Clone, Debug)]
pub struct Lanes {
    mix: Mix,
    tables: Tables,
}

#[derive(Clone, Debug)]
enum Tables {
    /// Up to eight fields of a key of one word: the most frequent case, without a loop.
    One(Box<WordTables<8>>),
    /// Up to four fields.
    Four(Vec<WordTables<4>>),
    /// Any number of fields, in groups of eight: all key words for the first eight, all
    /// key words for the next, and so on.
    Eight(Vec<Vec<WordTables<8>>>),
}

/// What each value of each of the eight bytes of a key word adds to `N` lanes.
type WordTables<const N: usize> = [[[u32; N]; 256]; 8];

impl Lanes {
    /// The bits of `fields`, one lane each, unless one of them is too wide.
    pub fn new(h3: &H3, fields: &[Field]) -> Option<Self> {
        let narrow = fields.iter().all(|field| field.width <= u32::BITS);
        let tables = || match fields.len() {
            5..=8 if h3.key_words() == 1 => Tables::One(Box::new(Self::tables(h3, fields)[0])),
            0..=4 => Tables::Four(Self::tables(h3, fields)),
            _ => Tables::Eight(fields.chunks(8).map(|fields| Self::tables(h3, fields)).collect()),
        };
        narrow.then(|| Self { mix: h3.mix, tables: tables() })
    }

    fn tables<const N: usize>(h3: &H3, fields: &[Field]) -> Vec<WordTables<N>> {
        let lanes = |h: &[u64]| {
            let mut lanes = [0; N];
            for (lane, field) in lanes.iter_mut().zip(fields) {
                *lane = extract(h, field.lsb, field.width) as u32;
            }
            lanes
        };
        let mut tables = vec![[[[0; N]; 256]; 8]; h3.key_words() as usize];
        let entries = tables.as_flattened_mut().as_flattened_mut();
        for (entry, h) in entries.iter_mut().zip(h3.tables.chunks_exact(h3.words)) {
            *entry = lanes(h);
        }
        // Each key takes one entry of its first byte: the place for the constant.
        let constant = lanes(&h3.constant);
        for entry in &mut tables[0][0] {
            *entry = std::array::from_fn(|lane| entry[lane] ^ constant[lane]);
        }
        tables
    }

    /// Writes the bits of every field to its lane. Key bits above `KEY_W` are ignored.
    ///
    /// # Panics
    /// When there are fewer lanes than fields; their number is rounded up to 4 or to a
    /// multiple of 8.
    // The call would cost a third of the hash
    #[inline(always)]
    pub fn hash_into(&self, key: &[u64], lanes: &mut [u32]) {
        self.mix.with(key, |key| match &self.tables {
            Tables::One(tables) => lanes[..8].copy_from_slice(&word_sum(tables, key[0])),
            Tables::Four(tables) => lanes[..4].copy_from_slice(&sum_of(tables, key)),
            Tables::Eight(groups) => {
                let lanes = &mut lanes.as_chunks_mut().0[..groups.len()];
                for (tables, lanes) in groups.iter().zip(lanes) {
                    *lanes = sum_of(tables, key);
                }
            }
        });
    }
}

#[inline]
fn sum_of<const N: usize>(tables: &[WordTables<N>], key: &[u64]) -> [u32; N] {
    let mut sum = [0; N];
    for (tables, word) in tables.iter().zip(key) {
        add(&mut sum, &word_sum(tables, *word));
    }
    sum
}

/// Written out, because a loop over the bytes is not always unrolled.
#[inline(always)]
fn word_sum<const N: usize>(tables: &WordTables<N>, word: u64) -> [u32; N] {
    let entry = |i: usize| &tables[i][(word >> (8 * i)) as usize & 0xff];
    let mut sum = *entry(0);
    add(&mut sum, entry(1));
    add(&mut sum, entry(2));
    add(&mut sum, entry(3));
    add(&mut sum, entry(4));
    add(&mut sum, entry(5));
    add(&mut sum, entry(6));
    add(&mut sum, entry(7));
    sum
}

#[inline(always)]
fn add<const N: usize>(sum: &mut [u32; N], more: &[u32; N]) {
    for i in 0..N {
        sum[i] ^= more[i];
    }
}

#[cfg(test)]
mod tests {
    use super::{super::SplitMix64, *};

    #[test]
    fn lanes_are_the_fields() {
        let mut rng = SplitMix64::new(3);
        for (key_w, n, count, rounds) in
            [(64, 1024, 7, 0), (64, 1000, 2, 3), (104, 3, 10, 5), (9, 4097, 4, 0), (200, 1 << 30, 20, 1)]
        {
            let fields: Vec<_> =
                (0..count).map(|i| Field::selecting(n, 5 + i * Field::width_for(n))).collect();
            let h3 =
                H3::new(key_w, fields.last().map_or(0, |field| field.end()), rng.next_u64()).mixed(rounds);
            let lanes = Lanes::new(&h3, &fields).expect("narrow fields");
            let mut h = vec![0; h3.words()];
            for _ in 0..50 {
                let key: Vec<u64> = (0..key_w.div_ceil(64)).map(|_| rng.next_u64()).collect();
                h3.hash_into(&key, &mut h);
                let expected: Vec<_> = fields.iter().map(|f| extract(&h, f.lsb, f.width)).collect();
                let mut bits = [u32::MAX; 24];
                lanes.hash_into(&key, &mut bits);
                let bits: Vec<_> = bits[..fields.len()].iter().map(|bits| u64::from(*bits)).collect();
                assert_eq!(bits, expected, "KEY_W {key_w}, N {n}");
            }
        }
        let wide = Field::selecting((1 << 24) + 1, 0);
        assert!(Lanes::new(&H3::new(8, wide.width, 1), &[wide]).is_none());
    }
}
