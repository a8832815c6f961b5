//! `tabiya-engine`: the search of tabiya-core under UCI, by a network or the handmade evaluation.
//!
//! A tool for development: matches by hand, one technique switched off, nodes
//! per second. The engine that users meet is `tabiya uci nnue`.

mod bench;
mod options;
mod uci;

use tabiya_core::features::FeatureSet;
use tabiya_core::nnue::{Network, Shape};

const USAGE: &str = "tabiya-engine                              speak UCI
tabiya-engine bench [NODES [EVALFILE]]     nodes a second and a fingerprint
tabiya-engine random EXPR L1 L2 EVALFILE   write a network of random weights, to measure with";

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Err(sentence) = obey(&words) {
        eprintln!("tabiya-engine: {sentence}");
        std::process::exit(2);
    }
}

fn obey(words: &[&str]) -> Result<(), String> {
    let number = |word: &str| word.parse::<u64>().map_err(|_| format!("a number was expected, not {word:?}"));
    match words {
        [] => uci::converse(std::io::stdin().lock()),
        ["bench", rest @ ..] if rest.len() <= 2 => {
            let nodes = rest.first().map_or(Ok(300_000), |word| number(word))?;
            bench::run(options::evaluator(rest.get(1).unwrap_or(&""))?, nodes);
        }
        ["random", expression, l1, l2, file] => {
            let shape = Shape { l1: number(l1)? as usize, l2: number(l2)? as usize, extra: 0, buckets: 1 };
            let set = FeatureSet::parse(expression).map_err(|error| error.to_string())?;
            let network = Network::random(set, shape, 1).map_err(|error| error.to_string())?;
            std::fs::write(file, network.write()).map_err(|error| format!("{file}: {error}"))?;
        }
        _ => return Err(format!("unknown words\n{USAGE}")),
    }
    Ok(())
}
