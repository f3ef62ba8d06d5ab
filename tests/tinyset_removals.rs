//! No order of inserts and removals of present keys loses a key: all states of small blocks are
//! visited. Every other rule for which match a removal takes is shown to lose one.

mod tinyset_reference;

use std::collections::{HashMap, VecDeque};

use membrane::tinyset::Layout;
use tinyset_reference::{Policy, Reference, bits_of, parse, words_of};

/// Bits of the count of one key.
const COUNT_W: usize = 4;

/// A block, and how often each key is in it, [`COUNT_W`] bits per key.
type State = (u64, u64);

/// Small blocks of one shape, and the keys that come and go.
struct Search {
    empty: Reference,
    layout: Layout,
    /// Chain and remainder.
    keys: Vec<(usize, Vec<bool>)>,
    policy: Policy,
    /// Every state, with the one that it was reached from and how.
    seen: HashMap<State, Option<(State, Step)>>,
}

/// Insert or remove a key.
#[derive(Clone, Copy)]
enum Step {
    Insert(usize),
    Remove(usize),
}

impl Search {
    /// All remainders in each of `chains` chains.
    fn new(chains: usize, array: usize, f_max: usize, c_max: usize, policy: Policy) -> Self {
        let remainders = || (0..1 << f_max).map(|remainder| bits_of(remainder, f_max));
        let keys: Vec<_> = (0..chains).flat_map(|c| remainders().map(move |r| (c, r))).collect();
        assert!(keys.len() * COUNT_W <= 64 && c_max < 1 << COUNT_W);
        Self {
            empty: Reference::new(chains, array, f_max, c_max, true),
            layout: Layout::new(chains as u32, array as u32, f_max as u32, c_max as u32, true),
            keys,
            policy,
            seen: HashMap::from([((0, 0), None)]),
        }
    }

    fn count((_, counts): State, key: usize) -> u64 {
        counts >> (COUNT_W * key) & ((1 << COUNT_W) - 1)
    }

    /// Visits every state that can be reached; stops at the first that has lost a key, and
    /// says which and how.
    fn run(&mut self) -> Option<String> {
        let mut todo = VecDeque::from([(0, 0)]);
        while let Some(state) = todo.pop_front() {
            let block = self.empty.decode(&bits_of(state.0, 64));
            for key in 0..self.keys.len() {
                for step in [Step::Insert(key), Step::Remove(key)] {
                    let Some(next) = self.take(state, &block, step) else { continue };
                    if self.seen.contains_key(&next) {
                        continue;
                    }
                    self.seen.insert(next, Some((state, step)));
                    if let Some(lost) = self.lost(next) {
                        return Some(format!("{} loses {lost}", self.path(next)));
                    }
                    todo.push_back(next);
                }
            }
        }
        None
    }

    /// The state after a step, if it can be taken: keys that are not present are not removed.
    fn take(&self, state: State, block: &Reference, step: Step) -> Option<State> {
        let mut next = block.clone();
        let mut fast = [0; 12];
        fast[0] = state.0;
        let (done, fast_done, counts) = match step {
            Step::Insert(key) => {
                let (chain, remainder) = &self.keys[key];
                let fast_done = self.layout.insert(&mut fast, *chain as u32, words_of(remainder)[0]);
                (next.insert(*chain, remainder), fast_done, state.1.wrapping_add(1 << (COUNT_W * key)))
            }
            Step::Remove(key) => {
                if Self::count(state, key) == 0 {
                    return None;
                }
                let (chain, remainder) = &self.keys[key];
                let fast_done = self.layout.remove(&mut fast, *chain as u32, words_of(remainder)[0]);
                let done = next.remove(*chain, remainder, self.policy);
                (done, fast_done, state.1 - (1 << (COUNT_W * key)))
            }
        };
        let encoded = words_of(&next.encode());
        if self.policy == Policy::Safe {
            assert_eq!((fast, fast_done), (encoded, done), "the model differs: {}", self.path(state));
        }
        assert!(done || matches!(step, Step::Insert(_)), "present, but not found: {}", self.path(state));
        done.then_some((encoded[0], counts))
    }

    /// A key that is present and not found.
    fn lost(&self, state: State) -> Option<String> {
        let block = self.empty.decode(&bits_of(state.0, 64));
        let mut present = (0..self.keys.len()).filter(|key| Self::count(state, *key) > 0);
        let lost = present.find(|key| {
            let (chain, remainder) = &self.keys[*key];
            !block.contains(*chain, remainder, self.policy)
        });
        lost.map(|key| self.name(key))
    }

    fn name(&self, key: usize) -> String {
        let (chain, remainder) = &self.keys[key];
        let bits: String = remainder.iter().map(|bit| if *bit { '1' } else { '0' }).collect();
        format!("{chain}:{bits}")
    }

    /// The steps that lead to a state.
    fn path(&self, mut state: State) -> String {
        let mut steps = Vec::new();
        while let Some(&Some((before, step))) = self.seen.get(&state) {
            steps.push(match step {
                Step::Insert(key) => format!("+{}", self.name(key)),
                Step::Remove(key) => format!("-{}", self.name(key)),
            });
            state = before;
        }
        steps.reverse();
        steps.join(" ")
    }
}

/// Shapes whose states are few enough to visit them all, as (chains, ARRAY, `F_MAX`, `C_MAX`), and
/// how many they are.
const SHAPES: [((usize, usize, usize, usize), usize); 14] = [
    ((1, 3, 2, 2), 27),
    ((1, 6, 3, 2), 79),
    ((1, 7, 2, 4), 334),
    ((1, 8, 3, 3), 610),
    ((2, 7, 2, 3), 432),
    ((2, 9, 3, 3), 2_236),
    ((3, 7, 2, 3), 1_060),
    ((1, 12, 3, 6), 48_571),
    ((1, 16, 4, 4), 63_069),
    ((2, 9, 3, 4), 19_841),
    ((2, 10, 2, 5), 6_490),
    ((2, 12, 3, 5), 185_626),
    ((3, 10, 2, 5), 23_384),
    ((4, 8, 2, 4), 10_533),
];

/// The search has no limit: that it ends means that no step leads out of what was seen.
#[test]
fn removals_are_safe_in_every_state_of_small_blocks() {
    for ((chains, array, f_max, c_max), states) in SHAPES {
        let mut search = Search::new(chains, array, f_max, c_max, Policy::Safe);
        let shape = format!("CHAINS {chains} ARRAY {array} F_MAX {f_max} C_MAX {c_max}");
        assert_eq!(search.run(), None, "{shape}");
        assert_eq!(search.seen.len(), states, "{shape}");
    }
}

/// The shortest ways to lose a key in the first of these shapes where there is one.
#[test]
fn every_other_policy_loses_a_key() {
    for (policy, expected) in [
        (Policy::First, "+0:00 +0:10 +0:10 +0:00 -0:10 -0:00 loses 0:00"),
        (Policy::Last, "+0:00 +0:10 -0:10 loses 0:00"),
        (Policy::Exact, "+0:10 +0:00 -0:00 loses 0:10"),
    ] {
        let lost = SHAPES.iter().find_map(|&((chains, array, f_max, c_max), _)| {
            Search::new(chains, array, f_max, c_max, policy).run()
        });
        assert_eq!(lost.as_deref(), Some(expected), "{policy:?}");
    }
}

/// ERRATA's own counterexamples: one chain, each string a remainder.
#[test]
fn the_known_counterexamples() {
    let lost = |policy, array, add: &[&str], remove: &str, lost: &str| {
        let mut block = Reference::new(1, array, 3, array, true);
        for remainder in add {
            assert!(block.insert(0, &parse(remainder)));
        }
        assert!(block.remove(0, &parse(remove), policy));
        !block.contains(0, &parse(lost), policy)
    };
    let first: (usize, &[&str], _, _) = (8, &["000", "110", "100"], "110", "100");
    let last: (usize, &[&str], _, _) = (3, &["000", "100"], "100", "000");
    let exact: (usize, &[&str], _, _) = (3, &["100", "000"], "000", "100");
    for (unsafe_policy, (array, add, remove, key)) in
        [(Policy::First, first), (Policy::Last, last), (Policy::Exact, exact)]
    {
        assert!(lost(unsafe_policy, array, add, remove, key), "{unsafe_policy:?}");
        assert!(!lost(Policy::Safe, array, add, remove, key));
    }
}
