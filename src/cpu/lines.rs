use std::{
    ops::{Deref, DerefMut},
    ptr::NonNull,
    slice,
};

use super::{HUGE_PAGE, prefer_huge_pages};

/// Words from the start of a cache line on: a row of 512 bits is one line, not two. Many words
/// fill huge pages from the start of one on, where the system has them.
#[derive(Debug)]
pub struct Lines {
    /// In `room`.
    first: NonNull<u64>,
    len: usize,
    /// More than needed, before the first and after the last. It is the owner, and is not looked at.
    room: Vec<u64>,
}

// SAFETY: it owns its words, as a vector does.
unsafe impl Send for Lines {}
// SAFETY: as above.
unsafe impl Sync for Lines {}

impl Lines {
    const BYTES: usize = 64;

    /// So many zeros.
    pub fn zeros(len: usize) -> Self {
        // Less than half of a huge page would waste more than it holds.
        let unit = if len * 8 < HUGE_PAGE / 2 { Self::BYTES } else { HUGE_PAGE };
        let mut room = vec![0; len.next_multiple_of(unit / 8) + unit / 8];
        prefer_huge_pages(&mut room);
        let skipped = room.as_ptr().align_offset(unit).min(room.len() - len);
        let first = NonNull::from(&mut room[skipped..]).cast();
        Self { first, len, room }
    }

    /// Words that are held in all.
    pub fn room(&self) -> usize {
        self.room.len()
    }
}

impl Deref for Lines {
    type Target = [u64];

    #[inline(always)]
    fn deref(&self) -> &[u64] {
        // SAFETY: `len` words from `first` on lie in `room`, whose buffer stays where it is until it is
        // dropped; nobody else looks at them.
        unsafe { slice::from_raw_parts(self.first.as_ptr(), self.len) }
    }
}

impl DerefMut for Lines {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [u64] {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.first.as_ptr(), self.len) }
    }
}

impl Clone for Lines {
    fn clone(&self) -> Self {
        let mut lines = Self::zeros(self.len);
        lines.copy_from_slice(self);
        lines
    }
}

impl PartialEq for Lines {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Lines {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_aligned_and_ones_own() {
        for len in [0, 1, 7, 8, 1000, HUGE_PAGE / 16 - 1, HUGE_PAGE / 16, 3 * HUGE_PAGE / 8 + 5] {
            let mut lines = Lines::zeros(len);
            assert_eq!(lines.len(), len);
            assert!(lines.iter().all(|word| *word == 0));
            let unit = if len * 8 < HUGE_PAGE / 2 { 64 } else { HUGE_PAGE };
            assert!(lines.as_ptr().cast::<u8>().addr().is_multiple_of(unit), "{len} words");
            assert!(lines.room() >= len && lines.room() * 8 <= len * 8 + 2 * unit);
            for (i, word) in lines.iter_mut().enumerate() {
                *word = i as u64;
            }
            let moved = Box::new(lines);
            let mut copy = Lines::clone(&moved);
            assert!(copy == *moved && copy.iter().zip(0..).all(|(word, i)| *word == i));
            if let Some(last) = copy.last_mut() {
                *last += 1;
                assert!(copy != *moved);
            }
        }
    }
}
