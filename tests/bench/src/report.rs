//! What was measured, and how it is told.

use std::time::Duration;

use hdrhistogram::Histogram;

/// Steps that were taken, and how long each took.
pub struct Measured {
    latencies: Histogram<u64>,
    done: u64,
    failed: u64,
    busy: u64,
    took: Duration,
    /// Steps per second of each round.
    rounds: Vec<f64>,
}

impl Measured {
    /// Nothing yet.
    pub fn new() -> Measured {
        Measured {
            // From 1 µs to 5 min, to three digits.
            latencies: Histogram::new_with_bounds(1, 300_000_000, 3).expect("sound bounds"),
            done: 0,
            failed: 0,
            busy: 0,
            took: Duration::ZERO,
            rounds: Vec::new(),
        }
    }

    /// One step, after having been told busy so often.
    pub fn count(&mut self, done: bool, busy: u64, latency: Duration) {
        self.busy += busy;
        if done {
            self.done += 1;
            self.latencies.saturating_record(latency.as_micros() as u64);
        } else {
            self.failed += 1;
        }
    }

    /// How long a session was measured.
    pub fn took(&mut self, time: Duration) {
        self.took = time;
    }

    /// Adds what another session did in the same time.
    pub fn add_session(&mut self, other: &Measured) {
        self.add(other);
        self.took = other.took;
    }

    /// Adds what was measured in another time.
    pub fn add_round(&mut self, other: &Measured) {
        self.add(other);
        self.took += other.took;
        self.rounds.push(other.rate());
    }

    fn add(&mut self, other: &Measured) {
        self.latencies.add(&other.latencies).expect("equal bounds");
        self.done += other.done;
        self.failed += other.failed;
        self.busy += other.busy;
    }

    /// Steps per second.
    pub fn rate(&self) -> f64 {
        self.done as f64 / self.took.as_secs_f64()
    }

    /// The rate of the median round: one that was disturbed does not count.
    pub fn median_rate(&self) -> f64 {
        let mut rounds = self.rounds.clone();
        rounds.sort_by(f64::total_cmp);
        rounds.get(rounds.len() / 2).copied().unwrap_or(0.0)
    }

    /// In ms.
    pub fn latency(&self, quantile: f64) -> f64 {
        self.latencies.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// In ms.
    pub fn mean_latency(&self) -> f64 {
        self.latencies.mean() / 1000.0
    }

    /// Share of steps that were taken in the end, in percent.
    pub fn success(&self) -> f64 {
        100.0 * self.done as f64 / (self.done + self.failed).max(1) as f64
    }
}

/// One line per participant, with ratios to the first.
pub fn table(results: &[(String, &Measured)]) {
    println!(
        "  {:<34} {:>9} {:>7} {:>9} {:>9} {:>9} {:>7} {:>9} {:>7}",
        "", "steps/s", "ratio", "p50 ms", "p99 ms", "max ms", "p99 /", "success %", "busy"
    );
    let Some((_, first)) = results.first() else {
        return;
    };
    for (name, measured) in results {
        println!(
            "  {:<34} {:>9.0} {:>7.2} {:>9.2} {:>9.2} {:>9.2} {:>7.3} {:>9.2} {:>7}",
            name,
            measured.median_rate(),
            measured.median_rate() / first.median_rate(),
            measured.latency(0.5),
            measured.latency(0.99),
            measured.latency(1.0),
            measured.latency(0.99) / first.latency(0.99),
            measured.success(),
            measured.busy,
        );
    }
}

/// A figure beside the one that is wanted.
pub fn verdict(what: &str, figure: f64, wanted: &str, reached: bool) {
    let word = if reached { "reached" } else { "MISSED" };
    println!("  {what}: {figure:.3} (wanted {wanted}): {word}");
}
