//! How much time each move loses on its way to the clock, learnt from the clock itself.
//!
//! Between two of our moves our clock should fall by what we thought and rise
//! by the increment. What is missing beyond that was lost on the way: a busy
//! machine, a slow pipe, a chess program that dawdles. The overhead that a user
//! sets is what we begin with, never less.

use std::time::Duration;

use super::limits::Clock;

/// More than this was no lag: the position comes from elsewhere.
const LARGEST: Duration = Duration::from_millis(200);
/// A lag that does not come back is forgotten by this much, move by move.
const FADING: f64 = 0.9;

#[derive(Default)]
pub struct Lag {
    /// The clock at our last move, and how long we thought about it.
    last: Option<(Clock, Duration)>,
    expected: Duration,
}

impl Lag {
    /// Our clock shows this now: what to expect of the next move's way.
    pub fn learn(&mut self, clock: &Clock) -> Duration {
        if let Some((before, thought)) = self.last.take() {
            let due = (before.left + before.increment).checked_sub(thought);
            let lost = due.and_then(|due| due.checked_sub(clock.left)).filter(|&lost| lost <= LARGEST);
            if let Some(lost) = lost {
                self.expected = self.expected.mul_f64(FADING).max(lost);
            }
        }
        self.expected
    }

    /// We thought so long at this clock.
    pub fn note(&mut self, clock: &Clock, thought: Duration) {
        self.last = Some((*clock, thought));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(left: u64) -> Clock {
        let [left, increment] = [left, 10].map(Duration::from_millis);
        Clock { left, increment, moves_to_go: None }
    }

    const THOUGHT: Duration = Duration::from_millis(30);

    #[test]
    fn what_the_clock_misses_is_expected_again_and_fades() {
        let mut lag = Lag::default();
        assert_eq!(lag.learn(&clock(1000)), Duration::ZERO);
        lag.note(&clock(1000), THOUGHT);
        assert_eq!(lag.learn(&clock(960)), Duration::from_millis(20));
        lag.note(&clock(960), THOUGHT);
        assert_eq!(lag.learn(&clock(940)), Duration::from_millis(18));
    }

    #[test]
    fn a_clock_that_rose_or_fell_too_far_teaches_nothing() {
        for later in [2000, 500] {
            let mut lag = Lag::default();
            lag.learn(&clock(1000));
            lag.note(&clock(1000), THOUGHT);
            assert_eq!(lag.learn(&clock(later)), Duration::ZERO);
        }
    }
}
