//! What `filters` measures: each filter is one struct with one small trait, and one line in [`ALL`].

use std::{hint::black_box, sync::OnceLock};

use fastbloom::BloomFilter;
use membrane::{
    Answer, Filter,
    analysis::AccessProblem,
    balanced::{self, Balanced},
    batch::NEAR,
    blocked::{self, Blocked, InBlock},
    cpu::{Cache, Cpu, Distance, GROUP, Level, Work, prefetch},
    partitioned::{self, Partitioned},
    sram::Memory,
    tinyset::{self, TinySet},
};
use parquet::bloom_filter::Sbbf;
use xorf::{BinaryFuse8, Filter as _};

/// A filter for 64-bit keys.
pub trait Peer {
    /// Adds keys that are all different.
    fn insert(&mut self, keys: &[u64]);

    /// Takes all its keys in one call, and no more.
    fn is_static(&self) -> bool {
        false
    }

    /// Whether it says which keys may be present.
    fn answers(&self) -> bool {
        true
    }

    /// How many of the keys may be present.
    fn count(&self, keys: &[u64]) -> usize;

    /// Bits of memory.
    fn bits(&self) -> usize;
}

/// Makes an empty filter for so many keys.
pub type Make = fn(usize) -> Box<dyn Peer>;

/// The limit that all are compared with, and that of what is asked one key at a time: without anything fetched ahead.
pub const LIMITS: [&str; 2] = ["64-byte random read", "64-byte random read, in turn"];

/// Names and makers, the limits first.
pub const ALL: &[(&str, Make)] = &[
    (LIMITS[0], |n| Box::new(RandomRead::<true>::new(n))),
    (LIMITS[1], |n| Box::new(RandomRead::<false>::new(n))),
    ("tinyset 64b-1pct", |n| Box::new(Single(tinyset(n, 80, 9.1)))),
    ("tinyset 64b-1pct, batched", |n| Box::new(Batched(tinyset(n, 80, 9.1)))),
    ("tinyset 64b, 0.1 %", |n| Box::new(Single(tinyset(n, 64, 13.1)))),
    ("tinyset 64b, 0.1 %, batched", |n| Box::new(Batched(tinyset(n, 64, 13.1)))),
    ("blocked 256", |n| Box::new(Single(blocked(n, 256, 7)))),
    ("blocked 256, batched", |n| Box::new(Batched(blocked(n, 256, 7)))),
    ("blocked 256 in parts", |n| Box::new(Single(blocked(n, 256, 8)))),
    ("blocked 256 in parts, batched", |n| Box::new(Batched(blocked(n, 256, 8)))),
    ("blocked 512", |n| Box::new(Single(blocked(n, 512, 7)))),
    ("blocked 512, batched", |n| Box::new(Batched(blocked(n, 512, 7)))),
    ("blocked 512 in parts", |n| Box::new(Single(blocked(n, 512, 8)))),
    ("blocked 512 in parts, batched", |n| Box::new(Batched(blocked(n, 512, 8)))),
    ("partitioned k7", |n| Box::new(Single(partitioned(n)))),
    ("partitioned k7, batched", |n| Box::new(Batched(partitioned(n)))),
    ("balanced single 256", |n| Box::new(Single(balanced(n)))),
    ("balanced single 256, batched", |n| Box::new(Batched(balanced(n)))),
    ("fastbloom, 1 %", |n| Box::new(fastbloom(n, 0.01))),
    ("fastbloom, 0.1 %", |n| Box::new(fastbloom(n, 0.001))),
    ("parquet Sbbf", |n| Box::new(Sbbf::new(&vec![0; (n * 11).div_ceil(256) * 32]))),
    ("sbbf-rs-safe", |n| Box::new(sbbf_rs_safe::Filter::new(11, n))),
    ("xorf BinaryFuse8 (static)", |_| Box::new(Fuse(None))),
    ("qfilter, 1 %", |n| Box::new(qfilter::Filter::new(n as u64, 0.01).expect("a size"))),
    ("qfilter, 0.1 %", |n| Box::new(qfilter::Filter::new(n as u64, 0.001).expect("a size"))),
    ("cuckoofilter", |n| Box::new(cuckoofilter::CuckooFilter::<Mixer>::with_capacity(n * 21 / 20))),
];

/// The level of the processor that our filters run on, if not its best.
pub static LEVEL: OnceLock<Cpu> = OnceLock::new();

fn level() -> Cpu {
    *LEVEL.get_or_init(Cpu::detect)
}

fn on_level<F: Filter>(mut filter: F) -> F {
    filter.run_on(level());
    filter
}

fn blocks(n: usize, bits_per_key: f64) -> u64 {
    (n as f64 * bits_per_key / 512.0).ceil() as u64
}

fn tinyset(n: usize, chains: u32, bits_per_key: f64) -> TinySet {
    let array = 512 - chains;
    let config = tinyset::Config {
        blocks: blocks(n, bits_per_key),
        chains,
        array,
        key_w: 64,
        ..tinyset::Config::default()
    };
    on_level(TinySet::new(&config).expect("legal"))
}

/// Eight bits per key lie in eight equal parts, fewer anywhere: the shapes that people build.
fn blocked(n: usize, block_w: u32, hashes: u32) -> Blocked {
    let in_block = if hashes == 8 { InBlock::Partitioned } else { InBlock::Standard };
    let rows = (n as f64 * 11.0 / f64::from(block_w)).ceil() as u64;
    let config = blocked::Config { block_w, rows, hashes, in_block, key_w: 64, ..blocked::Config::default() };
    on_level(Blocked::new(&config).expect("legal"))
}

fn partitioned(n: usize) -> Partitioned {
    let rows = (n as f64 * 9.6 / 7.0).ceil() as u64;
    let config = partitioned::Config { banks: 7, rows, key_w: 64, ..partitioned::Config::default() };
    on_level(Partitioned::new(&config).expect("legal"))
}

/// Blocks so full that a handful of keys, whatever their number, goes to the list.
fn balanced(n: usize) -> Balanced {
    let bits_per_key = 11.0;
    let threshold = AccessProblem { a: 1.0, r: 256.0 / bits_per_key, gamma: 8.0 / n as f64 };
    let block_w = 250;
    // The most that the rules allow: a little less than 1e8 keys ask for.
    let rows = ((n as f64 * bits_per_key / 256.0).ceil() as u64).min((1 << 30) / u64::from(block_w));
    let config = balanced::Config {
        rows,
        block_w,
        hashes: 7,
        cam_depth: 32,
        key_w: 64,
        ..balanced::Config::default()
    };
    let config = config.with_threshold(threshold.threshold().expect("a threshold"));
    on_level(Balanced::new(&config).expect("legal"))
}

fn bits_of(filter: &impl Filter) -> usize {
    filter.memories().iter().map(|memory| memory.rows() * memory.width() as usize).sum()
}

/// Our filters, key by key.
struct Single<F>(F);

impl<F: Filter> Peer for Single<F> {
    fn insert(&mut self, keys: &[u64]) {
        for key in keys {
            black_box(self.0.insert(std::slice::from_ref(key)));
        }
    }

    fn count(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.0.contains(std::slice::from_ref(key))).count()
    }

    fn bits(&self) -> usize {
        bits_of(&self.0)
    }
}

/// The same, many keys at once.
struct Batched<F>(F);

/// Keys of a call: as a program would have them that reads from a file or a network.
const BATCH: usize = 1024;

impl<F: Filter> Peer for Batched<F> {
    fn insert(&mut self, keys: &[u64]) {
        let mut answers = [Answer::default(); BATCH];
        for keys in keys.chunks(BATCH) {
            self.0.insert_all(keys, &mut answers[..keys.len()]);
            black_box(&answers);
        }
    }

    fn count(&self, keys: &[u64]) -> usize {
        let mut hits = [false; BATCH];
        let count = |keys: &[u64]| {
            let hits = &mut hits[..keys.len()];
            self.0.contains_all(keys, hits);
            // In bytes, which vectors add up: peers' answers are counted as they come, and cost next to nothing, either.
            hits.chunks(128)
                .map(|hits| usize::from(hits.iter().map(|hit| u8::from(*hit)).sum::<u8>()))
                .sum::<usize>()
        };
        keys.chunks(BATCH).map(count).sum()
    }

    fn bits(&self) -> usize {
        bits_of(&self.0)
    }
}

/// The limit: one cache line per key, at random, read ahead as our filters do, by the instructions that they may use; or not ahead,
/// which is all that is left to a filter that is asked one key at a time. Nothing is inserted.
struct RandomRead<const AHEAD: bool>(Memory);

impl<const AHEAD: bool> RandomRead<AHEAD> {
    fn new(n: usize) -> Self {
        Self(Memory::new("lines", blocks(n, 13.1) as usize, 512))
    }
}

/// The lines of the keys, which are fetched while others are worked on, as are the keys.
#[inline(always)]
fn lines<L: Level, const AHEAD: bool>(
    level: L,
    words: &[u64],
    keys: &[u64],
    mut work: impl FnMut(usize, usize),
) {
    let (lines, _) = words.as_chunks::<8>();
    let near = if AHEAD { NEAR } else { usize::MAX };
    let (groups, into) = Distance::of(words.len(), near).ahead().unwrap_or((0, Cache::Nearest));
    let ahead = groups * GROUP;
    for key in keys.iter().take(ahead) {
        prefetch(lines, place(*key, lines.len()), into);
    }
    for (i, key) in keys.iter().enumerate() {
        if i.is_multiple_of(8) {
            prefetch(keys, i + 8 * GROUP, level.once());
        }
        if ahead > 0
            && let Some(key) = keys.get(i + ahead)
        {
            prefetch(lines, place(*key, lines.len()), into);
        }
        work(i, place(*key, lines.len()));
    }
}

/// All bits of the lines of some keys, added up.
struct Sum<'a, const AHEAD: bool>(&'a [u64], &'a [u64]);

impl<const AHEAD: bool> Work for Sum<'_, AHEAD> {
    type Output = [u64; 8];

    #[inline(always)]
    fn run<L: Level>(self, level: L) -> [u64; 8] {
        let Self(words, keys) = self;
        let mut sum = [0; 8];
        lines::<L, AHEAD>(level, words, keys, |_, line| {
            for (sum, word) in sum.iter_mut().zip(&words.as_chunks::<8>().0[line]) {
                *sum ^= word;
            }
        });
        sum
    }
}

/// The numbers of the lines of some keys.
struct Numbers<'a, const AHEAD: bool>(&'a [u64], &'a [u64], &'a mut [usize]);

impl<const AHEAD: bool> Work for Numbers<'_, AHEAD> {
    type Output = ();

    #[inline(always)]
    fn run<L: Level>(self, level: L) {
        let Self(words, keys, numbers) = self;
        lines::<L, AHEAD>(level, words, keys, |i, line| numbers[i] = line);
    }
}

impl<const AHEAD: bool> Peer for RandomRead<AHEAD> {
    fn insert(&mut self, keys: &[u64]) {
        let mut places = [0; BATCH];
        for keys in keys.chunks(BATCH) {
            level().run(Numbers::<AHEAD>(self.0.words(), keys, &mut places));
            let (lines, _) = self.0.words_mut().as_chunks_mut::<8>();
            for (line, key) in places.iter().zip(keys) {
                lines[*line][(key % 8) as usize] |= key;
            }
        }
    }

    fn answers(&self) -> bool {
        false
    }

    fn count(&self, keys: &[u64]) -> usize {
        black_box(level().run(Sum::<AHEAD>(self.0.words(), keys)));
        0
    }

    fn bits(&self) -> usize {
        self.0.rows() * 512
    }
}

fn place(key: u64, n: usize) -> usize {
    ((u128::from(mix(key)) * n as u128) >> 64) as usize
}

/// The hash of peers that leave it to the caller: as cheap as one can be.
fn mix(key: u64) -> u64 {
    let product = (key ^ key >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    product ^ product >> 29
}

/// The same for peers that take a hasher.
#[derive(Default)]
struct Mixer(u64);

impl std::hash::Hasher for Mixer {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = mix(self.0 ^ u64::from(*byte));
        }
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = mix(self.0 ^ key);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn fastbloom(n: usize, rate: f64) -> BloomFilter {
    BloomFilter::with_false_pos(rate).seed(&1).expected_items(n)
}

impl Peer for BloomFilter {
    fn insert(&mut self, keys: &[u64]) {
        for key in keys {
            self.insert_hash(mix(*key));
        }
    }

    fn count(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.contains_hash(mix(**key))).count()
    }

    fn bits(&self) -> usize {
        self.num_bits()
    }
}

impl Peer for sbbf_rs_safe::Filter {
    fn insert(&mut self, keys: &[u64]) {
        for key in keys {
            self.insert_hash(mix(*key));
        }
    }

    fn count(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.contains_hash(mix(**key))).count()
    }

    fn bits(&self) -> usize {
        self.as_bytes().len() * 8
    }
}

/// It hashes keys itself, by XXH64.
impl Peer for Sbbf {
    fn insert(&mut self, keys: &[u64]) {
        for key in keys {
            Sbbf::insert(self, &key.cast_signed());
        }
    }

    fn count(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.check(&key.cast_signed())).count()
    }

    fn bits(&self) -> usize {
        self.num_blocks() * 256
    }
}

/// Empty until it is built.
struct Fuse(Option<BinaryFuse8>);

impl Peer for Fuse {
    fn insert(&mut self, keys: &[u64]) {
        self.0 = Some(BinaryFuse8::try_from(keys).expect("different keys"));
    }

    fn is_static(&self) -> bool {
        true
    }

    fn count(&self, keys: &[u64]) -> usize {
        self.0.as_ref().map_or(0, |fuse| keys.iter().filter(|key| fuse.contains(key)).count())
    }

    fn bits(&self) -> usize {
        self.0.as_ref().map_or(0, |fuse| fuse.fingerprints.len() * 8)
    }
}

impl Peer for qfilter::Filter {
    fn insert(&mut self, keys: &[u64]) {
        for key in keys {
            self.insert_fingerprint(true, mix(*key)).expect("room");
        }
    }

    fn count(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.contains_fingerprint(mix(**key))).count()
    }

    fn bits(&self) -> usize {
        self.memory_usage() * 8
    }
}

impl Peer for cuckoofilter::CuckooFilter<Mixer> {
    fn insert(&mut self, keys: &[u64]) {
        for key in keys {
            // It drops a key when it is too full, which shows as a missing hit.
            let _ = self.add(key);
        }
    }

    fn count(&self, keys: &[u64]) -> usize {
        keys.iter().filter(|key| self.contains(*key)).count()
    }

    fn bits(&self) -> usize {
        self.memory_usage() * 8
    }
}
