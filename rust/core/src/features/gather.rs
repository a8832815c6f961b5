//! Feature numbers thrown in in any order, some twice, and drawn out sorted, each once.
//!
//! Two levels of bits: drawing looks at one bit per 64 words, so even a set of
//! half a million features is drawn in little more time than it has active ones.

#[derive(Default)]
pub struct Gather {
    words: Vec<u64>,
    summary: Vec<u64>,
}

impl Gather {
    pub fn new(size: usize) -> Gather {
        let words = size.div_ceil(64);
        Gather { words: vec![0; words], summary: vec![0; words.div_ceil(64)] }
    }

    #[inline]
    pub fn insert(&mut self, number: u32) {
        let word = number as usize / 64;
        self.words[word] |= 1 << (number % 64);
        self.summary[word / 64] |= 1 << (word % 64);
    }

    /// Append what was thrown in to `out`, ascending, and be empty again.
    pub fn draw(&mut self, out: &mut Vec<u32>) {
        for (high, summary) in self.summary.iter_mut().enumerate() {
            while *summary != 0 {
                let at = high * 64 + summary.trailing_zeros() as usize;
                *summary &= *summary - 1;
                let mut word = std::mem::take(&mut self.words[at]);
                while word != 0 {
                    out.push((at * 64) as u32 + word.trailing_zeros());
                    word &= word - 1;
                }
            }
        }
    }
}
