#!/bin/bash
# What a shell asks of the kernel: pipes, signals, coprocesses, jobs, limits.  What it prints is always the same.
declare -A words
shopt -s extglob
# shellcheck disable=SC2018 # ASCII, wherever it runs
while read -r word; do [ -z "$word" ] || ((words[$word]++)); done < <(tr -cs a-z '\n' </etc/services)
for word in "${!words[@]}"; do echo "$word ${words[$word]}"; done | sort | sha256sum
trap 'echo "signal $((++seen))"' USR1
for _ in {1..20}; do (kill -USR1 $$); done
coproc tac
# Once tac has ended, bash closes its own descriptor of it, at any moment.
exec {answer}<&"${COPROC[0]}"
printf '%s\n' {1..500} >&"${COPROC[1]}"
# shellcheck disable=SC1083,SC2093 # closes a descriptor, and goes on
exec {COPROC[1]}>&-
sha256sum <&"$answer"
# shellcheck disable=SC2046,SC2005 # as many subshells as can be
fibonacci() { [ "$1" -lt 2 ] && echo "$1" || echo $(($(fibonacci $(($1 - 1))) + $(fibonacci $(($1 - 2))))); }
fibonacci 9
set -o pipefail
seq 100000 | head -1 | cat
echo "${PIPESTATUS[@]}"
sleep 100 &
kill $!
wait $!
echo $?
set -m
(exit 7) &
wait $!
echo $?
cat <<<"here ${BASH_VERSION%%.*}"
ulimit -n
umask
(
	ulimit -v 1
	:
)
echo ${#words[@]}
