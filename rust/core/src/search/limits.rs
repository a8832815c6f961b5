//! When to stop: depth, nodes, a move's time or a clock, and how a clock becomes two limits.
//!
//! The soft limit is asked between iterations and stretched or shrunk by how
//! sure the search is; the hard one ends a search wherever it stands.

use std::time::{Duration, Instant};

/// A chess clock as UCI tells it, for the side to move.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clock {
    pub left: Duration,
    pub increment: Duration,
    pub moves_to_go: Option<u32>,
}

/// What a search may use; everything that is set holds, nothing set means until told to stop.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Limits {
    pub depth: Option<u32>,
    pub nodes: Option<u64>,
    /// Stop once a mate in so many moves is found.
    pub mate: Option<u32>,
    pub move_time: Option<Duration>,
    pub clock: Option<Clock>,
    /// Time that is lost between us and the clock, every move.
    pub overhead: Duration,
}

/// A game without moves to go is planned for so many more moves.
const HORIZON: f64 = 24.0;
const INCREMENT_SHARE: f64 = 0.85;
/// Overheads kept in reserve, and the most of a clock that they may take.
const RESERVED_OVERHEADS: f64 = 12.0;
const MOST_RESERVED: f64 = 0.9;
/// Moves that may still come, where each of them loses more than its increment.
const LONG_GAME: f64 = 40.0;
/// No move takes more than this share of what is left, nor this many times its plan.
const MOST_OF_CLOCK: f64 = 0.6;
const MOST_OF_PLAN: f64 = 4.0;
/// A forced move is played at once: nothing can be learnt from thinking.
const FORCED_SHARE: f64 = 0.05;

/// The limits of one search, in running time.
#[derive(Clone, Copy, Debug)]
pub struct Deadline {
    start: Instant,
    soft: Option<Duration>,
    hard: Option<Duration>,
}

impl Deadline {
    pub fn new(limits: &Limits, legal_moves: usize) -> Deadline {
        let start = Instant::now();
        let (mut soft, mut hard) = (None, None);
        if let Some(clock) = limits.clock {
            let (plan, most) = plan(&clock, limits.overhead);
            soft = Some(if legal_moves == 1 { plan.mul_f64(FORCED_SHARE) } else { plan });
            hard = Some(most);
        }
        if let Some(time) = limits.move_time {
            let time = usable(time, limits.overhead);
            hard = Some(hard.map_or(time, |most| most.min(time)));
        }
        Deadline { start, soft, hard }
    }

    pub fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }

    #[inline]
    pub fn is_past(&self) -> bool {
        self.hard.is_some_and(|hard| self.start.elapsed() >= hard)
    }

    /// Whether another iteration is not worth beginning, the plan stretched by `factor`.
    pub fn is_enough(&self, factor: f64) -> bool {
        self.soft.is_some_and(|soft| self.start.elapsed() >= soft.mul_f64(factor))
    }
}

/// Time less the overhead, never nothing.
fn usable(time: Duration, overhead: Duration) -> Duration {
    time.saturating_sub(overhead).max(Duration::from_millis(1).min(time / 2))
}

/// Planned and largest time for one move.
fn plan(clock: &Clock, overhead: Duration) -> (Duration, Duration) {
    let moves = clock.moves_to_go.map_or(HORIZON, |moves| f64::from(moves.clamp(1, 40)));
    // A busy machine may lose the overhead several times in a row: that much stays on the clock if it can.
    // And what each of the moves to come loses beyond its increment must be there when it comes.
    let deficit = overhead.saturating_sub(clock.increment).mul_f64(moves.max(LONG_GAME));
    let reserve = (overhead.mul_f64(RESERVED_OVERHEADS) + deficit).min(clock.left.mul_f64(MOST_RESERVED));
    let left = usable(clock.left, reserve).as_secs_f64();
    let increment = clock.increment.saturating_sub(overhead).as_secs_f64();
    let plan = left / moves + INCREMENT_SHARE * increment;
    let share = if clock.moves_to_go == Some(1) { 0.9 } else { MOST_OF_CLOCK };
    let most = left * share;
    (Duration::from_secs_f64(plan.min(most)), Duration::from_secs_f64((plan * MOST_OF_PLAN).min(most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(left: u64, increment: u64, moves_to_go: Option<u32>) -> Clock {
        Clock { left: Duration::from_millis(left), increment: Duration::from_millis(increment), moves_to_go }
    }

    #[test]
    fn no_plan_overruns_its_clock() {
        let overhead = Duration::from_millis(10);
        for left in [1, 2, 5, 20, 100, 1000, 60_000, 3_600_000] {
            for increment in [0, 10, 1000, 60_000] {
                for moves in [None, Some(1), Some(2), Some(40), Some(1000), Some(0)] {
                    let clock = clock(left, increment, moves);
                    let (soft, hard) = plan(&clock, overhead);
                    assert!(soft <= hard && hard < clock.left, "{clock:?}: {soft:?} {hard:?}");
                    assert!(soft > Duration::ZERO, "{clock:?}");
                }
            }
        }
    }

    #[test]
    fn a_sudden_death_clock_plans_more_than_two_percent_and_the_increment_floor() {
        let (soft, _) = plan(&clock(60_000, 1000, None), Duration::ZERO);
        assert!(soft >= Duration::from_millis(1000 + 1200), "{soft:?}");
    }

    #[test]
    fn without_limits_a_search_never_ends_by_itself() {
        let deadline = Deadline::new(&Limits::default(), 20);
        assert!(!deadline.is_past() && !deadline.is_enough(0.0));
    }

    #[test]
    fn a_move_time_is_hard_and_has_no_plan() {
        let limits = Limits { move_time: Some(Duration::ZERO), ..Limits::default() };
        let deadline = Deadline::new(&limits, 20);
        assert!(deadline.is_past() && !deadline.is_enough(0.0));
    }
}
