// SPDX-License-Identifier: GPL-2.0
/*
 * Maps a page of a file and writes to it, or reads it:
 *
 *	touch_page FILE read|write
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE	4096

int main(int argc, char **argv)
{
	char *page;
	int fd;

	if (argc != 3)
		return 2;
	fd = open(argv[1], O_RDWR);
	if (fd < 0) {
		perror(argv[1]);
		return 2;
	}
	page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		perror("mmap");
		return 2;
	}
	if (strcmp(argv[2], "write"))
		printf("%d\n", page[0]);
	else
		memset(page, 1, PAGE);
	return 0;
}
