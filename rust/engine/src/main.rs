//! `tabiya-engine`: the search of tabiya-core under UCI with the handmade evaluation.
//!
//! A tool for development: matches by hand, one technique switched off, nodes
//! per second. The engine that users meet is `tabiya uci`.

mod bench;
mod options;
mod uci;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "bench") {
        let nodes = words.get(1).and_then(|word| word.parse().ok()).unwrap_or(300_000);
        bench::run(nodes);
        return;
    }
    uci::converse(std::io::stdin().lock());
}
