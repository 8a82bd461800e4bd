/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/process/activation.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <systemd/sd-daemon.h>

#include "common/cleanup.h"

static void close_all(int count)
{
	for (int i = 0; i < count; i++)
		close(SD_LISTEN_FDS_START + i);
}

/* The address of a socket in the file system or, with a leading @, of an abstract one. */
static int read_path(int fd, char *path, size_t size)
{
	struct sockaddr_un address = {0};
	socklen_t length = sizeof(address);
	int characters;

	if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return -errno;
	characters = (int)(length - offsetof(struct sockaddr_un, sun_path));
	if (characters > 0 && !address.sun_path[0])
		snprintf(path, size, "@%.*s", characters - 1, address.sun_path + 1);
	else
		snprintf(path, size, "%.*s", characters > 0 ? characters : 0, address.sun_path);
	return 0;
}

/* The manager sets FD_CLOEXEC, but not O_NONBLOCK unless the unit says NonBlocking=yes. */
static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

int activation_socket(int *fd, char *path, size_t size, char *error, size_t error_size)
{
	int count = sd_listen_fds(1), r = count < 0 ? count : 0;
	OWN_FD int found = count > 0 ? SD_LISTEN_FDS_START : -1;

	if (count > 1) {
		snprintf(error, error_size,
			 "the service manager passed %d sockets; netflowd requires exactly one",
			 count);
		TAKE_FD(found);
		close_all(count);
		return -EINVAL;
	}
	if (count == 1 && sd_is_socket_unix(found, SOCK_STREAM, 1, NULL, 0) <= 0) {
		snprintf(
			error, error_size,
			"the socket from the service manager is not a listening Unix stream socket; correct ListenStream= in netflowd.socket");
		return -EINVAL;
	}
	if (count == 1)
		r = set_nonblocking(found);
	if (count == 1 && r == 0)
		r = read_path(found, path, size);
	if (r < 0) {
		snprintf(error, error_size, "cannot use the socket from the service manager: %s",
			 strerror(-r));
		return r;
	}
	*fd = TAKE_FD(found);
	return 0;
}
