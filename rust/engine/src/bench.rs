//! Speed and a fingerprint: the same positions at fixed nodes.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use tabiya_core::rules;
use tabiya_core::search::{Engine, Evaluator, Limits};

/// Openings, middlegames and endgames, quiet and sharp.
pub const POSITIONS: [&str; 12] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r4rk1/1pp1qppp/p1np1n2/2b1p1B1/2B1P1b1/P1NP1N2/1PP1QPPP/R4RK1 w - - 0 10",
    "rnbqkb1r/pp2pppp/3p1n2/8/3NP3/2N5/PPP2PPP/R1BQKB1R b KQkq - 2 5",
    "r1bq1rk1/pp2ppbp/2np1np1/8/3NP3/2N1BP2/PPPQ2PP/R3KB1R b KQ - 3 9",
    "2rq1rk1/pb1n1ppN/4p3/1pb5/3P1Pn1/P1N5/1PQ1B1PP/R1B2RK1 b - - 0 16",
    "r1bqr1k1/pp1n1pbp/2pp1np1/8/2PNP3/2N3P1/PP3PBP/R1BQR1K1 w - - 0 11",
    "8/5pk1/4p1p1/3pP2p/3P3P/1r4P1/R4PK1/8 w - - 4 38",
    "6k1/5p2/3p2p1/2pPp2p/2P1P2P/1q3PP1/3Q2K1/8 w - - 0 40",
    "3r2k1/p4pp1/1p2p2p/8/2P5/1P2P2P/P4PP1/3R2K1 b - - 0 24",
    "8/8/1p1k4/p1p2pp1/P1P1p3/1P2P1P1/4KP2/8 w - - 0 45",
];

pub fn run(evaluator: Evaluator, nodes: u64) {
    let mut engine = Engine::new(evaluator);
    let (start, mut total, mut print) = (Instant::now(), 0, 0_u64);
    for fen in POSITIONS {
        engine.clear();
        let position = rules::from_fen(fen).expect("the bench has legal positions");
        let limits = Limits { nodes: Some(nodes), ..Limits::default() };
        let outcome = engine.search(&position, &[], &[], &limits, &AtomicBool::new(false), &mut |_| {});
        total += outcome.nodes;
        let line = &outcome.lines[0];
        for m in &line.moves {
            print = print.rotate_left(5) ^ u64::from(m.0).wrapping_mul(0x9E37_79B9);
        }
        println!("depth {:2} score {:6} {fen}", outcome.depth, line.score);
    }
    let seconds = start.elapsed().as_secs_f64();
    println!("{total} nodes, {:.0} nodes/s, fingerprint {print:016x}", total as f64 / seconds);
}
