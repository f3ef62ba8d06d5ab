//! Memory that is read ahead: how far it is, when that is begun, and where it is to wait.

/// A cache of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cache {
    /// The one that is there at once. A processor has a dozen or two of reads into it under way.
    Nearest,
    /// The one after it. Some processors have several times as many reads into this one under way, but what it holds
    /// is waited for a little.
    Second,
}

/// Begins to read what will be needed soon; nothing happens where nothing is.
#[inline(always)]
pub fn prefetch<T>(things: &[T], index: usize, into: Cache) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch of any address has no effect but on time, and every x86-64 has it.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        let place = things.as_ptr().wrapping_add(index).cast();
        match into {
            Cache::Nearest => _mm_prefetch::<_MM_HINT_T0>(place),
            Cache::Second => _mm_prefetch::<_MM_HINT_T1>(place),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (things, index, into);
}

/// How far a memory is that is read at random.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Distance {
    /// A core does not wait long for it: to read it ahead does not pay.
    Near,
    /// In some cache.
    Far,
    /// Most of it in none, or in one that a core waits long for.
    Farther,
}

/// Words of a memory that most second caches cannot hold by far.
const FARTHER: usize = 1 << 20;

impl Distance {
    /// Of so many words, where it is known how many are near.
    #[inline(always)]
    pub fn of(words: usize, near: usize) -> Self {
        if words > FARTHER.max(near) {
            Self::Farther
        } else if words > near {
            Self::Far
        } else {
            Self::Near
        }
    }

    /// Groups of keys that lie between what is begun to read and what is worked on, and where it is to wait. One is enough
    /// for a cache; for memory as many reads are to be under way as there can be.
    #[inline(always)]
    pub fn ahead(self) -> Option<(usize, Cache)> {
        match self {
            Self::Near => None,
            Self::Far => Some((1, Cache::Nearest)),
            Self::Farther => Some((MOST_AHEAD, Cache::Second)),
        }
    }
}

/// Of groups that lie between.
pub const MOST_AHEAD: usize = 3;

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
        }
        assert_eq!(Distance::of(2 * FARTHER, 2 * FARTHER), Distance::Near);
    }
}
