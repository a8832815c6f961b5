//! How the look-ahead gene spends the clock: moves still to come, and time for the next one.
//!
//! A clock counts seconds or, so that a game can be repeated, positions looked
//! at. Both are numbers that go down; nothing here knows which it is.

use std::f64::consts::{PI, SQRT_2};

/// The natural logarithm of erfc(x) = 1 − erf(x), which itself would soon be 0.
///
/// For large x a continued fraction, near 0 the power series of erf.
pub fn ln_erfc(x: f64) -> f64 {
    if x < 0.0 {
        return (2.0 - ln_erfc(-x).exp()).ln();
    }
    if x < 2.0 {
        return (1.0 - erf_series(x)).ln();
    }
    let mut tail = 0.0;
    for k in (1..=80).rev() {
        tail = f64::from(k) / 2.0 / (x + tail);
    }
    -x * x - ((x + tail) * PI.sqrt()).ln()
}

fn erf_series(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
        if term.abs() < 1e-17 {
            break;
        }
    }
    2.0 / PI.sqrt() * sum
}

/// How many more moves a player has to make after `made` of them, at least one.
///
/// The length of games is log-normal: its logarithm has the mean ln(`mean`)
/// and the deviation `uncertainty`. In closed form
/// N(n) = e^(M+S²/2) · erfc((ln n − M − S²)/S√2) / erfc((ln n − M)/S√2) − n.
pub fn moves_left(mean: f64, uncertainty: f64, made: u32) -> f64 {
    let (m, s) = (mean.ln(), uncertainty);
    let average = m + s * s / 2.0;
    if made == 0 {
        return average.exp().max(1.0);
    }
    let n = f64::from(made);
    let above = ln_erfc((n.ln() - m - s * s) / (s * SQRT_2));
    let below = ln_erfc((n.ln() - m) / (s * SQRT_2));
    let left = (average + above - below).exp() - n;
    if left.is_finite() { left.max(1.0) } else { 1.0 }
}

/// The look-ahead gene's share of a clock for the next move.
///
/// `to_reset` is the number of moves until time is added: a player may spend
/// all it has by then.
pub fn share(left: f64, increment: f64, moves_left: f64, to_reset: Option<u32>) -> f64 {
    let moves = to_reset.map_or(moves_left, |reset| moves_left.min(f64::from(reset))).max(1.0);
    (left / moves + increment).min(left)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-10 * b.abs().max(1.0), "{a} is not {b}");
    }

    #[test]
    fn erfc_has_its_tabulated_values() {
        near(ln_erfc(0.0), 0.0);
        near(ln_erfc(0.5).exp(), 0.479_500_122_186_953_5);
        near(ln_erfc(-1.0).exp(), 1.842_700_792_949_715);
        near(ln_erfc(2.0).exp(), 0.004_677_734_981_047_266);
        near(ln_erfc(3.0), 2.209_049_699_858_544e-5_f64.ln());
        near(ln_erfc(10.0), 2.088_487_583_762_545e-45_f64.ln());
        near(ln_erfc(2.0 - 1e-13), ln_erfc(2.0));
    }

    /// The sums of the log-normal distribution, added up in small steps.
    fn summed(mean: f64, s: f64, made: u32) -> f64 {
        let p = |x: f64| (-0.5 * ((x.ln() - mean.ln()) / s).powi(2)).exp() / x;
        let step = 0.01;
        let points = (0..2_000_000).map(|at| f64::from(made) + step * (f64::from(at) + 0.5));
        let (mut moments, mut total) = (0.0, 0.0);
        for x in points {
            moments += p(x) * x;
            total += p(x);
        }
        moments / total - f64::from(made)
    }

    #[test]
    fn moves_left_agree_with_the_distribution_summed_up() {
        for (mean, s, made) in
            [(28.7295, 0.51267, 0), (28.7295, 0.51267, 20), (40.0, 0.3, 80), (10.0, 0.5, 60)]
        {
            let (closed, sum) = (moves_left(mean, s, made), summed(mean, s, made).max(1.0));
            assert!((closed - sum).abs() < 1e-3 * sum, "{closed} is not {sum} after {made} of {mean}");
        }
    }

    #[test]
    fn however_long_the_game_at_least_one_move_is_left() {
        for made in [1, 50, 500, 5000] {
            for s in [0.01, 0.1, 1.0, 5.0] {
                let left = moves_left(30.0, s, made);
                assert!(left.is_finite() && left >= 1.0, "{left} after {made} with {s}");
            }
        }
    }

    #[test]
    fn the_last_move_before_a_reset_may_use_all_that_is_left() {
        assert_eq!(share(300.0, 0.0, 50.0, Some(1)), 300.0);
        assert_eq!(share(300.0, 0.0, 50.0, Some(40)), 7.5);
        assert_eq!(share(300.0, 0.0, 20.0, Some(40)), 15.0);
        assert_eq!(share(300.0, 2.0, 20.0, None), 17.0);
    }
}
