//! Embassy at work: a task at 1 kHz and one at 10 Hz that exchange messages, one that tells
//! each second how they are and judges at the end, and one that ends it all when it is asked.
#![no_std]
#![deny(unsafe_code)]

use core::cell::Cell;
use core::fmt;

use embassy_executor::{SpawnError, SpawnToken, Spawner};
use embassy_sync::blocking_mutex::Mutex;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::channel::Channel;
use embassy_sync::signal::Signal;
use embassy_time::{Duration, Instant, Timer};
use shimos_embassy::clock::Pace;
use shimos_embassy::{asked_to_stop, fail, ready, rung, say, stop, strays};

/// For how long it works, as `rt/Makefile` says.
const SECONDS: u64 = match option_env!("TASK_SECONDS") {
    Some(text) => match u64::from_str_radix(text, 10) {
        Ok(seconds) => seconds,
        Err(_) => panic!("TASK_SECONDS is no number"),
    },
    None => 5,
};
const FAST: Duration = Duration::from_hz(1000);
const SLOW: Duration = Duration::from_hz(10);
/// More than the fast task can send in a period of the slow one.
const ROOM: usize = 128;

/// Of a task that keeps a pace; times are nanoseconds after what was due.
#[derive(Clone, Copy)]
struct Kept {
    begin: u64,
    count: u64,
    missed: u64,
    min: u64,
    last: u64,
    max: u64,
    sum: u64,
}

/// Each has one task that writes it.
static FAST_KEPT: Shared = Mutex::new(Cell::new(Kept::NONE));
static SLOW_KEPT: Shared = Mutex::new(Cell::new(Kept::NONE));
static MESSAGES: Channel<CriticalSectionRawMutex, u64, ROOM> = Channel::new();
static ANSWER: Signal<CriticalSectionRawMutex, u64> = Signal::new();

type Shared = Mutex<CriticalSectionRawMutex, Cell<Kept>>;

impl Kept {
    const NONE: Self = Self {
        begin: 0,
        count: 0,
        missed: 0,
        min: u64::MAX,
        last: 0,
        max: 0,
        sum: 0,
    };

    fn add(mut self, late: u64, missed: u64) -> Self {
        self.count += 1;
        self.missed += missed;
        self.min = self.min.min(late);
        self.last = late;
        self.max = self.max.max(late);
        self.sum += late;
        self
    }

    fn ticks(self) -> u64 {
        self.count + self.missed
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mean = self.sum / self.count.max(1);
        write!(
            f,
            "{} ({} missed) Min: {} Act: {} Avg: {mean} Max: {}",
            self.count, self.missed, self.min, self.last, self.max
        )
    }
}

/// Keep a pace for ever, and do something each time.
async fn keep(period: Duration, shared: &Shared, mut act: impl FnMut(u64)) {
    let period = period.as_ticks();
    let begin = Instant::now().as_ticks();
    let mut kept = Kept {
        begin,
        ..Kept::NONE
    };
    let mut pace = Pace {
        due: begin + period,
        period,
    };
    shared.lock(|shared| shared.set(kept));
    loop {
        let due = pace.due;
        Timer::at(Instant::from_ticks(due)).await;
        let now = Instant::now().as_ticks();
        let Some(missed) = pace.pass(now).checked_sub(1) else {
            fail(format_args!("embassy wrong: woken at {now} for {due}"));
        };
        kept = kept.add(now - due, missed);
        shared.lock(|shared| shared.set(kept));
        act(kept.count);
    }
}

#[embassy_executor::task]
async fn fast() {
    keep(FAST, &FAST_KEPT, |count| {
        if MESSAGES.try_send(count).is_err() {
            fail(format_args!("embassy wrong: nobody takes message {count}"));
        }
    })
    .await;
}

#[embassy_executor::task]
async fn slow() {
    let mut taken = 0;
    keep(SLOW, &SLOW_KEPT, move |_| {
        while let Ok(message) = MESSAGES.try_receive() {
            taken += 1;
            if message != taken {
                fail(format_args!("embassy wrong: message {taken} is {message}"));
            }
        }
        ANSWER.signal(taken);
    })
    .await;
}

#[embassy_executor::task]
async fn report() {
    let begin = Instant::now();
    for second in 1..=SECONDS {
        Timer::at(begin + Duration::from_secs(second)).await;
        let (fast, slow) = (FAST_KEPT.lock(Cell::get), SLOW_KEPT.lock(Cell::get));
        say!(
            "{second} s: pace {fast}, slow {} ({} missed)",
            slow.count,
            slow.missed
        );
    }
    judge_messages().await;
    judge_pace(&FAST_KEPT, FAST).await;
    judge_pace(&SLOW_KEPT, SLOW).await;
    if strays() != 0 {
        fail(format_args!(
            "embassy wrong: {} interrupts that nobody asked for",
            strays()
        ));
    }
    say!("embassy fine");
    stop();
}

/// What had been sent is there when the slow task has been there again.
async fn judge_messages() {
    ANSWER.reset();
    let sent = FAST_KEPT.lock(Cell::get).count;
    let taken = ANSWER.wait().await;
    if taken < sent {
        fail(format_args!(
            "embassy wrong: {sent} messages were sent, and {taken} came"
        ));
    }
}

/// Ticks are never ahead of the clock, nor behind it after two more: however late both tasks
/// are woken, the other one has had its turn then.
async fn judge_pace(shared: &Shared, period: Duration) {
    let before = shared.lock(Cell::get);
    let wanted = (Instant::now().as_ticks() - before.begin) / period.as_ticks();
    Timer::after(period).await;
    Timer::after(period).await;
    let after = shared.lock(Cell::get);
    if before.ticks() > wanted || after.ticks() < wanted {
        let (before, after) = (before.ticks(), after.ticks());
        fail(format_args!(
            "embassy wrong: {wanted} ticks by the clock, and {before} to {after}"
        ));
    }
}

#[embassy_executor::task]
async fn answer_bell() {
    while !asked_to_stop() {
        rung().await;
    }
    say!("embassy asked to stop");
    stop();
}

fn spawn<S>(spawner: Spawner, task: Result<SpawnToken<S>, SpawnError>) {
    match task {
        Ok(task) => spawner.spawn(task),
        Err(error) => fail(format_args!("embassy wrong: no task: {error}")),
    }
}

fn begin(spawner: Spawner) {
    say!("embassy: tasks at 1000 and 10 Hz");
    spawn(spawner, fast());
    spawn(spawner, slow());
    spawn(spawner, report());
    spawn(spawner, answer_bell());
    ready();
}

shimos_embassy::program!(begin);
