//! The search keeps its promises: mates found, legal lines, the same answer twice, a stop that stops, draws seen.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use shakmaty::{Chess, Move, Position};
use tabiya_core::game::Game;
use tabiya_core::move_code::MoveCode;
use tabiya_core::playout::Random;
use tabiya_core::rules;
use tabiya_core::search::{
    Board, Clock, Engine, Evaluate, EvaluateChess, Handmade, Info, Limits, Mirror, Outcome, Techniques,
    Verdict,
};

fn nodes(count: u64) -> Limits {
    Limits { nodes: Some(count), ..Limits::default() }
}

fn think<E: Evaluate + Clone>(engine: &mut Engine<E>, fen: &str, limits: &Limits) -> Outcome {
    let position = rules::from_fen(fen).unwrap();
    engine.search(&position, &[], &[], limits, &AtomicBool::new(false), &mut |_| {})
}

fn best_text(outcome: &Outcome) -> String {
    outcome.best().unwrap().uci().to_string()
}

const OPEN_GAME: &str = "r1bqkb1r/pppp1ppp/2n2n2/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R w KQkq - 4 4";
const SHARP: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

/// Some nodes of a position, in words that differ if anything differs.
fn fingerprint(engine: &mut Engine<Handmade>, fen: &str) -> String {
    let mut told = String::new();
    let position = rules::from_fen(fen).unwrap();
    let outcome =
        engine.search(&position, &[], &[], &nodes(60_000), &AtomicBool::new(false), &mut |info: &Info| {
            told += &format!("{} {} {} {:?}\n", info.depth, info.score, info.nodes, info.pv);
        });
    format!("{told}{outcome:?}")
}

#[test]
fn mates_are_found_and_counted() {
    for (fen, moves, first) in [
        ("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1", 1, "d1d8"),
        ("kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", 2, "a1a6"),
        ("r1bq2r1/b4pk1/p1pp1p2/1p2pP2/1P2P1PB/3P4/1PPQ2P1/R3K2R w - - 0 1", 2, "d2h6"),
        ("r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", 3, "f6a6"),
        ("8/8/8/8/8/3k4/5q2/3K4 b - - 0 1", 1, ""),
        ("7k/8/8/8/8/8/1R6/K1R5 w - - 0 1", 2, ""),
    ] {
        let outcome = think(&mut Engine::new(Handmade), fen, &nodes(400_000));
        assert_eq!(Verdict::of(outcome.lines[0].score), Verdict::Mate(moves), "{fen}");
        assert!(first.is_empty() || best_text(&outcome) == first, "{} in {fen}", best_text(&outcome));
    }
}

#[test]
fn a_side_that_will_be_mated_says_so() {
    let outcome = think(&mut Engine::new(Handmade), "7k/8/8/8/8/8/R7/KR6 b - - 0 1", &nodes(200_000));
    assert!(matches!(Verdict::of(outcome.lines[0].score), Verdict::Mate(moves) if moves < 0));
}

#[test]
fn a_finished_game_has_no_best_move() {
    for fen in ["7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1"] {
        assert_eq!(think(&mut Engine::new(Handmade), fen, &nodes(1000)).best(), None);
    }
}

#[test]
fn every_reported_line_is_legal_and_ends_where_it_should() {
    let mut engine = Engine::new(Handmade);
    engine.lines = 3;
    for seed in 0..12 {
        let packed = tabiya_core::playout::random_positions(1, seed, 80)[0];
        let position = tabiya_core::packed::unpack(&packed).unwrap();
        let mut reports = 0;
        engine.search(&position, &[], &[], &nodes(8_000), &AtomicBool::new(false), &mut |info| {
            reports += 1;
            let mut here = position.clone();
            for code in &info.pv {
                let m = code.to_move(&here).unwrap_or_else(|| panic!("{code:?} of {:?}", info.pv));
                here.play_unchecked(m);
            }
            if let Verdict::Mate(moves) = Verdict::of(info.score) {
                assert_eq!(info.pv.len() as i32, if moves > 0 { 2 * moves - 1 } else { -2 * moves });
                assert!(here.is_checkmate());
            }
        });
        assert!(reports > 0);
    }
}

#[test]
fn one_thread_at_fixed_nodes_answers_the_same_twice() {
    for fen in [OPEN_GAME, SHARP] {
        let first = fingerprint(&mut Engine::new(Handmade), fen);
        let mut again = Engine::new(Handmade);
        think(&mut again, OPEN_GAME, &nodes(5_000));
        again.clear();
        assert_eq!(fingerprint(&mut again, fen), first, "{fen}");
    }
}

#[test]
fn every_technique_can_be_switched_off_and_changes_the_search() {
    let prints = |engine: &mut Engine<Handmade>| [SHARP, OPEN_GAME].map(|fen| fingerprint(engine, fen));
    let all = prints(&mut Engine::new(Handmade));
    for name in Techniques::NAMES {
        let mut engine = Engine::new(Handmade);
        *engine.techniques.switch(name).unwrap() = false;
        let without = prints(&mut engine);
        // Mate distance matters only near a mate.
        assert!(without != all || *name == "MateDistance", "{name}");
    }
}

#[test]
fn a_node_limit_is_kept() {
    for limit in [1, 2, 100, 5_000] {
        let outcome = think(&mut Engine::new(Handmade), SHARP, &nodes(limit));
        assert!(outcome.best().is_some());
        assert!(outcome.nodes <= limit + 1, "{} of {limit}", outcome.nodes);
    }
}

#[test]
fn a_stop_ends_an_endless_search() {
    let position = rules::from_fen(OPEN_GAME).unwrap();
    for threads in [1, 2] {
        let stop = AtomicBool::new(false);
        let mut engine = Engine::new(Handmade);
        engine.set_threads(threads);
        let mut deepest = 0;
        let outcome = engine.search(&position, &[], &[], &Limits::default(), &stop, &mut |info| {
            deepest = deepest.max(info.depth);
            stop.store(info.depth >= 6, Relaxed);
        });
        assert!(outcome.best().unwrap().to_move(&position).is_some());
        assert!((6..=7).contains(&deepest), "{deepest}");
    }
}

#[test]
fn a_search_stopped_before_it_began_still_has_a_legal_move() {
    let position = rules::from_fen(SHARP).unwrap();
    let stop = AtomicBool::new(true);
    let outcome = Engine::new(Handmade).search(&position, &[], &[], &Limits::default(), &stop, &mut |_| {});
    assert!(outcome.best().unwrap().to_move(&position).is_some());
}

#[test]
fn a_clock_with_no_time_left_still_gets_a_move() {
    let clock = Clock { left: Duration::ZERO, increment: Duration::ZERO, moves_to_go: None };
    let limits = Limits { clock: Some(clock), ..Limits::default() };
    assert!(think(&mut Engine::new(Handmade), SHARP, &limits).best().is_some());
}

#[test]
fn perpetual_check_is_worth_a_draw() {
    let outcome = think(&mut Engine::new(Handmade), "6k1/6p1/8/6KQ/1r6/q2b4/8/8 w - - 0 1", &nodes(50_000));
    assert!(outcome.lines[0].score.abs() <= 1, "{:?}", outcome.lines[0]);
}

#[test]
fn a_position_that_stood_twice_is_a_draw_when_it_comes_again() {
    // White is a queen up, and has let the kings walk to and fro; repeating once more would end the game.
    let start = rules::from_fen("7k/8/8/8/8/Q7/8/K7 w - - 0 1").unwrap();
    let mut game = Game::new(start.clone());
    for text in ["a1b1", "h8g8", "b1a1", "g8h8", "a1b1", "h8g8", "b1a1"] {
        game.push_text(text).unwrap();
    }
    let black_to_move = game.position().clone();
    let repeat = MoveCode::of(rules::parse_uci(&black_to_move, "g8h8").unwrap());
    let mut engine = Engine::new(Handmade);
    let outcome =
        engine.search(&start, game.moves(), &[repeat], &nodes(5_000), &AtomicBool::new(false), &mut |_| {});
    assert!(outcome.lines[0].score.abs() <= 1, "with the game's past: {:?}", outcome.lines[0]);
    engine.clear();
    let outcome =
        engine.search(&black_to_move, &[], &[repeat], &nodes(5_000), &AtomicBool::new(false), &mut |_| {});
    assert!(outcome.lines[0].score < -500, "without it: {:?}", outcome.lines[0]);
}

#[test]
fn fifty_moves_are_a_draw_unless_the_last_of_them_mates() {
    let outcome = think(&mut Engine::new(Handmade), "8/8/8/3k4/8/8/1Q6/K7 w - - 99 90", &nodes(20_000));
    assert!(outcome.lines[0].score.abs() <= 1, "{:?}", outcome.lines[0]);
    let outcome =
        think(&mut Engine::new(Handmade), "6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 99 90", &nodes(20_000));
    assert_eq!(Verdict::of(outcome.lines[0].score), Verdict::Mate(1));
}

#[test]
fn a_table_of_one_bucket_changes_no_mate() {
    let mut engine = Engine::new(Handmade);
    engine.set_hash(0);
    let outcome = think(&mut engine, "kbK5/pp6/1P6/8/8/8/8/R7 w - - 0 1", &nodes(100_000));
    assert_eq!(Verdict::of(outcome.lines[0].score), Verdict::Mate(2));
}

#[test]
fn several_lines_begin_with_different_moves_best_first() {
    let mut engine = Engine::new(Handmade);
    engine.lines = 500;
    let outcome = think(&mut engine, OPEN_GAME, &Limits { depth: Some(4), ..Limits::default() });
    let legal = rules::from_fen(OPEN_GAME).unwrap().legal_moves().len();
    let mut firsts: Vec<u16> = outcome.lines.iter().map(|line| line.moves[0].0).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), legal);
    assert!(outcome.lines.is_sorted_by_key(|line| -line.score));
}

#[test]
fn helpers_share_the_work_and_find_the_same_mate() {
    let mut engine = Engine::new(Handmade);
    engine.set_threads(3);
    let limits = Limits { mate: Some(3), ..Limits::default() };
    let outcome = think(&mut engine, "r5rk/5p1p/5R2/4B3/8/8/7P/7K w - - 0 1", &limits);
    assert_eq!(best_text(&outcome), "f6a6");
}

/// The handmade evaluation asked through the rules library, with a check that pushes and pops agree.
#[derive(Clone, Default)]
struct ByRules(Vec<Chess>);

impl EvaluateChess for ByRules {
    fn reset(&mut self, root: &Chess) {
        self.0 = vec![root.clone()];
    }

    fn push(&mut self, before: &Chess, m: Move, after: &Chess) {
        let last = self.0.last().unwrap();
        assert_eq!(before.board(), last.board());
        assert!(before.is_legal(m));
        self.0.push(after.clone());
    }

    fn pop(&mut self) {
        self.0.pop();
    }

    fn evaluate(&mut self, position: &Chess) -> i32 {
        assert_eq!(position.board(), self.0.last().unwrap().board());
        Handmade.evaluate(&Board::new(position))
    }
}

#[test]
fn an_evaluation_that_follows_the_rules_library_sees_the_same_tree() {
    for fen in [OPEN_GAME, SHARP] {
        let direct = think(&mut Engine::new(Handmade), fen, &nodes(20_000));
        let mirrored = think(&mut Engine::new(Mirror::new(ByRules::default())), fen, &nodes(20_000));
        assert_eq!(direct, mirrored);
    }
}

/// Games against itself from random openings; every move is checked by the rules library.
fn self_play(games: u64, nodes_a_move: u64) {
    let mut engine = Engine::new(Handmade);
    engine.set_hash(1);
    for seed in 0..games {
        let mut random = Random::new(seed);
        let mut game = Game::new(Chess::default());
        engine.clear();
        while game.ending(true).is_none() {
            let legal = game.position().legal_moves();
            if game.moves().len() < 8 {
                game.push(legal[random.below(legal.len())]);
                continue;
            }
            let stop = AtomicBool::new(false);
            let limits = nodes(nodes_a_move + random.below(8) as u64);
            let outcome = engine.search(game.start(), game.moves(), &[], &limits, &stop, &mut |_| {});
            let code = outcome.best().expect("a game that is not over has a move");
            game.push(code.to_move(game.position()).expect("the engine plays legal moves"));
        }
    }
}

#[test]
fn games_against_itself_are_legal_to_the_end() {
    self_play(12, 60);
}

#[test]
#[ignore = "takes minutes: cargo test --release -- --ignored"]
fn ten_thousand_games_against_itself_are_legal_to_the_end() {
    self_play(10_000, 60);
}
