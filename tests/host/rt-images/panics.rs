//! A task that panics: the program ends as failed, and its last words say where and why.
#![no_std]
#![deny(unsafe_code)]

use embassy_executor::Spawner;
use embassy_time::{Instant, Timer};
use shimos_embassy::{fail, ready, say};

#[embassy_executor::task]
async fn careless() {
    let places = [0; 4];
    Timer::after_millis(5).await;
    say!(
        "{} is no place",
        places[Instant::now().as_millis() as usize]
    );
}

fn begin(spawner: Spawner) {
    match careless() {
        Ok(task) => spawner.spawn(task),
        Err(error) => fail(format_args!("no task: {error}")),
    }
    ready();
}

shimos_embassy::program!(begin);
