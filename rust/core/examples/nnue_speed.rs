//! How fast networks are updated and evaluated here, and features batched.
//!
//!     cargo run --release --example nnue_speed -- [EXPRESSION [L1 [L2]]]
//!
//! The network is random, its activations about as often zero as a trained one's.

use std::hint::black_box;
use std::sync::Arc;

use shakmaty::{Chess, Position};
use tabiya_core::features::{FeatureSet, Pieces, batch};
use tabiya_core::nnue::usage::on_processor;
use tabiya_core::nnue::{Accumulators, Kernel, Network, Shape};
use tabiya_core::playout::{Random, random_positions};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let expression = words.first().map_or("ALL", String::as_str);
    let number = |at: usize, usual| words.get(at).map_or(usual, |word| word.parse().expect("a number"));
    let shape = Shape { l1: number(1, 512), l2: number(2, 32), extra: 0, buckets: 1 };
    let set = FeatureSet::parse(expression).unwrap_or_else(|error| panic!("{error}"));
    let network = Arc::new(Network::random(set, shape, 2).unwrap_or_else(|error| panic!("{error}")));
    let (games, active) = games(&network);
    let positions: usize = games.iter().map(Vec::len).sum();
    println!(
        "{expression} -> {}x2 -> {} -> 1, {positions} positions, {active:.0} % of L1 active",
        shape.l1, shape.l2
    );
    for kernel in Kernel::available() {
        let mut accumulators = Accumulators::with_kernel(network.clone(), &Chess::default(), kernel);
        // The same position again and again: the layers behind the accumulators alone.
        let forward = rate(positions, || {
            for game in &games {
                accumulators.reset(game[0].0);
                for (_, turn) in game {
                    black_box(accumulators.evaluate(*turn));
                }
            }
        });
        // Each move made, evaluated and taken back, as the leaves of a search are.
        let leaves = rate(positions, || {
            for game in &games {
                accumulators.reset(game[0].0);
                for pair in game.windows(2) {
                    accumulators.push(pair[1].0);
                    black_box(accumulators.evaluate(pair[1].1));
                    accumulators.pop();
                    accumulators.push(pair[1].0);
                    black_box(accumulators.evaluate(pair[1].1));
                }
            }
        });
        let both = 1e9 / (2.0 * leaves);
        println!(
            "{:12} {:7.0} ns to evaluate, {both:7.0} ns with the update of both views: {:.2} million a second",
            kernel.name(),
            1e9 / forward,
            2.0 * leaves / 1e6
        );
    }
    let packed = random_positions(20_000, 4, 200);
    let set = network.set();
    let batched = rate(packed.len(), || {
        let views = batch(&packed, set, 1);
        black_box(views.expect("a small batch"));
    });
    println!("batch        {:.2} million positions a second on one thread, both views", batched / 1e6);
}

/// Things a second of the processor's time, so that other programs do not count.
fn rate(things: usize, mut each: impl FnMut()) -> f64 {
    each();
    let start = on_processor();
    let mut rounds = 0.0;
    loop {
        each();
        rounds += 1.0;
        let spent = on_processor() - start;
        if spent > 0.5 {
            return rounds * things as f64 / spent;
        }
    }
}

type Games = Vec<Vec<(Pieces, shakmaty::Color)>>;

/// Random games, and the share of accumulators above zero in them.
fn games(network: &Arc<Network>) -> (Games, f64) {
    let mut random = Random::new(1);
    let mut accumulators = Accumulators::new(network.clone(), &Chess::default());
    let (mut positive, mut all) = (0, 0);
    let games = (0..50)
        .map(|_| {
            let mut position = Chess::default();
            let mut game = vec![(Pieces::from(&position), position.turn())];
            for _ in 0..80 {
                let legal = position.legal_moves();
                if legal.is_empty() {
                    break;
                }
                position.play_unchecked(legal[random.below(legal.len())]);
                game.push((Pieces::from(&position), position.turn()));
                accumulators.reset(&position);
                let sums = accumulators.accumulator(position.turn());
                positive += sums.iter().filter(|&&sum| sum > 0).count();
                all += sums.len();
            }
            game
        })
        .collect();
    (games, 100.0 * f64::from(positive as u32) / f64::from(all as u32))
}
