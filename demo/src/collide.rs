//! Lets several connections act at the same moment, again and again.

use std::sync::Barrier;
use std::thread;
use std::time::Instant;

use indicatif::ProgressBar;
use postgres::Client;

use crate::server::Result;

/// What came of one round.
pub struct Round<T, const N: usize> {
    /// What each side got.
    pub answers: [T; N],
    /// How many sides had begun when the first of them had its answer.
    pub together: usize,
}

struct Acted<T> {
    begun: Instant,
    answer: T,
    ended: Instant,
}

/// Plays the rounds; `act` takes the number of the side and of the round. It must not panic: the
/// other sides would wait for ever.
pub fn collide<T: Send, const N: usize>(
    clients: &mut [Client; N],
    rounds: usize,
    bar: &ProgressBar,
    act: impl Fn(usize, usize, &mut Client) -> T + Sync,
) -> Result<Vec<Round<T, N>>> {
    let barrier = Barrier::new(N);
    let play = |side: usize, client: &mut Client| {
        let mut acted = Vec::with_capacity(rounds);
        for round in 0..rounds {
            barrier.wait();
            let begun = Instant::now();
            let answer = act(side, round, client);
            let ended = Instant::now();
            acted.push(Acted {
                begun,
                answer,
                ended,
            });
            if side == 0 {
                bar.inc(1);
            }
        }
        acted.into_iter()
    };
    let mut numbers = 0..;
    let sides = thread::scope(|scope| {
        clients
            .each_mut()
            .map(|client| {
                let (play, side) = (&play, numbers.next().unwrap_or_default());
                scope.spawn(move || play(side, client))
            })
            .map(|thread| thread.join())
    });
    bar.finish_and_clear();
    let sides: std::result::Result<Vec<_>, _> = sides.into_iter().collect();
    let mut sides = sides.map_err(|_| "a connection's thread panicked")?;
    let mut played = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let acted: Vec<Acted<T>> = sides.iter_mut().filter_map(Iterator::next).collect();
        let first = acted.iter().map(|acted| acted.ended).min();
        let together = acted.iter().filter(|acted| Some(acted.begun) < first);
        let together = together.count();
        let answers: Vec<T> = acted.into_iter().map(|acted| acted.answer).collect();
        played.push(Round {
            answers: answers.try_into().map_err(|_| "an answer is missing")?,
            together,
        });
    }
    Ok(played)
}

/// How many sides had begun when the first had its answer, on average.
pub fn average<T, const N: usize>(rounds: &[Round<T, N>]) -> String {
    let together: usize = rounds.iter().map(|round| round.together).sum();
    format!("{:.1}", together as f64 / rounds.len().max(1) as f64)
}
