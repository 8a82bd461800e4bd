/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/server.h"

#include <errno.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/process/loop.h"
#include "daemon/varlink/client.h"
#include "daemon/varlink/dispatch.h"
#include "daemon/varlink/message.h"
#include "daemon/varlink/service.h"

#define ACCEPTS_PER_TURN 16

/* The pause after accept() failed, for example for lack of file descriptors. */
#define ACCEPT_PAUSE_NS 100000000ULL

/* A place for a connection.  There are twice as many as clients, for those that are being refused. */
struct place {
	struct client *client;
	bool refused;
};

struct server {
	struct server_settings settings;
	struct server_stats stats;
	/* The methods of the owner, and those of org.varlink.service. */
	struct dispatch_table tables[2];
	void *userdata;
	struct client_context context;
	char *path;
	char *group;
	struct sockaddr_un address;
	int fd;
	/* The file that bind() created, so that the server never removes another one. */
	bool bound;
	dev_t device;
	ino_t inode;
	struct loop_source *source;
	struct loop_source *resume;
	bool accept_failed;
	struct place *places;
	size_t place_count;
};

static void report(const char *what, int error, void *userdata)
{
	const struct server *server = userdata;

	if (server->settings.report)
		server->settings.report(what, error, server->userdata);
}

/* ---- clients -------------------------------------------------------------- */

static struct place *find_place(struct server *server, const struct client *client)
{
	for (size_t i = 0; i < server->place_count; i++)
		if (server->places[i].client == client)
			return &server->places[i];
	return NULL;
}

static void dispatch(struct client *client, const struct message *message, void *userdata)
{
	struct server *server = userdata;

	dispatch_message(server->tables, ARRAY_SIZE(server->tables), client, message);
}

static void leave(struct server *server, struct place *place)
{
	if (!place->refused)
		server->stats.clients--;
	client_free(&place->client);
}

static void on_gone(struct client *client, void *userdata)
{
	struct server *server = userdata;

	leave(server, find_place(server, client));
	/* A place and a file descriptor are free again. */
	loop_source_set_enabled(server->source, true);
}

static void turn_away(struct server *server, struct place *place)
{
	place->refused = true;
	server->stats.rejected++;
	client_refuse(place->client, server->settings.errors.too_many,
		      json_pack("{s:s, s:I}", "what", "clients", "limit",
				(json_int_t)server->settings.max_clients));
}

static int admit(struct server *server, struct place *place, int fd)
{
	int r = client_new(&place->client, &server->context, fd);

	if (r < 0)
		return r;
	place->refused = server->stats.clients >= server->settings.max_clients;
	if (place->refused)
		turn_away(server, place);
	else
		server->stats.clients++;
	return 0;
}

/* ---- accepting ------------------------------------------------------------ */

static int on_resume(void *userdata)
{
	struct server *server = userdata;

	return loop_source_set_enabled(server->source, true);
}

/* The listening socket stays readable after a failure, so without a pause the loop would spin. */
static int pause_accepting(struct server *server, int error)
{
	int r;

	if (!server->accept_failed)
		report("accept", error, server);
	server->accept_failed = true;
	r = loop_source_set_enabled(server->source, false);
	if (r < 0)
		return r;
	return loop_timer_restart(server->resume, ACCEPT_PAUSE_NS);
}

static int on_connection(int fd, unsigned int events, void *userdata)
{
	struct server *server = userdata;

	(void)events;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		struct place *place = find_place(server, NULL);
		OWN_FD int connection = -1;
		int r;

		/* Refused clients have at least half of the places, and leave soon. */
		if (!place)
			return loop_source_set_enabled(server->source, false);
		connection = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (connection < 0) {
			if (errno == EAGAIN || errno == EWOULDBLOCK)
				return 0;
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			return pause_accepting(server, -errno);
		}
		r = admit(server, place, connection);
		if (r < 0)
			return pause_accepting(server, r);
		TAKE_FD(connection);
		server->accept_failed = false;
	}
	return 0;
}

/* ---- the socket ----------------------------------------------------------- */

static int remove_stale(const char *path)
{
	struct stat found;

	if (lstat(path, &found) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(found.st_mode))
		return -EEXIST;
	return unlink(path) < 0 ? -errno : 0;
}

static int bind_private(struct server *server)
{
	struct stat made;
	mode_t mask;
	int r;

	mask = umask(0177);
	r = bind(server->fd, (struct sockaddr *)&server->address, sizeof(server->address));
	r = r < 0 ? -errno : 0;
	umask(mask);
	if (r < 0)
		return r;
	if (lstat(server->path, &made) < 0)
		return -errno;
	server->bound = true;
	server->device = made.st_dev;
	server->inode = made.st_ino;
	return 0;
}

/* First the group, then the mode, so that no other group has access in between. */
static int share_with_group(const struct server *server)
{
	const struct group *group = server->group ? getgrnam(server->group) : NULL;

	if (!group)
		return 0;
	if (lchown(server->path, (uid_t)-1, group->gr_gid) < 0)
		return -errno;
	return chmod(server->path, 0660) < 0 ? -errno : 0;
}

static int open_socket(struct server *server)
{
	int r;

	if (strlen(server->path) >= sizeof(server->address.sun_path))
		return -ENAMETOOLONG;
	server->address.sun_family = AF_UNIX;
	strcpy(server->address.sun_path, server->path);
	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->fd < 0)
		return -errno;
	r = remove_stale(server->path);
	if (r < 0)
		return r;
	r = bind_private(server);
	if (r < 0)
		return r;
	r = share_with_group(server);
	if (r < 0)
		report("group", r, server);
	return listen(server->fd, server->settings.backlog) < 0 ? -errno : 0;
}

static void close_socket(struct server *server)
{
	struct stat found;

	cleanup_close(&server->fd);
	if (server->bound && lstat(server->path, &found) == 0 && found.st_dev == server->device &&
	    found.st_ino == server->inode)
		unlink(server->path);
}

/* ---- the server ----------------------------------------------------------- */

static void set_defaults(struct server_settings *settings)
{
	if (!settings->vendor)
		settings->vendor = "";
	if (!settings->product)
		settings->product = "";
	if (!settings->version)
		settings->version = "";
	if (!settings->url)
		settings->url = "";
	if (!settings->max_clients)
		settings->max_clients = SERVER_MAX_CLIENTS;
	if (!settings->max_message_bytes)
		settings->max_message_bytes = MESSAGE_MAX_BYTES;
	if (!settings->max_depth)
		settings->max_depth = MESSAGE_MAX_DEPTH;
	if (!settings->max_queued_bytes)
		settings->max_queued_bytes = SERVER_MAX_QUEUED_BYTES;
	if (!settings->max_reply_bytes)
		settings->max_reply_bytes = SERVER_MAX_REPLY_BYTES;
	if (!settings->backlog)
		settings->backlog = SERVER_BACKLOG;
}

static int copy_settings(struct server *server, const struct server_settings *settings)
{
	server->settings = *settings;
	set_defaults(&server->settings);
	server->path = strdup(settings->path);
	server->group = settings->group ? strdup(settings->group) : NULL;
	server->settings.path = server->path;
	server->settings.group = server->group;
	server->place_count = 2 * (size_t)server->settings.max_clients;
	server->places = calloc(server->place_count, sizeof(*server->places));
	if (!server->path || (settings->group && !server->group) || !server->places)
		return -ENOMEM;
	return 0;
}

int server_new(struct server **server, struct loop *loop, const struct server_settings *settings,
	       const struct method *methods, size_t count, void *userdata)
{
	OWN_SERVER struct server *new = calloc(1, sizeof(*new));
	int r;

	if (!new)
		return -ENOMEM;
	new->fd = -1;
	new->userdata = userdata;
	new->tables[0] = (struct dispatch_table){methods, count, userdata};
	new->tables[1] =
		(struct dispatch_table){service_methods, service_method_count, &new->settings};
	new->context = (struct client_context){
		.loop = loop,
		.settings = &new->settings,
		.stats = &new->stats,
		.dispatch = dispatch,
		.report = report,
		.gone = on_gone,
		.userdata = new,
	};
	r = copy_settings(new, settings);
	if (r < 0)
		return r;
	r = open_socket(new);
	if (r < 0)
		return r;
	r = loop_add_fd(loop, &new->source, new->fd, LOOP_READ, on_connection, new);
	if (r < 0)
		return r;
	r = loop_add_timer(loop, &new->resume, ACCEPT_PAUSE_NS, 0, on_resume, new);
	if (r < 0)
		return r;
	*server = TAKE_PTR(new);
	return 0;
}

void server_free(struct server **server)
{
	struct server *old = *server;

	if (!old)
		return;
	loop_source_free(&old->resume);
	loop_source_free(&old->source);
	close_socket(old);
	for (size_t i = 0; old->places && i < old->place_count; i++)
		if (old->places[i].client)
			leave(old, &old->places[i]);
	free(old->places);
	free(old->path);
	free(old->group);
	free(old);
	*server = NULL;
}

void server_stats(const struct server *server, struct server_stats *stats)
{
	*stats = server->stats;
}
