/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "common/time.h"
#include "daemon/process/loop.h"
#include "daemon/process/unix_socket.h"
#include "daemon/varlink/client.h"
#include "daemon/varlink/dispatch.h"
#include "daemon/varlink/message.h"
#include "daemon/varlink/places.h"
#include "daemon/varlink/service.h"

#define ACCEPTS_PER_TURN 16

/* The pause after accept() failed, for example for lack of file descriptors. */
#define ACCEPT_PAUSE_NS 100000000ULL

/* The interval at which clients are checked for their time-outs, which can be that much late. */
#define WATCH_NS 500000000ULL

/*
 * Clients that are being refused have this many places.  Any others get the error and are disconnected at once, so that
 * a crowd of them does not keep the server from accepting others.
 */
#define REFUSED_MAX 64U

struct server {
	struct server_settings settings;
	struct server_stats stats;
	/* The methods of the owner, and those of org.varlink.service. */
	struct dispatch_table tables[2];
	void *userdata;
	struct client_context context;
	char *path;
	char *group;
	int fd;
	struct unix_socket file; /* unless the socket was passed to the server */
	struct loop_source *source;
	struct loop_source *resume;
	bool accept_failed;
	struct places *places;
	/*
	 * Gives the next client that waits its turn: enabled while one waits, and always readable.  A deferred call
	 * would not do, because sd-event makes it before everything that became ready in the meantime.
	 */
	struct loop_source *turn;
	int turn_fd;
	/* Enables `turn` when the first user that waits has rested. */
	struct loop_source *rested;
	/* Runs while there are clients, and disconnects those that have been idle or stalled for too long. */
	struct loop_source *watch;
	bool watching;
};

static void report(const char *what, int error, void *userdata)
{
	const struct server *server = userdata;

	if (server->settings.report)
		server->settings.report(what, error, server->userdata);
}

/* ---- clients -------------------------------------------------------------- */

static void dispatch(struct client *client, const struct message *message, void *userdata)
{
	struct server *server = userdata;

	dispatch_message(server->tables, ARRAY_SIZE(server->tables), client, message);
}

static void count_clients(struct server *server)
{
	server->stats.clients = places_count(server->places);
}

static void leave(struct server *server, struct client *client)
{
	struct place *place = client_place(client);

	client_free(&client);
	place_remove(server->places, &place);
	count_clients(server);
}

static void on_gone(struct client *client, void *userdata)
{
	struct server *server = userdata;

	leave(server, client);
	/* A file descriptor is free again. */
	loop_source_set_enabled(server->source, true);
}

/* ---- turns ---------------------------------------------------------------- */

static void want_turn(struct client *client, void *userdata)
{
	struct server *server = userdata;

	place_queue(server->places, client_place(client));
	loop_source_set_enabled(server->turn, true);
}

/* One message, and then everything in the loop that is ready has its turn, before the next message. */
static int on_turn(int fd, unsigned int events, void *userdata)
{
	struct server *server = userdata;
	uint64_t begin = time_thread_cpu(), rest_ns;
	struct client *client = places_next(server->places, time_monotonic(), &rest_ns);
	uid_t uid;
	int r;

	(void)fd;
	(void)events;
	if (client) {
		uid = client_uid(client);
		client_turn(client);
		places_charge(server->places, uid, time_monotonic(), time_thread_cpu() - begin);
		if (places_waiting(server->places))
			return 0;
	}
	r = loop_source_set_enabled(server->turn, false);
	if (r == 0 && places_waiting(server->places))
		r = loop_timer_restart(server->rested, rest_ns);
	return r;
}

static int on_rested(void *userdata)
{
	struct server *server = userdata;

	return loop_source_set_enabled(server->turn, true);
}

static int open_turn(struct server *server, struct loop *loop)
{
	int r;

	server->turn_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->turn_fd < 0)
		return -errno;
	r = loop_add_fd(loop, &server->turn, server->turn_fd, LOOP_READ, on_turn, server);
	if (r == 0)
		r = loop_source_set_enabled(server->turn, false);
	return r < 0 ? r : loop_add_timer(loop, &server->rested, WATCH_NS, 0, on_rested, server);
}

/* ---- replies that wait ---------------------------------------------------- */

static bool make_room(struct client *client, void *userdata)
{
	struct server *server = userdata;

	while (server->stats.unsent_bytes > server->settings.max_unsent_bytes) {
		struct client *largest = places_largest(server->places);

		if (!largest || largest == client)
			return false;
		server->stats.over_budget++;
		client_break(largest);
	}
	return true;
}

/* ---- time-outs ------------------------------------------------------------ */

static void check_client(struct client *client, void *userdata)
{
	struct server *server = userdata;

	if (client_check(client))
		server->stats.timed_out++;
}

static int on_watch(void *userdata)
{
	struct server *server = userdata;

	places_each(server->places, check_client, server);
	server->watching = places_count(server->places) > 0;
	return server->watching ? loop_timer_restart(server->watch, WATCH_NS) : 0;
}

static int start_watch(struct server *server)
{
	if (server->watching)
		return 0;
	server->watching = true;
	return loop_timer_restart(server->watch, WATCH_NS);
}

/* ---- who may connect ------------------------------------------------------ */

static json_t *too_many(const struct server *server, enum places_answer answer)
{
	const struct places_limits *limits = places_limits(server->places);
	bool user = answer == PLACES_USER_FULL;

	return json_pack("{s:s, s:I}", "what", user ? "clients of one user" : "clients", "limit",
			 (json_int_t)(user ? limits->user : limits->clients));
}

static void turn_away(struct server *server, struct client *client, enum places_answer answer)
{
	server->stats.rejected++;
	client_refuse(client, server->settings.errors.too_many, too_many(server, answer));
	if (places_refused(server->places) <= REFUSED_MAX)
		return;
	client_flush(client);
	client_break(client);
}

/* Take the place of a quiet client, if one must go for a newcomer of this user. */
static bool displace(struct server *server, uid_t uid)
{
	struct client *loser = places_loser(server->places, uid, time_monotonic());

	if (!loser)
		return false;
	server->stats.displaced++;
	place_uncount(server->places, client_place(loser));
	/* A client with unread replies would not read the error either, and only delay the end of its replies. */
	if (client_unsent(loser))
		client_break(loser);
	else
		client_refuse(loser, server->settings.errors.too_many,
			      too_many(server, PLACES_FULL));
	count_clients(server);
	return true;
}

static int get_uid(int fd, uid_t *uid)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	*uid = peer.uid;
	return 0;
}

static int admit(struct server *server, int fd)
{
	enum places_answer answer;
	struct client *client;
	struct place *place;
	uid_t uid = (uid_t)-1;
	int r;

	r = get_uid(fd, &uid);
	if (r < 0)
		return r;
	answer = places_ask(server->places, uid);
	if (answer == PLACES_FULL && displace(server, uid))
		answer = places_ask(server->places, uid);
	r = places_add(server->places, &place, uid, answer == PLACES_FREE);
	if (r < 0)
		return r;
	r = client_new(&client, &server->context, fd, uid, place);
	if (r < 0) {
		place_remove(server->places, &place);
		return r;
	}
	place_set_client(place, client);
	count_clients(server);
	if (answer != PLACES_FREE)
		turn_away(server, client, answer);
	return start_watch(server);
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
		OWN_FD int connection = -1;
		int r;

		connection = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (connection < 0) {
			if (errno == EAGAIN || errno == EWOULDBLOCK)
				return 0;
			if (errno == EINTR || errno == ECONNABORTED)
				continue;
			return pause_accepting(server, -errno);
		}
		r = admit(server, connection);
		if (r < 0)
			return pause_accepting(server, r);
		TAKE_FD(connection);
		server->accept_failed = false;
	}
	return 0;
}

/* ---- the socket ----------------------------------------------------------- */

static int open_socket(struct server *server)
{
	int r;

	server->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (server->fd < 0)
		return -errno;
	r = unix_socket_bind(&server->file, server->fd, server->path);
	if (r < 0)
		return r;
	r = unix_socket_share(&server->file, server->group);
	if (r < 0)
		report("group", r, server);
	return listen(server->fd, server->settings.backlog) < 0 ? -errno : 0;
}

static void close_socket(struct server *server)
{
	cleanup_close(&server->fd);
	unix_socket_remove(&server->file);
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
	if (!settings->max_unsent_bytes)
		settings->max_unsent_bytes = SERVER_MAX_UNSENT_BYTES;
	if (settings->max_reply_bytes > settings->max_unsent_bytes)
		settings->max_reply_bytes = settings->max_unsent_bytes;
	if (!settings->backlog)
		settings->backlog = SERVER_BACKLOG;
}

static struct places_limits places_of(const struct server_settings *settings)
{
	return (struct places_limits){.clients = settings->max_clients,
				      .root = settings->root_clients,
				      .user = settings->user_clients};
}

static int copy_settings(struct server *server, const struct server_settings *settings)
{
	struct places_limits limits;

	server->settings = *settings;
	set_defaults(&server->settings);
	server->path = strdup(settings->path);
	server->group = settings->group ? strdup(settings->group) : NULL;
	server->settings.path = server->path;
	server->settings.group = server->group;
	if (!server->path || (settings->group && !server->group))
		return -ENOMEM;
	limits = places_of(&server->settings);
	return places_new(&server->places, &limits);
}

void server_set_limits(struct server *server, const struct server_settings *settings)
{
	struct server_settings *to = &server->settings;
	struct places_limits limits;

	to->max_clients = settings->max_clients;
	to->root_clients = settings->root_clients;
	to->user_clients = settings->user_clients;
	to->idle_ns = settings->idle_ns;
	to->max_message_bytes = settings->max_message_bytes;
	to->max_queued_bytes = settings->max_queued_bytes;
	to->max_reply_bytes = settings->max_reply_bytes;
	to->max_unsent_bytes = settings->max_unsent_bytes;
	set_defaults(to);
	limits = places_of(to);
	places_set_limits(server->places, &limits);
}

int server_new(struct server **server, struct loop *loop, const struct server_settings *settings,
	       const struct method *methods, size_t count, void *userdata)
{
	OWN_SERVER struct server *new = calloc(1, sizeof(*new));
	int r;

	if (!new)
		return -ENOMEM;
	new->fd = settings->listening > 0 ? settings->listening : -1;
	new->turn_fd = -1;
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
		.want_turn = want_turn,
		.make_room = make_room,
		.gone = on_gone,
		.userdata = new,
	};
	r = copy_settings(new, settings);
	if (r < 0)
		return r;
	if (new->fd < 0)
		r = open_socket(new);
	if (r < 0)
		return r;
	r = loop_add_fd(loop, &new->source, new->fd, LOOP_READ, on_connection, new);
	if (r < 0)
		return r;
	r = loop_add_timer(loop, &new->resume, ACCEPT_PAUSE_NS, 0, on_resume, new);
	if (r == 0)
		r = open_turn(new, loop);
	if (r == 0)
		r = loop_add_timer(loop, &new->watch, WATCH_NS, 0, on_watch, new);
	if (r < 0)
		return r;
	*server = TAKE_PTR(new);
	return 0;
}

static void forget(struct client *client, void *userdata)
{
	leave(userdata, client);
}

void server_free(struct server **server)
{
	struct server *old = *server;

	if (!old)
		return;
	loop_source_free(&old->resume);
	loop_source_free(&old->source);
	close_socket(old);
	if (old->places)
		places_each(old->places, forget, old);
	places_free(&old->places);
	loop_source_free(&old->watch);
	loop_source_free(&old->rested);
	loop_source_free(&old->turn);
	cleanup_close(&old->turn_fd);
	free(old->path);
	free(old->group);
	free(old);
	*server = NULL;
}

void server_stats(const struct server *server, struct server_stats *stats)
{
	*stats = server->stats;
}
