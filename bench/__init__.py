"""The benchmarks; bench/run, bench/rt and the other programs without a suffix start them."""
