//! Memory that is read ahead: how far it is, when that is begun, and where it is to wait.

/// A cache of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// The one that is there at once. A processor has a dozen or two of reads into it under way.
    Nearest,
    /// The one after it. Some processors have several times as many reads into this one under way, but what it holds
    /// is waited for a little.
    Second,
    /// The nearest, and no other after it: for what is read once, and would drive out of all of them what is read again.
    Once,
}

/// Begins to read what will be needed soon; nothing happens where nothing is.
#[inline(always)]
pub fn prefetch<T>(things: &[T], index: usize, into: Cache) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on time, and every x86-64 has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_NTA, _MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let place = things.as_ptr().wrapping_add(index).cast();
        match into {
            Cache::Nearest => _mm_prefetch::<_MM_HINT_T0>(place),
            Cache::Second => _mm_prefetch::<_MM_HINT_T1>(place),
            Cache::Once => _mm_prefetch::<_MM_HINT_NTA>(place),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (things, index, into);
}

/// The same with so many cache lines, from a word on.
#[inline(always)]
pub fn prefetch_lines(words: &[u64], first: usize, lines: usize, into: Cache) {
    // Where to is asked once, and not for each.
    macro_rules! into {
        ($($cache:ident)*) => {
            match into {
                $(Cache::$cache => (0..lines).for_each(|line| prefetch(words, first + 8 * line, Cache::$cache)),)*
            }
        };
    }
    into!(Nearest Second Once);
}

/// How far a memory is that is read at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// A core does not wait long for it: to read it ahead does not pay.
    Near,
    /// In some cache.
    Far,
    /// In a cache that a core waits long for, if the rest of the machine leaves it there.
    Farther,
    /// Most of it in none.
    Farthest,
}

/// Words of a memory that is half of what many last caches hold, and of one that few of them can hold beside all else.
const FARTHER: usize = 2 << 20;
const FARTHEST: usize = 3 << 20;

impl Distance {
    /// Of so many words, where it is known how many are near.
    #[inline(always)]
    pub fn of(words: usize, near: usize) -> Self {
        if words <= near {
            Self::Near
        } else if words <= FARTHER {
            Self::Far
        } else if words <= FARTHEST {
            Self::Farther
        } else {
            Self::Farthest
        }
    }

    /// Groups of keys that lie between what is begun to read and what is worked on, and where it is to wait. One is enough
    /// for a cache; for memory as many reads are to be under way as there can be. With more than one, where a row lies may have to
    /// be looked up twice: a core has the addresses of some hundred pages at hand, and a guest's huge pages need not be its host's.
    #[inline(always)]
    pub fn ahead(self) -> Option<(usize, Cache)> {
        match self {
            Self::Near => None,
            Self::Far => Some((1, Cache::Nearest)),
            Self::Farther => Some((MOST_AHEAD, Cache::Nearest)),
            Self::Farthest => Some((MOST_AHEAD, Cache::Second)),
        }
    }
}

/// Of groups that lie between.
pub const MOST_AHEAD: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_is_farther() {
        for near in [1 << 13, 1 << 18] {
            assert_eq!(Distance::of(near, near), Distance::Near);
            assert_eq!(Distance::of(near + 1, near), Distance::Far);
            assert_eq!(Distance::of(FARTHER, near), Distance::Far);
            assert_eq!(Distance::of(FARTHER + 1, near), Distance::Farther);
            assert_eq!(Distance::of(FARTHEST, near), Distance::Farther);
            assert_eq!(Distance::of(FARTHEST + 1, near), Distance::Farthest);
        }
        assert_eq!(Distance::of(2 * FARTHEST, 2 * FARTHEST), Distance::Near);
    }
}
