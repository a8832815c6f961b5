//! The search judged by a network: the accumulators that follow it say what the network says of each position.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use shakmaty::{Chess, Position};
use tabiya_core::features::{FeatureSet, Pieces};
use tabiya_core::move_code::MoveCode;
use tabiya_core::nnue::{Network, Shape};
use tabiya_core::playout::Random;
use tabiya_core::rules::from_fen;
use tabiya_core::search::{Board, Engine, Evaluate, Evaluator, Info, Learned, Limits, Outcome};

const SHARP: &str = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";

fn network(expression: &str) -> Arc<Network> {
    let set = FeatureSet::parse(expression).unwrap();
    Arc::new(Network::random(set, Shape { l1: 32, l2: 8, extra: 0, buckets: 4 }, 3).unwrap())
}

#[test]
fn a_board_of_the_search_holds_the_pieces_of_the_position() {
    for fen in [SHARP, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"] {
        let position = from_fen(fen).unwrap();
        assert_eq!(Pieces::from(&Board::new(&position)), Pieces::from(&position));
    }
}

#[test]
fn along_any_line_the_evaluation_is_the_networks_own() {
    for expression in ["ALL", "KING-BUCKETS-8", "H+V", "PH"] {
        let network = network(expression);
        let mut learned = Learned::new(network.clone());
        let mut random = Random::new(7);
        let start = from_fen(SHARP).unwrap();
        let mut line = vec![(start.clone(), Board::new(&start), false)];
        learned.reset(&line[0].1, &start);
        for _ in 0..20_000 {
            let (position, board, null) = line.last().unwrap().clone();
            let legal = position.legal_moves();
            if line.len() > 1 && (legal.is_empty() || line.len() > 60 || random.below(3) == 0) {
                if null {
                    learned.pop_null()
                } else {
                    learned.pop()
                }
                line.pop();
            } else if !null && !position.is_check() && random.below(8) == 0 {
                let passed = position.clone().swap_turn().unwrap();
                let after = board.after_null();
                learned.push_null(&board, &after);
                line.push((passed, after, true));
            } else {
                let m = legal[random.below(legal.len())];
                let code = MoveCode::of(m);
                let after = board.after(code);
                learned.push(&board, code, &after);
                let mut next: Chess = position.clone();
                next.play_unchecked(m);
                line.push((next, after, false));
            }
            if random.below(2) == 0 {
                let (position, board, _) = line.last().unwrap();
                assert_eq!(learned.evaluate(board), network.evaluate_full(position), "{expression}");
            }
        }
    }
}

fn search(engine: &mut Engine<Evaluator>, nodes: u64) -> (Outcome, Vec<Info>) {
    let limits = Limits { nodes: Some(nodes), ..Limits::default() };
    let mut infos = Vec::new();
    let position = from_fen(SHARP).unwrap();
    let outcome = engine.search(&position, &[], &[], &limits, &AtomicBool::new(false), &mut |info| {
        infos.push(info.clone());
    });
    (outcome, infos)
}

#[test]
fn a_network_judges_and_can_be_exchanged() {
    let mut engine = Engine::new(Evaluator::new(None));
    let (by_hand, _) = search(&mut engine, 3000);
    engine.set_evaluator(Evaluator::new(Some(network("ALL"))));
    let (learned, infos) = search(&mut engine, 3000);
    assert_ne!(by_hand.lines[0].score, learned.lines[0].score);
    assert!(infos.iter().all(|info| info.nodes <= 3000));
    engine.clear();
    assert_eq!(search(&mut engine, 3000).0, learned, "one thread at fixed nodes decides the same way");
    engine.set_evaluator(Evaluator::new(None));
    assert_eq!(search(&mut engine, 3000).0, by_hand);
}

#[test]
fn threads_share_one_network() {
    let mut engine = Engine::new(Evaluator::new(Some(network("KING-ALL"))));
    engine.set_threads(3);
    let (outcome, _) = search(&mut engine, 20_000);
    assert!(outcome.best().is_some());
}
