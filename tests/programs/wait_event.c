// SPDX-License-Identifier: GPL-2.0
/*
 * Waits for the next event of the only partition, for SECONDS at most, and prints what
 * came of it.  Usage: wait_event SECONDS
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include "must.h"
#include "uapi/shimos.h"

static int wait_event(int fd, struct shimos_wait *arg, unsigned int milliseconds)
{
	arg->hdr.size = sizeof(*arg);
	arg->hdr.version = SHIMOS_ABI_VERSION;
	arg->timeout_ms = milliseconds;
	return ioctl(fd, SHIMOS_IOC_WAIT, arg);
}

int main(int argc, char **argv)
{
	struct shimos_wait arg = { 0 };
	int fd = open("/dev/shimos", O_RDWR);

	MUST(argc == 2 && fd >= 0);
	do
		arg.id++;
	while (wait_event(fd, &arg, 0) && errno == ENOENT);
	printf("waiting\n");
	fflush(stdout);
	if (wait_event(fd, &arg, atoi(argv[1]) * 1000))
		printf("%m\n");
	else
		printf("state %u\n", arg.state);
	return 0;
}
