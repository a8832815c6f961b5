//! The engine as a process: whatever it is told, it answers, and it ends when told to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tabiya_core::features::FeatureSet;
use tabiya_core::nnue::{Network, Shape};

struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    fn start() -> Process {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tabiya-engine"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the engine starts");
        let input = child.stdin.take().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Process { child, input, output }
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input, "{line}").unwrap();
    }

    /// Lines up to and including the first that begins so.
    fn hear(&mut self, beginning: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).unwrap() > 0,
                "silence instead of {beginning}: {lines:?}"
            );
            lines.push(line.trim_end().to_owned());
            if line.starts_with(beginning) {
                return lines;
            }
        }
    }

    fn best_move(&mut self) -> String {
        self.hear("bestmove").pop().unwrap().split(' ').nth(1).unwrap().to_owned()
    }

    fn ends_well(mut self) {
        assert!(self.child.wait().unwrap().success());
    }
}

#[test]
fn it_introduces_itself() {
    let mut engine = Process::start();
    engine.tell("uci");
    let lines = engine.hear("uciok");
    for name in ["Hash", "Threads", "MultiPV", "Move Overhead", "EvalFile", "Clear Hash", "UseNullMove"] {
        assert!(lines.iter().any(|line| line.starts_with(&format!("option name {name} type"))), "{name}");
    }
    engine.tell("quit");
    engine.ends_well();
}

#[test]
fn stop_and_quit_end_an_infinite_search() {
    let mut engine = Process::start();
    engine.tell("go infinite");
    engine.hear("info depth 5 ");
    engine.tell("stop");
    assert_ne!(engine.best_move(), "0000");
    engine.tell("position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1\ngo infinite\nisready");
    assert_eq!(engine.hear("readyok").len(), 1, "no best move before stop, even with nothing to search");
    engine.tell("stop");
    assert_eq!(engine.best_move(), "0000");
    engine.tell("position startpos\ngo infinite");
    engine.hear("info depth 3 ");
    engine.tell("quit");
    engine.ends_well();
}

#[test]
fn three_hundred_moves_of_history_are_taken_in() {
    let mut engine = Process::start();
    let dance = ["g1f3", "g8f6", "f3g1", "f6g8"].repeat(75).join(" ");
    engine.tell(&format!("position startpos moves {dance}"));
    engine.tell("go nodes 2000");
    assert_eq!(engine.best_move().len(), 4);
    engine.tell("quit");
    engine.ends_well();
}

#[test]
fn garbage_and_options_out_of_range_are_answered_with_a_sentence() {
    let mut engine = Process::start();
    for (line, word) in [
        ("xyzzy", "unknown command"),
        ("setoption name Hash value lots", "wants a number"),
        ("setoption name Telepathy value 1", "no option"),
        ("setoption Hash 12", "setoption name"),
        ("position startpos moves e2e5", "illegal move e2e5"),
        ("position fen 8/8/8 w", "FEN"),
        ("position", "position startpos"),
        ("go depth deep", "wants a number"),
        ("go wtime", "wants a number"),
        ("go sideways 3", "does not know"),
    ] {
        engine.tell(line);
        let heard = engine.hear("info string").pop().unwrap();
        assert!(heard.contains(word), "{line}: {heard}");
    }
    engine.input.write_all(b"\xff\xfe\x00 \xc3(\n\n   \n").unwrap();
    engine.tell("setoption name MultiPV value 99999");
    engine.tell("setoption name Threads value 0");
    engine.tell("setoption name Hash value 0");
    engine.tell("go depth 4 nodes 3000 wtime -50 btime 0 winc 0 binc 0 movestogo 0");
    assert_eq!(engine.best_move().len(), 4);
    engine.tell("quit");
    engine.ends_well();
}

#[test]
fn at_the_end_of_the_input_a_bounded_search_is_finished() {
    let mut engine = Process::start();
    engine.tell("setoption name UseNullMove value false\ngo depth 7");
    let Process { mut child, input, mut output } = engine;
    drop(input);
    let mut told = String::new();
    std::io::Read::read_to_string(&mut output, &mut told).unwrap();
    assert!(told.contains("info depth 7 ") && told.contains("bestmove "), "{told}");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_network_is_read_from_a_file_and_a_bad_one_leaves_the_engine_as_it_was() {
    let set = FeatureSet::parse("ALL").unwrap();
    let network = Network::random(set, Shape { l1: 16, l2: 8, extra: 0, buckets: 1 }, 1).unwrap();
    let folder = std::env::temp_dir().join(format!("tabiya-engine-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (good, bad) = (folder.join("good.nnue"), folder.join("bad.nnue"));
    std::fs::write(&good, network.write()).unwrap();
    std::fs::write(&bad, &network.write()[..1000]).unwrap();
    let mut engine = Process::start();
    let last_line = |engine: &mut Process, file: &str| {
        engine.tell(&format!("setoption name EvalFile value {file}"));
        engine.tell("ucinewgame\ngo nodes 2000");
        let mut lines = engine.hear("bestmove");
        lines.retain(|line| line.starts_with("info depth"));
        let line = lines.pop().unwrap();
        let score = line.split(" score ").nth(1).unwrap().split(" nodes").next().unwrap().to_owned();
        (score, line.split(" pv ").nth(1).unwrap().to_owned())
    };
    let by_hand = last_line(&mut engine, "<empty>");
    let learned = last_line(&mut engine, good.to_str().unwrap());
    assert_ne!(by_hand, learned);
    engine.tell(&format!("setoption name EvalFile value {}", bad.display()));
    assert!(engine.hear("info string").pop().unwrap().contains("cut short"));
    engine.tell("ucinewgame\ngo nodes 2000");
    let line = engine.hear("bestmove").into_iter().rfind(|line| line.starts_with("info depth")).unwrap();
    assert!(line.contains(&format!(" score {} ", learned.0)), "{line}");
    engine.tell("quit");
    engine.ends_well();
    std::fs::remove_dir_all(&folder).unwrap();
}
