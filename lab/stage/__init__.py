"""What tests and benchmarks bring onto machines: partitions, disks, networks, programs, traffic."""
