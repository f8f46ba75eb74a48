// SPDX-License-Identifier: GPL-2.0
/*
 * The first program of a partition: loads our modules and becomes the init that
 * the initrd came with.  Small and static; `shimos run` puts it into the initrd
 * as /shimos/init and names it by rdinit=.
 *
 * When it fails it says why in the kernel log and ends, which is a panic: a
 * kernel without the agent must not go on.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

static void init_die(const char *format, ...)
{
	char text[256];
	va_list args;
	int fd, len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fd = open("/dev/kmsg", O_WRONLY);
	if (fd >= 0)
		write(fd, text, len);
	exit(1);
}

#define INIT_CMDLINE	4096	/* more than any kernel takes */

static char init_cmdline[INIT_CMDLINE];

/* The original init finds /proc as the initrd has it. */
static void init_read_cmdline(void)
{
	ssize_t len = -1;
	int fd;

	mkdir("/proc", 0555);
	if (mount("proc", "/proc", "proc", 0, NULL))
		init_die("shimos: init: cannot mount /proc: %s\n", strerror(errno));
	fd = open("/proc/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, init_cmdline, sizeof(init_cmdline) - 1);
	if (len < 0)
		init_die("shimos: init: cannot read /proc/cmdline: %s\n", strerror(errno));
	init_cmdline[len] = '\0';
	close(fd);
	umount("/proc");
}

#define INIT_SPACE	"\n "

/* What the command line has as MODULE.PARAMETER=VALUE, as the kernel and modprobe read it. */
static void init_parameters(const char *path, char *found)
{
	const char *slash = strrchr(path, '/'), *module = slash ? slash + 1 : path;
	size_t len = strcspn(module, ".");
	const char *word = init_cmdline;

	for (*found = '\0'; *word; word += strspn(word, INIT_SPACE)) {
		size_t end = strcspn(word, INIT_SPACE);

		if (end > len && !strncmp(word, module, len) && word[len] == '.') {
			strncat(found, word + len + 1, end - len - 1);
			strcat(found, " ");
		}
		word += end;
	}
}

static void init_load_module(const char *path)
{
	char parameters[INIT_CMDLINE];
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		init_die("shimos: init: cannot open %s: %s\n", path, strerror(errno));
	init_parameters(path, parameters);
	if (syscall(SYS_finit_module, fd, parameters, 0) && errno != EEXIST)
		init_die("shimos: init: cannot load %s: %s\n", path, strerror(errno));
	close(fd);
}

/* The tool has written which, in which order: a path per line. */
static void init_load_modules(const char *list)
{
	FILE *file = fopen(list, "re");
	char path[256];

	if (!file)
		init_die("shimos: init: cannot open %s: %s\n", list, strerror(errno));
	while (fgets(path, sizeof(path), file)) {
		path[strcspn(path, "\n")] = '\0';
		if (*path)
			init_load_module(path);
	}
	fclose(file);
}

/* The console exists since the agent is there. */
static void init_open_console(void)
{
	int fd = open("/dev/console", O_RDWR);

	if (fd < 0)
		init_die("shimos: init: cannot open /dev/console: %s\n", strerror(errno));
	dup2(fd, 0);
	dup2(fd, 1);
	dup2(fd, 2);
	if (fd > 2)
		close(fd);
}

int main(int argc, char **argv)
{
	const char *init = getenv("SHIMOS_INIT");

	(void)argc;
	if (!init || !*init)
		init = "/init";
	mkdir("/dev", 0755);
	mknod("/dev/console", S_IFCHR | 0600, makedev(5, 1));
	mknod("/dev/kmsg", S_IFCHR | 0644, makedev(1, 11));
	init_read_cmdline();
	init_load_modules("/shimos/modules");
	init_open_console();
	unsetenv("SHIMOS_INIT");
	argv[0] = (char *)init;
	execv(init, argv);
	init_die("shimos: init: cannot execute %s: %s\n", init, strerror(errno));
	return 1;
}
