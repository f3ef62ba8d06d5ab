//! Many cycles of a busy core at once: a request offered in each, responses taken at once, and nothing but
//! queries and inserts on the way to the port.
//!
//! Then rows are accessed in the order of the requests, and each access sees what all those before it wrote: the port
//! holds it back for as long as it would not. So content needs no pipeline. When an access goes depends on
//! the two before it alone, and what the pins show on which accesses go when.
//!
//! Which operation comes, and whether a key's bits were set, is as good as random: nothing here needs a branch for it, and
//! such truths are numbers, 0 or 1.

mod log;
mod port;

use crate::{
    ahead::of_key,
    block_port::{InFlight, Kind},
    cpu::{GROUP, Level, Work, opaque},
    filter::Op,
    pins::{FilterPins, Inputs, Outputs},
};

use super::clocked::{Aheads, PLACES, Read, Registers, State};
use log::{Counts, FLAGS, INSERT, LATER, LONGEST, Log, SET, TAKEN};
use port::Port;

/// Fewer cycles are played one by one in less time.
pub const SHORTEST: usize = 8;
// What is in flight before leaves; and cycles are noted in bytes.
const _: () = assert!(SHORTEST >= LATER && LONGEST <= 256);

/// Plays such cycles, as many as there are at the begin of `rows`, at least [`SHORTEST`], and says how many. Rows
/// are of `N` words (0: of any number), and keys of `G` words (0: of any number).
pub struct Flow<'a, const N: usize, const G: usize> {
    pub registers: &'a mut Registers,
    pub state: &'a mut State,
    pub pins: &'a FilterPins,
    pub rows: (&'a [u64], usize),
    /// Knows the keys from the one with this number on.
    pub ahead: (&'a Aheads, usize),
    pub outputs: &'a mut [u64],
}

impl<const N: usize, const G: usize> Work for Flow<'_, N, G> {
    type Output = usize;

    #[inline(always)]
    fn run<L: Level>(self, _: L) -> usize {
        if self.state.parity.is_some() { self.play::<true>() } else { self.play::<false>() }
    }
}

impl<const N: usize, const G: usize> Flow<'_, N, G> {
    #[inline(always)]
    fn play<const PARITY: bool>(mut self) -> usize {
        let (pins, (ahead, first)) = (self.pins, self.ahead);
        let valid = pins.pack_outputs(&Outputs { rsp_valid: true, ..Outputs::default() });
        let (coming, cycles) = self.offered(valid);
        let end = first + cycles;
        let Self { registers, state, outputs, .. } = &mut self;
        let group = if G > 0 { G } else { state.group };
        let masked = state.kinds[1] == Kind::Write;
        let in_flight = registers.port.in_flight();
        let mut log = Log::new(pins, valid, [first, end]);
        let landed = land::<N>(in_flight, &mut registers.all_set, state, &mut log);

        let State { filter, parity, words, .. } = &mut **state;
        let parity = parity.as_mut().filter(|_| PARITY).map_or(&mut [][..], |parity| parity.words_mut(0));
        let word = registers.s2 % group;
        let mut play = Play::<N, G, PARITY> {
            port: Port::new(filter.memory_mut(), parity, masked, first, in_flight),
            log: &mut log.entries,
            hit: log.hit,
            group,
            word,
            before: [0; 2],
            all_set: u64::from(registers.all_set).wrapping_neg(),
            all_left: u64::from(registers.all_set).wrapping_neg(),
        };
        // First those that wait for the port, then those that come. What goes in the last two cycles is not written
        // back in time.
        let goes = |cycle| (cycle < end).then_some(cycle + LATER < end);
        'stretch: {
            for from in [registers.s2 - word, registers.s1] {
                let request = &words[from..from + group];
                let insert = u64::from(request[0].kind != Kind::Read);
                let entry = insert << INSERT | 1 << TAKEN | valid | request[0].tag;
                let mask = |w: usize| (request[w].mask.row, move |i: usize| request[w].mask.bits()[i]);
                if !play.request(entry, goes, mask) {
                    break 'stretch;
                }
            }
            // In the first cycles it need not be asked of every access.
            while play.port.all_gone(group) + LATER <= end {
                play.coming(&coming, ahead, |_| Some(true));
            }
            while play.coming(&coming, ahead, goes) {}
        }

        registers.all_set = play.all_left != 0;
        let mut counts = log.show(&mut outputs[..cycles]);
        if let Some(parity) = state.parity.as_mut().filter(|_| PARITY) {
            log.show_errors(parity, &mut outputs[..cycles]);
        }
        let mut accesses = counts.words as u64;
        if !masked {
            counts.writes += landed;
            counts.writes -= log.left().map(log::writes).iter().sum::<u64>();
            accesses += counts.writes;
        }
        let in_flight = self.stay(&coming, &log, &counts);
        self.registers.port.stretch(cycles, [accesses, counts.writes], in_flight);
        cycles
    }

    /// What the log will have of the requests offered, and for how many cycles the core is busy.
    #[inline(always)]
    fn offered(&self, valid: u64) -> ([u64; LONGEST], usize) {
        let Self { pins, rows: (rows, each), ahead: (_, first), outputs, .. } = self;
        let mut entries = [0; LONGEST];
        let mut cycles = 0;
        for (rows, entries) in rows.chunks(GROUP * each).zip(entries[*first..].chunks_mut(GROUP)) {
            let mut controls = [0; GROUP];
            let len = entries.len().min(rows.len() / each);
            for (control, row) in controls[..len].iter_mut().zip(rows.chunks_exact(*each)) {
                *control = pins.controls_of(row);
            }
            for (entry, control) in entries.iter_mut().zip(&controls) {
                *entry = pins.inserts(*control) << INSERT | 1 << TAKEN | valid | pins.tag_of(*control);
            }
            let controls = &controls[..len];
            if !pins.all_flow(controls) {
                cycles += controls.iter().take_while(|control| pins.all_flow(&[**control])).count();
                break;
            }
            cycles += len;
        }
        (entries, cycles.min(outputs.len()))
    }

    /// Puts all that is still in flight to its place, and says what is in the port's stages.
    #[inline(always)]
    fn stay(
        &mut self,
        entries: &[u64; LONGEST],
        log: &Log<'_>,
        &Counts { words, requests, .. }: &Counts,
    ) -> [Option<InFlight<Read>>; 2] {
        let Self { registers, state, pins, ahead: (ahead, _), .. } = self;
        let (group, len) = (if G > 0 { G } else { state.group }, state.words.len());
        // Requests lie in their order, those before the stretch too; number 0 was in s2.
        let first = registers.s2 / group;
        let place = |request: usize| (first + request) % PLACES * group;
        for (age, i) in log.last_accepted().take(4).enumerate() {
            let (op, tag) = (Op::from_bits(entries[i] >> INSERT), pins.tag_of(entries[i]));
            let inputs = Inputs { op, tag, ..Inputs::default() };
            state.accept(place(requests + 1 - age), &inputs, &[], Some((ahead, i)));
        }
        registers.s2 = (registers.s2 + words) % len;
        registers.s1 = place(requests + 1);
        registers.next = place(requests + 2);
        let op = |entry: u64, back: usize| {
            let place = (registers.s2 + len - back) % len;
            let word = &state.words[place];
            let meta = Read::new(place, word.last, entry >> SET & 1 == 1);
            (entry >> TAKEN & 1 == 1).then_some(InFlight { kind: word.kind, row: word.mask.row, meta })
        };
        let [at_s4, at_s3] = log.left();
        let s3 = op(at_s3, 1);
        [s3, op(at_s4, 1 + usize::from(s3.is_some()))]
    }
}

/// What is in the port's stages leaves them: it gets back to memory, and is shown. Says how many rows are written.
#[inline(always)]
fn land<const N: usize>(
    [s3, s4]: [Option<InFlight<Read>>; 2],
    all_set: &mut bool,
    state: &mut State,
    log: &mut Log<'_>,
) -> u64 {
    let State { filter, parity, words, .. } = state;
    let memory = filter.memory_mut();
    let mut landed = 0;
    for (cycle, op) in [s4, s3].into_iter().enumerate() {
        let Some(InFlight { row, meta, .. }) = op else { continue };
        let word = &words[meta.word()];
        if port::changes(op) {
            word.mask.set::<N>(memory);
            if let Some(parity) = parity {
                parity.write(0, memory, row);
            }
            landed += 1;
        }
        *all_set &= meta.is_set();
        if meta.is_last() {
            log.respond(cycle, *all_set, word.status, word.tag);
            *all_set = true;
        }
    }
    if let Some(parity) = parity {
        log.err(parity.pending());
    }
    landed
}

/// Requests on their way through the port.
struct Play<'a, const N: usize, const G: usize, const PARITY: bool> {
    port: Port<'a>,
    log: &'a mut [u64; LONGEST + LATER],
    hit: u64,
    group: usize,
    /// The word that the request at hand is at.
    word: usize,
    /// The cycles in which the last words of the two requests before went: then the one at hand and the next were accepted.
    before: [usize; 2],
    /// All bits of the request's words so far were set: all ones, or 0.
    all_set: u64,
    /// The same, of words that have left the pipeline.
    all_left: u64,
}

impl<const N: usize, const G: usize, const PARITY: bool> Play<'_, N, G, PARITY> {
    /// The next request that is accepted in the stretch: as [`Play::request`] says.
    #[inline(always)]
    fn coming(
        &mut self,
        entries: &[u64; LONGEST],
        ahead: &Aheads,
        goes: impl Fn(usize) -> Option<bool>,
    ) -> bool {
        let i = self.before[0] % LONGEST;
        let (mut rows, mut words, mut each) = (ahead.rows(), ahead.words(), ahead.words_of_mask());
        if G > 0 {
            (rows, words, each) = (&rows[..G], &words[..G * N], N);
        }
        let mask = |w: usize| (of_key(&rows[w], i) as usize, move |n: usize| of_key(&words[w * each + n], i));
        self.request(entries[i], goes, mask)
    }

    /// Accesses the rows of a request with this entry, as long as `goes` says of a cycle that it is before the end, and whether what
    /// goes then is written back in time. If not, the request stays where it is.
    #[inline(always)]
    fn request<B: Fn(usize) -> u64>(
        &mut self,
        entry: u64,
        goes: impl Fn(usize) -> Option<bool>,
        mask: impl Fn(usize) -> (usize, B),
    ) -> bool {
        let group = if G > 0 { G } else { self.group };
        while self.word < group {
            let (row, bits) = mask(self.word);
            let cycle = self.port.when(row);
            let Some(in_time) = goes(cycle) else { return false };
            let (set, flags) = self.port.access::<N, PARITY>(cycle, row, bits, entry >> INSERT, in_time);
            // As a mask: a compiler that knows that it is 0 or 1 makes a branch of what chance decides.
            let set = opaque(set.wrapping_neg());
            self.all_set &= set;
            let flags = flags | set & 1 << SET;
            let log = &mut self.log[cycle % LONGEST + LATER];
            self.word += 1;
            if self.word == group {
                *log = entry | flags | self.all_set & self.hit;
                self.all_set = u64::MAX;
                self.before = [self.before[1], cycle];
            } else {
                *log = entry & FLAGS | flags;
            }
            if in_time {
                self.all_left = self.all_set;
            }
        }
        self.word = 0;
        true
    }
}
