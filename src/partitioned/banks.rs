//! Many keys at once, where each index has a memory of its own: one memory after the other, for many groups of keys. So
//! each stays near for a while.

use crate::{
    batch::{GROUP, NEAR},
    cpu::{self, Cache, Distance, Level, SHORT, Work},
    hash::{Field, H3, Lanes, Mix, Moved, Packed},
    sram::Memory,
};

use super::functional::MAX_K;

/// Words of keys that there is room for, in groups.
const ROOM: usize = 32;

/// Groups of keys whose numbers in all memories there is room for.
const ALL: usize = 8;

/// How the hash of a key becomes its indices.
#[derive(Clone, Debug)]
pub struct Indices {
    /// What is done to a key first.
    mix: Mix,
    /// Words of a key.
    words: usize,
    /// By memory: its field, at the top of the word.
    fields: Vec<Packed<1>>,
    /// What each of them selects from, and its bits.
    n: u32,
    width: u32,
}

impl Indices {
    /// `None` if fields, which are of one width, or keys are too wide.
    pub fn new(h3: &H3, fields: &[Field]) -> Option<Self> {
        let Field { n, width, .. } = *fields.first().filter(|field| field.width <= SHORT)?;
        let words = Some(h3.key_words() as usize).filter(|words| *words <= ROOM)?;
        // The mix comes first, for all of them together.
        let unmixed = h3.clone().mixed(0);
        let packed = |Field { lsb, width, .. }: &Field| {
            Packed::new(&unmixed, &[Moved { lsb: *lsb, width: *width, word: 0, at: 64 - width }])
        };
        Some(Self {
            mix: h3.mix(),
            words,
            fields: fields.iter().map(packed).collect(),
            n: u32::try_from(n).ok()?,
            width,
        })
    }
}

/// How keys become numbers: one field of all keys after the other; or, where a look-up is one read for whatever
/// number of fields, all fields of a key at once, unless they are too wide.
#[derive(Clone, Copy)]
pub struct Hashes<'a> {
    pub indices: &'a Indices,
    pub lanes: Option<&'a Lanes>,
}

/// Keys that are worked on together, and what they select in one memory.
struct Batch<'a> {
    indices: &'a Indices,
    /// All fields at once, and what they select: by memory, and then by group.
    all: Option<(&'a Lanes, Vec<[u32; GROUP]>)>,
    /// Of each group first words, then second words and so on, arranged.
    words: FromALine<[[u64; GROUP]; ROOM]>,
    /// How many groups there are.
    groups: usize,
    numbers: FromALine<[[u32; GROUP]; ROOM]>,
}

/// From the start of a cache line on: else vectors would be in two lines each.
#[repr(align(64))]
struct FromALine<T>(T);

impl<'a> Batch<'a> {
    fn new<L: Level>(_: L, Hashes { indices, lanes }: Hashes<'a>) -> Self {
        let lanes = lanes.filter(|_| !L::FAST);
        Self {
            indices,
            all: lanes.map(|lanes| (lanes, vec![[0; GROUP]; ALL * indices.fields.len()])),
            words: FromALine([[0; GROUP]; ROOM]),
            groups: 0,
            numbers: FromALine([[0; GROUP]; ROOM]),
        }
    }

    /// How many keys it takes.
    fn room(&self) -> usize {
        GROUP * if self.all.is_some() { ALL } else { ROOM / self.indices.words }
    }

    /// Takes groups of keys of so many words each.
    #[inline(always)]
    fn take<L: Level>(&mut self, level: L, keys: &[u64], each: usize) {
        let Indices { mix, words, n, width, .. } = *self.indices;
        let groups = keys.chunks_exact(GROUP * each);
        self.groups = groups.len();
        if !L::FAST
            && let Some((lanes, all)) = &mut self.all
        {
            let mut bits = [0; MAX_K];
            for (i, key) in keys.chunks_exact(each).enumerate() {
                lanes.hash_into(key, &mut bits);
                // Not the bits themselves: all that there is room for would be copied.
                for (numbers, bits) in all.chunks_exact_mut(ALL).zip(&bits) {
                    // For a power of two these are the bits as they are.
                    numbers[i / GROUP][i % GROUP] = ((u64::from(*bits) * u64::from(n)) >> width) as u32;
                }
            }
            return;
        }
        for (group, keys) in self.words.0.chunks_exact_mut(words).zip(groups) {
            match keys.first_chunk() {
                Some(keys) if each == 1 => group[0] = *keys,
                _ => {
                    for (i, key) in keys.chunks_exact(each).enumerate() {
                        let mut mixed = [0; ROOM];
                        mixed[..words].copy_from_slice(&key[..words]);
                        if words > 1 {
                            mix.apply(&mut mixed[..words]);
                        }
                        for (group, word) in group.iter_mut().zip(mixed) {
                            group[i] = word;
                        }
                    }
                }
            }
            if words == 1 {
                mix.apply_to_words(&mut group[0]);
            }
            for words in group {
                *words = level.arranged(*words);
            }
        }
    }

    /// What they select in a memory.
    #[inline(always)]
    fn numbers<L: Level>(&mut self, level: L, bank: usize) -> &[[u32; GROUP]] {
        if !L::FAST
            && let Some((_, all)) = &self.all
        {
            return &all[bank * ALL..][..self.groups];
        }
        let Indices { words, fields, n, .. } = self.indices;
        let numbers = &mut self.numbers.0[..self.groups];
        fields[bank].select(level, *n, &self.words.0[..self.groups * words], numbers);
        numbers
    }
}

/// Begins to read as much of the keys after these as falls to one of the memories: after so many reads at random, a processor
/// does not foresee that more keys will be read.
#[inline(always)]
fn fetch_keys(keys: &[u64], memory: usize, memories: usize) {
    let lines = keys.len().div_ceil(8);
    let first = |memory| memory * lines / memories;
    let (begin, end) = (first(memory), first(memory + 1));
    // Not into the nearest cache: it does not hold them so long.
    cpu::prefetch_lines(keys, keys.len() + 8 * begin, end - begin, Cache::Second);
}

/// How far the memories are.
fn distance(banks: &[Memory]) -> Distance {
    match Distance::of(banks.iter().map(|bank| bank.words().len()).sum(), 8 * NEAR) {
        // So little is done with a bit that a processor has as many reads under way as for several groups of rows.
        Distance::Farther => Distance::Far,
        distance => distance,
    }
}

/// Adds groups of keys, of so many words each, to some of the memories, the first of which has this number.
pub struct Insert<'a> {
    pub hashes: Hashes<'a>,
    pub first: usize,
    pub banks: &'a mut [Memory],
    pub keys: &'a [u64],
    pub each: usize,
}

impl Work for Insert<'_> {
    type Output = ();

    /// The order of bits that are set does not matter.
    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self { hashes, first, banks, keys, each } = self;
        let (mut batch, distance) = (Batch::new(level, hashes), distance(banks));
        for keys in keys.chunks(batch.room() * each) {
            batch.take(level, keys, each);
            let memories = banks.len();
            for (i, memory) in banks.iter_mut().enumerate() {
                fetch_keys(keys, i, memories);
                let bank = first + i;
                cpu::set_bits(memory.words_mut(), batch.numbers(level, bank), distance);
            }
        }
    }
}

/// Whether each of some groups of keys, of so many words each, may be present.
pub struct Contains<'a> {
    pub hashes: Hashes<'a>,
    pub banks: &'a [Memory],
    pub keys: &'a [u64],
    pub each: usize,
    pub hits: &'a mut [bool],
}

impl Work for Contains<'_> {
    type Output = ();

    /// All keys while many are left, which are read as quickly as those alone; then only those.
    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self { hashes, banks, keys, each, hits } = self;
        let (mut batch, distance) = (Batch::new(level, hashes), distance(banks));
        let mut left = Left { keys: [0; ROOM * GROUP], count: 0 };
        let room = batch.room();
        for (keys, hits) in keys.chunks(room * each).zip(hits.chunks_mut(room)) {
            batch.take(level, keys, each);
            let mut set = [u32::MAX; ROOM];
            let set = &mut set[..batch.groups];
            let memories = banks.len();
            let mut banks = banks.iter().enumerate();
            let mut many = true;
            while many && let Some((bank, memory)) = banks.next() {
                fetch_keys(keys, bank, memories);
                cpu::read_bits(memory.words(), batch.numbers(level, bank), distance, set);
                let count: u32 = set.iter().map(|set| set.count_ones()).sum();
                many = count as usize > hits.len() / 8 * 5;
            }
            if banks.len() > 0 {
                left.list(set);
                for (bank, memory) in banks {
                    fetch_keys(keys, bank, memories);
                    left.keep(memory.words(), batch.numbers(level, bank).as_flattened(), distance);
                }
                left.tell(set);
            }
            for (hits, set) in hits.as_chunks_mut::<GROUP>().0.iter_mut().zip(set) {
                *hits = std::array::from_fn(|i| *set >> i & 1 != 0);
            }
        }
    }
}

/// The keys of a batch that are left.
struct Left {
    keys: [u16; ROOM * GROUP],
    count: usize,
}

impl Left {
    /// Those that are set.
    // Without a branch for each, which nobody could foresee
    #[inline(always)]
    fn list(&mut self, set: &[u32]) {
        let mut count = 0;
        for (first, set) in (0..).step_by(GROUP).zip(set) {
            for i in 0..GROUP as u16 {
                self.keys[count] = first + i;
                count += (set >> i & 1) as usize;
            }
        }
        self.count = count;
    }

    /// Those whose bits are set.
    // A call for many keys costs nothing, and inside its caller there are not enough registers
    #[inline(never)]
    fn keep(&mut self, words: &[u64], numbers: &[u32], distance: Distance) {
        let (ahead, into) = distance.ahead().unwrap_or((0, Cache::Nearest));
        let ask = |key: u16| cpu::prefetch(words, numbers[usize::from(key)] as usize / 64, into);
        let ahead = ahead * GROUP;
        self.keys[..self.count.min(ahead)].iter().for_each(|key| ask(*key));
        let mut kept = 0;
        for i in 0..self.count {
            self.keys[..self.count].get(i + ahead).filter(|_| ahead > 0).copied().map(ask);
            let key = self.keys[i];
            let number = numbers[usize::from(key)];
            self.keys[kept] = key;
            kept += (words[number as usize / 64] >> (number % 64) & 1) as usize;
        }
        self.count = kept;
    }

    /// Sets them, and no others.
    #[inline(always)]
    fn tell(&self, set: &mut [u32]) {
        set.fill(0);
        for key in &self.keys[..self.count] {
            set[usize::from(*key) / GROUP] |= 1 << (usize::from(*key) % GROUP);
        }
    }
}
