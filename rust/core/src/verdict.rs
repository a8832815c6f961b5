//! What a UCI engine's answer comes to: its move, its score, the line that it expects.
//!
//! Text in, numbers out: who asked, and how the engine is kept alive, is `teacher`'s business.

/// A score from the side to move's view.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Score {
    Centipawns(i32),
    /// Positive: the mover mates in n; zero or negative: it is mated.
    Mate(i32),
}

impl Score {
    pub fn number(self, mate: i16, largest: i16) -> i16 {
        match self {
            Score::Centipawns(cp) => cp.clamp(i32::from(-largest), i32::from(largest)) as i16,
            Score::Mate(n) if n > 0 => mate - n.min(255) as i16,
            Score::Mate(n) => -(mate - n.unsigned_abs().min(255) as i16),
        }
    }

    /// What it says so many half-moves further down its own line, for whoever moves there.
    pub fn after(self, plies: u32) -> Score {
        match self {
            Score::Centipawns(cp) => Score::Centipawns(if plies.is_multiple_of(2) { cp } else { -cp }),
            Score::Mate(n) => {
                let to_mate = if n > 0 { 2 * n.unsigned_abs() - 1 } else { 2 * n.unsigned_abs() };
                let left = to_mate.saturating_sub(plies) as i32;
                Score::Mate(if left % 2 == 1 { (left + 1) / 2 } else { -(left / 2) })
            }
        }
    }
}

/// The score in an info line, and whether it is a mere bound.
fn score_in(line: &str) -> Option<(Score, bool)> {
    let mut words = line.split_ascii_whitespace();
    words.find(|word| *word == "score")?;
    let (kind, number) = (words.next()?, words.next()?.parse().ok()?);
    let bound = matches!(words.next(), Some("lowerbound" | "upperbound"));
    match kind {
        "cp" => Some((Score::Centipawns(number), bound)),
        "mate" => Some((Score::Mate(number), bound)),
        _ => None,
    }
}

/// What an answer comes to: the last score given to its own move.
///
/// A search that was stopped within an iteration ends with a bound, because the score was on its way to somewhere
/// else than before. The truth lies nearer to the bound: three quarters of it and a quarter of the last exact score
/// have a third less squared error than the exact score alone, and no bias (docs/labels.md).
pub fn final_score(answer: &[String]) -> Option<Score> {
    let own = played_move(answer);
    let told = || answer.iter().rev().filter(|line| line.starts_with("info"));
    let of_own_move = || told().filter(|line| own.is_some() && begun_with(line) == own);
    let (score, bound) =
        of_own_move().find_map(|line| score_in(line)).or_else(|| told().find_map(|line| score_in(line)))?;
    let exact = told().filter_map(|line| score_in(line)).find(|(_, bound)| !bound);
    match (score, exact) {
        (Score::Centipawns(limit), Some((Score::Centipawns(exact), _))) if bound => {
            Some(Score::Centipawns((3 * limit + exact) / 4))
        }
        _ => Some(score),
    }
}

/// The move with which an info line's variation begins.
fn begun_with(line: &str) -> Option<&str> {
    line.split_ascii_whitespace().skip_while(|word| *word != "pv").nth(1)
}

/// The move that ends an answer.
pub fn played_move(answer: &[String]) -> Option<&str> {
    answer.last()?.strip_prefix("bestmove ")?.split_ascii_whitespace().next()
}

/// The moves that the answer's move begins. What was thought last is often cut short, and goes on as before then.
pub fn expected_line(answer: &[String]) -> Vec<&str> {
    let mut line: Vec<&str> = played_move(answer).into_iter().collect();
    for told in answer.iter().rev().filter(|line| line.starts_with("info")) {
        let words = told.split_ascii_whitespace().skip_while(|word| *word != "pv").skip(1);
        let told: Vec<&str> = words.collect();
        if told.len() > line.len() && told.starts_with(&line) {
            line = told;
        }
    }
    line
}

/// The last score given to a line that starts with `move_text`.
pub fn score_of(answer: &[String], move_text: &str) -> Option<Score> {
    let mut of_move = answer.iter().rev().filter(|line| begun_with(line) == Some(move_text));
    of_move.find_map(|line| score_in(line)).map(|(score, _)| score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pgn::{LARGEST_EVAL, MATE};

    fn answer(lines: &[&str]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_bound_weighs_three_times_what_was_exact_before_it() {
        let mut told = vec![
            "info depth 5 score cp 31 pv e2e4",
            "info depth 6 score cp 91 lowerbound pv e2e4",
            "bestmove e2e4 ponder e7e5",
        ];
        assert_eq!(final_score(&answer(&told)), Some(Score::Centipawns(76)));
        told.insert(2, "info depth 7 score mate 3 lowerbound pv e2e4");
        assert_eq!(final_score(&answer(&told)), Some(Score::Mate(3)));
    }

    #[test]
    fn a_score_is_that_of_the_move_played() {
        let lines = answer(&[
            "info depth 5 score cp 31 pv e2e4",
            "info depth 6 score cp 40 pv d2d4",
            "info depth 7 score cp 12 pv e2e4",
            "info depth 7 currmove d2d4 currmovenumber 2",
            "bestmove d2d4",
        ]);
        assert_eq!(final_score(&lines), Some(Score::Centipawns(40)));
        let unsaid = answer(&["info depth 5 score cp 31", "bestmove d2d4"]);
        assert_eq!(final_score(&unsaid), Some(Score::Centipawns(31)));
    }

    #[test]
    fn each_move_takes_its_latest_score() {
        let lines = answer(&[
            "info depth 1 multipv 2 score cp 5 pv d2d4",
            "info depth 2 multipv 1 score mate -3 pv d2d4 e7e5",
            "info depth 2 multipv 2 score cp 7 pv e2e4",
        ]);
        assert_eq!(score_of(&lines, "d2d4"), Some(Score::Mate(-3)));
        assert_eq!(score_of(&lines, "d7d5"), None);
    }

    #[test]
    fn the_move_played_stands_before_the_one_pondered() {
        assert_eq!(played_move(&answer(&["info depth 1", "bestmove e2e4 ponder e7e5"])), Some("e2e4"));
        assert_eq!(played_move(&answer(&["bestmove d7d8q"])), Some("d7d8q"));
    }

    #[test]
    fn a_line_cut_short_goes_on_as_it_was_thought_before() {
        let lines = answer(&[
            "info depth 4 score cp 20 pv d2d4 d7d5",
            "info depth 5 score cp 31 pv e2e4 e7e5 g1f3 b8c6",
            "info depth 6 score cp 30 pv e2e4 e7e5",
            "bestmove e2e4 ponder e7e5",
        ]);
        assert_eq!(expected_line(&lines), ["e2e4", "e7e5", "g1f3", "b8c6"]);
        let other = answer(&["info depth 5 score cp 31 pv e2e4 e7e5", "bestmove d2d4"]);
        assert_eq!(expected_line(&other), ["d2d4"]);
    }

    #[test]
    fn down_a_line_a_mate_comes_nearer_and_the_mover_changes() {
        let down = |score: Score| (0..5).map(|plies| score.after(plies)).collect::<Vec<_>>();
        let mates = |numbers: [i32; 5]| numbers.map(Score::Mate).to_vec();
        assert_eq!(down(Score::Mate(3)), mates([3, -2, 2, -1, 1]));
        assert_eq!(down(Score::Mate(-2)), mates([-2, 2, -1, 1, 0]));
        assert_eq!(Score::Centipawns(31).after(1), Score::Centipawns(-31));
    }

    #[test]
    fn mates_keep_their_distance_and_sign() {
        assert_eq!(Score::Mate(2).number(MATE, LARGEST_EVAL), 9998);
        assert_eq!(Score::Mate(0).number(MATE, LARGEST_EVAL), -10000);
        assert_eq!(Score::Mate(-4).number(30_000, 29_000), -29996);
    }
}
