//! What the command line and the environment ask for.

use std::env;

/// How to call the program.
pub const USAGE: &str = "\
usage: workflow-demo [--rounds N] [--races]
  --rounds N   rounds of the first experiment; also WORKFLOW_ROUNDS; default 200
  --races      run the races that only test as well";

const ROUNDS: usize = 200;

/// Past this the preparations would outlast a statement's time.
const MOST_ROUNDS: usize = 100_000;

/// What was asked for.
pub struct Options {
    /// Rounds of the first experiment.
    pub rounds: usize,
    /// Whether the races are run as well.
    pub races: bool,
}

impl Options {
    /// Reads both; `None` if help is wanted.
    pub fn given() -> Result<Option<Options>, String> {
        let rounds = match env::var("WORKFLOW_ROUNDS") {
            Ok(rounds) => number("WORKFLOW_ROUNDS", Some(&rounds))?,
            Err(env::VarError::NotPresent) => ROUNDS,
            Err(error) => return Err(format!("WORKFLOW_ROUNDS: {error}")),
        };
        let mut options = Options {
            rounds,
            races: false,
        };
        let mut words = env::args_os()
            .skip(1)
            .map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            match word.as_str() {
                "--rounds" => options.rounds = number(&word, words.next().as_deref())?,
                "--races" => options.races = true,
                "--help" => return Ok(None),
                _ => return Err(format!("unknown option {word}")),
            }
        }
        Ok(Some(options))
    }
}

fn number(name: &str, value: Option<&str>) -> Result<usize, String> {
    value
        .and_then(|value| value.parse().ok())
        .filter(|number| (1..=MOST_ROUNDS).contains(number))
        .ok_or_else(|| format!("{name} needs a number from 1 to {MOST_ROUNDS}"))
}
