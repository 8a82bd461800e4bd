/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/terminal/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_open(int first, ...)
{
	sigset_t set;
	va_list list;
	int fd;

	sigemptyset(&set);
	va_start(list, first);
	for (int number = first; number; number = va_arg(list, int))
		sigaddset(&set, number);
	va_end(list);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

int signals_next(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}
