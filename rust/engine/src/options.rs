//! The options of the engine: their names, ranges and what setting one does.

use std::sync::Arc;
use std::time::Duration;

use tabiya_core::nnue::Network;
use tabiya_core::search::{Engine, Evaluator, Techniques};

const MOST_HASH: usize = 65_536;
const MOST_THREADS: usize = 256;
const MOST_LINES: usize = 256;
const MOST_OVERHEAD: u64 = 5_000;

pub const DEFAULT_OVERHEAD: Duration = Duration::from_millis(10);

/// What `uci` prints.
pub fn describe() {
    println!("option name Hash type spin default 16 min 1 max {MOST_HASH}");
    println!("option name Threads type spin default 1 min 1 max {MOST_THREADS}");
    println!("option name MultiPV type spin default 1 min 1 max {MOST_LINES}");
    let overhead = DEFAULT_OVERHEAD.as_millis();
    println!("option name Move Overhead type spin default {overhead} min 0 max {MOST_OVERHEAD}");
    println!("option name EvalFile type string default <empty>");
    println!("option name Clear Hash type button");
    for name in Techniques::NAMES {
        println!("option name Use{name} type check default true");
    }
}

/// Set one option; the sentence that comes back says what was wrong.
pub fn set(
    engine: &mut Engine<Evaluator>,
    overhead: &mut Duration,
    name: &str,
    value: &str,
) -> Result<(), String> {
    let number = || value.parse::<u64>().map_err(|_| format!("{name} wants a number, not {value:?}"));
    match name.to_ascii_lowercase().as_str() {
        "hash" => engine.set_hash((number()? as usize).clamp(1, MOST_HASH)),
        "threads" => engine.set_threads((number()? as usize).clamp(1, MOST_THREADS)),
        "multipv" => engine.lines = (number()? as usize).clamp(1, MOST_LINES),
        "move overhead" => *overhead = Duration::from_millis(number()?.min(MOST_OVERHEAD)),
        "evalfile" => engine.set_evaluator(evaluator(value)?),
        "clear hash" => engine.clear(),
        lower => {
            let switch = lower.strip_prefix("use").and_then(|name| engine.techniques.switch(name));
            let Some(switch) = switch else {
                let names = Techniques::NAMES.join(" ");
                return Err(format!(
                    "no option {name:?}; techniques are switched by Use and one of: {names}"
                ));
            };
            *switch = value.parse().map_err(|_| format!("{name} wants true or false, not {value:?}"))?;
        }
    }
    Ok(())
}

/// The evaluation by the network in a file; the handmade one where no file is named.
pub fn evaluator(file: &str) -> Result<Evaluator, String> {
    if file.is_empty() || file == "<empty>" {
        return Ok(Evaluator::new(None));
    }
    let bytes = std::fs::read(file).map_err(|error| format!("{file}: {error}"))?;
    let network = Network::read(&bytes).map_err(|error| format!("{file}: {error}"))?;
    Ok(Evaluator::new(Some(Arc::new(network))))
}
