//! Many sessions at once.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use uuid::Uuid;

use crate::Effort;
use crate::peers::{Peer, Step};
use crate::report::Measured;
use crate::server::{Result, Server};

/// Sessions work for so long before anything is counted.
const WARM_UP: Duration = Duration::from_millis(500);

/// Which case a session takes next.
pub trait Choice: Sync {
    /// Given a number drawn evenly from 0 to 1.
    fn choose(&self, drawn: f64) -> Uuid;
}

/// Who works, and on what.
#[derive(Clone, Copy)]
pub struct Crowd<'a> {
    /// Connections at once.
    pub sessions: usize,
    /// Whether a commit waits until it is on disk.
    pub durable: bool,
    /// Their cases.
    pub choice: &'a dyn Choice,
}

/// Every peer in turn, round after round.
pub fn take_turns(
    server: &Server,
    effort: Effort,
    crowd: Crowd<'_>,
    peers: &[Peer],
) -> Result<Vec<(Peer, Measured)>> {
    let mut results: Vec<(Peer, Measured)> =
        peers.iter().map(|peer| (*peer, Measured::new())).collect();
    for round in 0..effort.rounds {
        // Nobody is always first.
        for turn in 0..peers.len() {
            let (peer, measured) = &mut results[(turn + round) % peers.len()];
            let time = Duration::from_secs(effort.seconds);
            measured.add_round(&run(server, *peer, time, crowd)?);
        }
    }
    Ok(results)
}

fn run(server: &Server, peer: Peer, time: Duration, crowd: Crowd<'_>) -> Result<Measured> {
    let Crowd {
        sessions,
        durable,
        choice,
    } = crowd;
    let ready = Barrier::new(sessions);
    let ready = &ready;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..sessions)
            .map(|number| {
                scope.spawn(move || {
                    // Whoever fails to connect must not keep the others waiting.
                    let session = server
                        .connect_as(durable)
                        .and_then(|client| peer.session(client));
                    ready.wait();
                    let mut session = session?;
                    let mut random = Random::new(number as u64);
                    let begin = Instant::now() + WARM_UP;
                    let end = begin + time;
                    let mut measured = Measured::new();
                    loop {
                        let case = choice.choose(random.next());
                        let started = Instant::now();
                        let mut busy = 0;
                        // A client that is told busy tries again; what it waits is what it took.
                        let done = loop {
                            match session.step(case)? {
                                Step::Done => break true,
                                Step::Busy(_) if Instant::now() > end => break false,
                                Step::Busy(after) => {
                                    busy += 1;
                                    thread::sleep(after);
                                }
                            }
                        };
                        let now = Instant::now();
                        if now > end {
                            break;
                        }
                        if started >= begin {
                            measured.count(done, busy, now - started);
                        }
                    }
                    measured.took(time);
                    Ok(measured)
                })
            })
            .collect();
        let mut all = Measured::new();
        for thread in threads {
            let one: Result<Measured> = thread.join().map_err(|_| "a session panicked")?;
            all.add_session(&one?);
        }
        Ok(all)
    })
}

/// Numbers that look drawn by chance, the same in each run (splitmix64).
pub struct Random(u64);

impl Random {
    /// The numbers of one session.
    pub fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5851_f42d_4c95_7f2d)
    }

    /// Evenly from 0 to 1.
    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^= bits >> 31;
        (bits >> 11) as f64 / (1u64 << 53) as f64
    }
}
