// SPDX-License-Identifier: GPL-2.0
/*
 * Moves real-time partitions from CPU to CPU, as fast as the host can: reads NAME CPU from its
 * standard input, a move a line, and prints how many there were.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include "must.h"
#include "uapi/shimos.h"

static unsigned int find(int fd, const char *name)
{
	struct shimos_status status = { 0 };

	do {
		status.hdr.size = sizeof(status);
		status.hdr.version = SHIMOS_ABI_VERSION;
		status.flags = SHIMOS_STATUS_NEXT;
		MUST(!ioctl(fd, SHIMOS_IOC_STATUS, &status));
	} while (strcmp(status.name, name));
	return status.id;
}

static void move(int fd, const char *name, unsigned int cpu)
{
	struct shimos_rt_move arg = { { sizeof(arg), SHIMOS_ABI_VERSION }, find(fd, name), cpu };
	struct shimos_error error = { { sizeof(error), SHIMOS_ABI_VERSION } };

	if (!ioctl(fd, SHIMOS_IOC_RT_MOVE, &arg))
		return;
	ioctl(fd, SHIMOS_IOC_ERROR, &error);
	printf("%s to CPU %u: %m: %s\n", name, cpu, error.text);
	exit(1);
}

int main(void)
{
	int fd = open("/dev/shimos", O_RDWR);
	unsigned int cpu, moves = 0;
	char name[SHIMOS_NAME_LEN];

	MUST(fd >= 0);
	for (; scanf("%31s %u", name, &cpu) == 2; moves++)
		move(fd, name, cpu);
	printf("%u\n", moves);
	return 0;
}
