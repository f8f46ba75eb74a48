// SPDX-License-Identifier: GPL-2.0
// An anchor of the throughput: Boost.Lockfree's spsc_queue.
#include <boost/lockfree/spsc_queue.hpp>

#include "measure.h"

namespace {

template <class T> using queue = boost::lockfree::spsc_queue<T>;

template <class T> void *make(unsigned slots)
{
	return new queue<T>(slots);
}

void send(void *q, uint64_t n)
{
	auto &to = *static_cast<queue<message> *>(q);
	message m;

	for (uint64_t i = 0; i < n; i++) {
		message_fill(&m, i);
		while (!to.push(m))
			wait_a_bit();
	}
}

void receive(void *q, uint64_t n, sums *s)
{
	auto &from = *static_cast<queue<message> *>(q);
	sums found = *s;
	message m;

	for (uint64_t i = 0; i < n; i++) {
		while (!from.pop(m))
			wait_a_bit();
		message_check(&found, &m, i);
	}
	*s = found;
}

void send_batches(void *q, uint64_t n)
{
	auto &to = *static_cast<queue<message> *>(q);
	message m[BATCH];

	for (uint64_t i = 0; i < n; i += BATCH) {
		const uint64_t count = n - i < BATCH ? n - i : BATCH;

		for (uint64_t k = 0; k < count; k++)
			message_fill(&m[k], i + k);
		for (uint64_t put = 0; put < count;) {
			const uint64_t more = to.push(m + put, count - put);

			put += more;
			if (!more)
				wait_a_bit();
		}
	}
}

void receive_batches(void *q, uint64_t n, sums *s)
{
	auto &from = *static_cast<queue<message> *>(q);
	sums found = *s;
	message m[BATCH];

	for (uint64_t i = 0; i < n;) {
		const uint64_t got = from.pop(m, BATCH);

		for (uint64_t k = 0; k < got; k++)
			message_check(&found, &m[k], i + k);
		i += got;
		if (!got)
			wait_a_bit();
	}
	*s = found;
}

void send_words(void *q, uint64_t n)
{
	auto &to = *static_cast<queue<uint64_t> *>(q);

	for (uint64_t i = 0; i < n; i++)
		while (!to.push(i))
			wait_a_bit();
}

void receive_words(void *q, uint64_t n, sums *s)
{
	auto &from = *static_cast<queue<uint64_t> *>(q);
	sums found = *s;
	uint64_t word;

	for (uint64_t i = 0; i < n; i++) {
		while (!from.pop(word))
			wait_a_bit();
		word_check(&found, word, i);
	}
	*s = found;
}

} // namespace

extern "C" const contender boost_contenders[] = {
	{ "Boost.Lockfree spsc_queue", contender::ONE, make<message>, send, receive },
	{ "Boost.Lockfree spsc_queue", contender::BATCHES, make<message>, send_batches, receive_batches },
	{ "Boost.Lockfree spsc_queue", contender::WORD, make<uint64_t>, send_words, receive_words },
	{},
};
