//! Random numbers that a seed brings back.

use std::collections::VecDeque;

/// SplitMix64: small, and good enough to choose commands.
pub struct Rng(u64);

impl Rng {
    /// A generator of its own for each (seed, stream), so that what one session draws does not
    /// depend on how the scheduler mixed it with the others.
    pub fn new(seed: u64, stream: u64) -> Rng {
        let mut rng = Rng(seed ^ stream.wrapping_mul(0xA076_1D64_78BD_642F));
        rng.next();
        rng
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `bound`, which must not be 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    /// True in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    /// One of them.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len())]
    }

    /// Index of a weight, drawn in proportion to it.
    pub fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut point = self.below(weights.iter().sum());
        for (index, weight) in weights.iter().enumerate() {
            if point < *weight {
                return index;
            }
            point -= weight;
        }
        unreachable!("the point lies below the sum")
    }
}

impl Rng {
    /// One of a queue that is not empty.
    pub fn pick_from<'a, T>(&mut self, choices: &'a VecDeque<T>) -> &'a T {
        &choices[self.below(choices.len())]
    }
}
