//! The quantised network: updated equals from nothing, every path the same integers, bad files refused.

use std::sync::Arc;

use shakmaty::{Chess, Color, Position};
use tabiya_core::features::{FeatureSet, NAMED, SUMS};
use tabiya_core::nnue::{
    Accumulators, FloatNetwork, FloatStack, Kernel, Network, Parameters, Scales, Shape, StackParameters,
    quantise,
};
use tabiya_core::playout::Random;
use tabiya_core::rules::from_fen;

const SMALL: Shape = Shape { l1: 24, l2: 8, extra: 0, buckets: 1 };

/// Numbers within ±`most`, as many as asked for.
fn numbers(random: &mut Random, count: usize, most: i32) -> impl Iterator<Item = i32> + '_ {
    (0..count).map(move |_| random.below(2 * most as usize + 1) as i32 - most)
}

/// A network whose every activation is sometimes off, sometimes on and sometimes full.
fn random_network(expression: &str, shape: Shape, seed: u64) -> Network {
    let set = FeatureSet::parse(expression).unwrap();
    let mut random = Random::new(seed);
    let random = &mut random;
    let weight = (30_000 / set.max_active() as i32).clamp(1, 40);
    let short = |values: Vec<i32>| -> Vec<i16> { values.into_iter().map(|v| v as i16).collect() };
    let last = if shape.extra > 0 { shape.extra } else { shape.l2 };
    let parameters = Parameters {
        biases: short(numbers(random, shape.l1, 60).collect()),
        weights: short(numbers(random, set.size() * shape.l1, weight).collect()),
        stacks: (0..shape.buckets)
            .map(|_| StackParameters {
                l2_biases: numbers(random, shape.l2, 3000).collect(),
                l2_weights: numbers(random, shape.l2 * 2 * shape.l1, 127).map(|v| v as i8).collect(),
                extra_biases: numbers(random, shape.extra, 100_000).collect(),
                extra_weights: short(numbers(random, shape.extra * shape.l2, 900).collect()),
                output_bias: 4321,
                output_weights: short(numbers(random, last, 2000).collect()),
            })
            .collect(),
    };
    Network::new(set, shape, Scales::default(), &parameters).unwrap()
}

/// A walk as a search makes it: moves made and taken back, some passed, not every position evaluated.
fn walk(network: &Arc<Network>, kernel: Kernel, moves: usize, seed: u64) {
    let mut random = Random::new(seed);
    let mut line = vec![Chess::default()];
    let mut accumulators = Accumulators::with_kernel(network.clone(), &line[0], kernel);
    let expression = network.set().expression();
    let mut made = 0;
    while made < moves {
        let position = line.last().unwrap();
        let legal = position.legal_moves();
        let over = legal.is_empty() || position.is_insufficient_material();
        if line.len() > 1 && (over || random.below(4) == 0) {
            line.pop();
            accumulators.pop();
            continue;
        }
        if over || line.len() > 150 {
            line = vec![Chess::default()];
            accumulators.reset(&line[0]);
            continue;
        }
        let mut after = position.clone();
        match (random.below(20), position.clone().swap_turn()) {
            (0, Ok(passed)) => after = passed,
            _ => after.play_unchecked(legal[random.below(legal.len())]),
        }
        accumulators.push(&after);
        made += 1;
        if random.below(3) > 0 {
            for view in Color::ALL {
                let full = network.accumulator(&after, view);
                assert_eq!(accumulators.accumulator(view), full, "{expression}");
            }
            assert_eq!(accumulators.evaluate(after.turn()), network.evaluate_full(&after), "{expression}");
        }
        line.push(after);
    }
}

fn every_set() -> impl Iterator<Item = &'static str> {
    let own = ["PIECE-PIECE[0-999,200000-209999]", "BUCKET4_K * (FILE + RANK) * ROLE"];
    NAMED.iter().map(|&(name, ..)| name).chain(SUMS.iter().copied()).chain(own)
}

#[test]
fn updated_accumulators_equal_those_made_from_nothing() {
    for (seed, expression) in every_set().enumerate() {
        // A pair of pieces is a feature, so this one is a thousand rows a position.
        let moves = if expression.starts_with("PIECE-PIECE") { 300 } else { 5000 };
        walk(&Arc::new(random_network(expression, SMALL, 1)), Kernel::best(), moves, seed as u64);
    }
}

#[test]
#[ignore = "minutes: run with --release -- --ignored"]
fn updated_accumulators_equal_those_made_from_nothing_over_a_million_moves() {
    for expression in every_set() {
        walk(&Arc::new(random_network(expression, SMALL, 2)), Kernel::best(), 1_000_000, 7);
        println!("{expression}: a million moves");
    }
}

#[test]
fn every_kernel_gives_the_same_integers() {
    for (l1, l2, extra, buckets) in
        [(512, 32, 0, 1), (512, 16, 32, 1), (256, 8, 0, 8), (40, 5, 3, 2), (320, 40, 0, 1), (1, 1, 1, 1)]
    {
        let shape = Shape { l1, l2, extra, buckets };
        let network = Arc::new(random_network("HV+H+V", shape, 3));
        for kernel in Kernel::available() {
            walk(&network, kernel, 400, 5);
        }
    }
}

#[test]
fn the_widest_weights_do_not_saturate_on_any_path() {
    let shape = Shape { l1: 64, l2: 32, extra: 0, buckets: 1 };
    for (weight, output) in [(127, 300), (-128, 300), (127, -300), (-128, -300)] {
        let parameters = Parameters {
            biases: vec![32_000; 64],
            weights: vec![0; 768 * 64],
            stacks: vec![StackParameters {
                l2_biases: vec![128 * 127 * 128 + 1000; 32],
                l2_weights: vec![weight; 32 * 128],
                output_weights: vec![output; 32],
                ..StackParameters::default()
            }],
        };
        let set = FeatureSet::parse("ALL").unwrap();
        let network = Arc::new(Network::new(set, shape, Scales::default(), &parameters).unwrap());
        for kernel in Kernel::available() {
            walk(&network, kernel, 20, 1);
        }
    }
}

#[test]
fn a_line_longer_than_the_room_made_for_it_goes_on() {
    let network = Arc::new(random_network("KING-BUCKETS-4", SMALL, 4));
    let mut position = Chess::default();
    let mut accumulators = Accumulators::new(network.clone(), &position);
    let mut random = Random::new(6);
    for _ in 0..600 {
        let legal = position.legal_moves();
        if !legal.is_empty() {
            position.play_unchecked(legal[random.below(legal.len())]);
        }
        accumulators.push(&position);
    }
    assert_eq!(accumulators.evaluate(position.turn()), network.evaluate_full(&position));
    (0..600).for_each(|_| accumulators.pop());
    assert_eq!(accumulators.evaluate(Color::White), network.evaluate_full(&Chess::default()));
}

#[test]
fn the_number_of_pieces_chooses_the_bucket() {
    let shape = Shape { buckets: 8, ..SMALL };
    assert_eq!([2, 5, 8, 9, 28, 29, 32].map(|pieces| shape.bucket(pieces)), [0, 1, 1, 2, 6, 7, 7]);
    assert_eq!((2..=32).map(|pieces| SMALL.bucket(pieces)).max(), Some(0));
}

#[test]
fn an_evaluation_is_the_same_with_colours_swapped() {
    let network = random_network("ALL", SMALL, 8);
    let white = from_fen("r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5N2/PPPP1PPP/RNBQK2R b KQkq - 3 3").unwrap();
    let black = from_fen("rnbqk2r/pppp1ppp/5n2/2b1p3/4P3/2N5/PPPP1PPP/R1BQKBNR w KQkq - 3 3").unwrap();
    assert_eq!(network.evaluate_full(&white), network.evaluate_full(&black));
}

#[test]
fn a_network_survives_its_file() {
    for (l1, l2, extra, buckets) in [(24, 8, 0, 1), (70, 33, 5, 3)] {
        let network = random_network("H+V", Shape { l1, l2, extra, buckets }, 9);
        let again = Network::read(&network.write()).unwrap();
        assert_eq!(again.parameters(), network.parameters());
        assert_eq!((again.shape(), again.scales()), (network.shape(), network.scales()));
        assert_eq!(again.set().expression(), "H+V");
        assert_eq!(again.write(), network.write());
    }
}

fn refusal(bytes: &[u8]) -> String {
    Network::read(bytes).err().expect("a refusal").to_string()
}

/// The bytes with a header word replaced and the checksum made right again.
fn with_word(bytes: &[u8], at: usize, word: u32) -> Vec<u8> {
    let mut changed = bytes[..bytes.len() - 4].to_vec();
    changed[at..at + 4].copy_from_slice(&word.to_le_bytes());
    let mut crc = flate2::Crc::new();
    crc.update(&changed);
    changed.extend(crc.sum().to_le_bytes());
    changed
}

#[test]
fn a_file_that_is_no_whole_network_is_refused_with_a_sentence() {
    let bytes = random_network("H+V", SMALL, 10).write();
    assert!(refusal(b"").contains("not a Tabiya network"));
    assert!(refusal(b"PK\x03\x04 something else entirely").contains("does not begin with TABIYANN"));
    assert!(refusal(&bytes[..20]).contains("cut short: 20 bytes"));
    let asked = format!("its header asks for {}", bytes.len());
    assert!(refusal(&bytes[..bytes.len() - 1]).contains(&asked));
    assert!(refusal(&[&bytes[..], &[0]].concat()).contains("too long"));
    assert!(refusal(&with_word(&bytes, 8, 2)).contains("format version 2; this program reads version 1"));
    assert!(refusal(&with_word(&bytes, 36, 7)).contains("accumulator shift of a network is 0 to 6, not 7"));
    assert!(refusal(&with_word(&bytes, 20, u32::MAX)).contains("cut short"));
    let mut damaged = bytes.clone();
    damaged[1000] ^= 4;
    assert!(refusal(&damaged).contains("damaged: its checksum is"));
    let text = [&bytes[..52], b"H+W", &bytes[55..]].concat();
    assert!(refusal(&with_word(&text, 48, 600)).contains("unknown block or set \"W\""));
    let other = [&bytes[..52], b"ALL", &bytes[55..]].concat();
    assert!(refusal(&with_word(&other, 48, 600)).contains("has 192 features, but \"ALL\" are 768"));
}

#[test]
fn no_byte_of_a_file_can_be_changed_unseen() {
    let bytes = random_network("COLOR", Shape { l1: 2, l2: 2, extra: 0, buckets: 1 }, 11).write();
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            assert!(Network::read(&damaged).is_err(), "bit {bit} of byte {at}");
        }
    }
}

#[test]
fn weights_that_could_overflow_are_refused() {
    let make = |first: i16, last: i16| {
        let parameters = Parameters {
            biases: vec![0; 24],
            weights: vec![first; 768 * 24],
            stacks: vec![StackParameters {
                l2_biases: vec![0; 8],
                l2_weights: vec![0; 8 * 48],
                output_weights: vec![last; 8],
                ..StackParameters::default()
            }],
        };
        Network::new(FeatureSet::parse("ALL").unwrap(), SMALL, Scales::default(), &parameters)
    };
    assert!(make(1023, 0).is_ok());
    let error = make(1024, 0).err().unwrap().to_string();
    assert!(error.contains("accumulator 0 could reach 32768 with 32 features active"), "{error}");
    let scales = Scales { weight: 8, ..Scales::default() };
    let parameters = Parameters {
        biases: vec![0],
        weights: vec![0; 768],
        stacks: vec![StackParameters {
            l2_biases: vec![0; 8],
            l2_weights: vec![0; 16],
            output_weights: vec![i16::MAX; 8],
            ..StackParameters::default()
        }],
    };
    let shape = Shape { l1: 1, ..SMALL };
    let error = Network::new(FeatureSet::parse("ALL").unwrap(), shape, scales, &parameters).err().unwrap();
    assert!(error.to_string().contains("neuron 0 of the output could reach"), "{error}");
}

/// A trained network's numbers: most small, as weight decay and clipping leave them.
fn float_network(set: &FeatureSet, shape: Shape, seed: u64) -> FloatNetwork {
    let mut random = Random::new(seed);
    let mut floats = |count: usize, most: f32| -> Vec<f32> {
        (0..count).map(|_| (random.below(2_000_001) as f32 / 1e6 - 1.0) * most).collect()
    };
    FloatNetwork {
        biases: floats(shape.l1, 0.5),
        weights: floats(set.size() * shape.l1, 0.4),
        stacks: (0..shape.buckets)
            .map(|_| FloatStack {
                l2_biases: floats(shape.l2, 0.5),
                l2_weights: floats(shape.l2 * 2 * shape.l1, 0.15),
                extra_biases: floats(shape.extra, 0.3),
                extra_weights: floats(shape.extra * shape.l2, 0.5),
                output_bias: 0.1,
                output_weights: floats(if shape.extra > 0 { shape.extra } else { shape.l2 }, 0.8),
            })
            .collect(),
    }
}

/// The network in real numbers, as it is trained.
fn float_evaluation(float: &FloatNetwork, set: &FeatureSet, shape: Shape, position: &Chess) -> f64 {
    let turn = position.turn();
    let clipped = |sum: f64| sum.clamp(0.0, 1.0);
    let mut inputs = Vec::new();
    let mut active = Vec::new();
    for view in [turn, turn.other()] {
        set.active(position, view, &mut active);
        inputs.extend((0..shape.l1).map(|neuron| {
            let sum: f64 =
                active.iter().map(|&f| f64::from(float.weights[f as usize * shape.l1 + neuron])).sum();
            clipped(sum + f64::from(float.biases[neuron]))
        }));
    }
    let layer = |inputs: &[f64], weights: &[f32], biases: &[f32]| -> Vec<f64> {
        let rows = weights.chunks_exact(inputs.len()).zip(biases);
        rows.map(|(row, &bias)| {
            row.iter().zip(inputs).map(|(&weight, input)| f64::from(weight) * input).sum::<f64>()
                + f64::from(bias)
        })
        .collect()
    };
    let stack = &float.stacks[shape.bucket(position.board().occupied().count())];
    let mut hidden: Vec<f64> =
        layer(&inputs, &stack.l2_weights, &stack.l2_biases).into_iter().map(clipped).collect();
    if shape.extra > 0 {
        hidden = layer(&hidden, &stack.extra_weights, &stack.extra_biases).into_iter().map(clipped).collect();
    }
    layer(&hidden, &stack.output_weights, &[stack.output_bias])[0]
}

#[test]
fn the_integers_stay_close_to_the_real_numbers_and_their_errors_centred() {
    let set = FeatureSet::parse("ALL").unwrap();
    for extra in [0, 16] {
        let shape = Shape { l1: 128, l2: 16, extra, buckets: 4 };
        let float = float_network(&set, shape, 12);
        let scales = Scales { accumulator: 2, weight: 8, ..Scales::default() };
        let scales = Scales { weight: if extra > 0 { 7 } else { scales.weight }, ..scales };
        let network = quantise(FeatureSet::parse("ALL").unwrap(), shape, scales, &float).unwrap();
        let mut errors: Vec<f64> = tabiya_core::playout::random_positions(400, 13, 150)
            .iter()
            .map(|packed| {
                let position = tabiya_core::packed::unpack(packed).unwrap();
                let exact = 600.0 * float_evaluation(&float, &set, shape, &position);
                f64::from(network.evaluate_full(&position)) - exact
            })
            .collect();
        errors.sort_by(f64::total_cmp);
        assert!(errors[200].abs() < 3.0, "median {}", errors[200]);
        assert!(errors[10] > -20.0 && errors[389] < 20.0, "{} to {}", errors[10], errors[389]);
    }
}

#[test]
fn a_weight_that_does_not_fit_is_refused_with_the_limit_to_clip_to() {
    let set = || FeatureSet::parse("ALL").unwrap();
    let float = float_network(&set(), SMALL, 14);
    let refused = |change: &dyn Fn(&mut FloatNetwork)| {
        let mut float = float.clone();
        change(&mut float);
        quantise(set(), SMALL, Scales::default(), &float).err().expect("a refusal").to_string()
    };
    let wide = refused(&|float| float.stacks[0].l2_weights[3] = 2.0);
    assert_eq!(wide, "a L2 weight of 2 does not fit: clip it to ±1.984 in training");
    assert!(refused(&|float| float.weights[0] = f32::NAN).contains("feature transformer weight of NaN"));
    assert!(refused(&|float| float.stacks.clear()).contains("has 1 sets of later layers, not 0"));
    assert!(refused(&|float| float.biases.truncate(23)).contains("24 feature transformer biases, not 23"));
}
