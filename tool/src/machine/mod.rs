//! The machine as it is now: whose CPUs, memory and devices are, and what they are doing.
//! Calls go down: model, rates, snapshot, host, topology.

pub mod host;
pub mod model;
pub mod picture;
pub mod rates;
pub mod snapshot;
pub mod top;
pub mod topology;
pub mod web;
