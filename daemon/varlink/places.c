/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/varlink/places.h"

#include <errno.h>
#include <stdlib.h>

#include "common/array.h"
#include "daemon/varlink/client.h"

/* A queue of the clients of one user, or of the users that have a client in such a queue. */
struct link {
	struct link *next;
};

struct queue {
	struct link *first, *last;
};

struct user {
	struct link link; /* in places.users_ready */
	struct user *next;
	uid_t uid;
	/* Places that count; a user without any is freed. */
	unsigned int clients;
	struct queue ready;
	/* No turn before that. */
	uint64_t rests_until_ns;
};

struct place {
	struct link link; /* in user.ready */
	struct place *next, **self;
	struct client *client;
	/* NULL: the client is being refused. */
	struct user *user;
	bool queued;
};

struct places {
	struct places_limits limits;
	unsigned int count, strangers, refused;
	struct place *first;
	struct user *users;
	struct queue users_ready;
};

/* ---- queues --------------------------------------------------------------- */

static void push(struct queue *queue, struct link *link)
{
	link->next = NULL;
	if (queue->last)
		queue->last->next = link;
	else
		queue->first = link;
	queue->last = link;
}

static struct link *pop(struct queue *queue)
{
	struct link *link = queue->first;

	if (!link)
		return NULL;
	queue->first = link->next;
	if (!queue->first)
		queue->last = NULL;
	return link;
}

static void take_out(struct queue *queue, struct link *link)
{
	struct link **at = &queue->first, *before = NULL;

	while (*at && *at != link) {
		before = *at;
		at = &(*at)->next;
	}
	if (!*at)
		return;
	*at = link->next;
	if (queue->last == link)
		queue->last = before;
}

static struct place *place_of(struct link *link)
{
	return (struct place *)(void *)((char *)link - offsetof(struct place, link));
}

static struct user *user_of(struct link *link)
{
	return (struct user *)(void *)((char *)link - offsetof(struct user, link));
}

/* ---- users ---------------------------------------------------------------- */

static struct user *find_user(const struct places *places, uid_t uid)
{
	struct user *user = places->users;

	while (user && user->uid != uid)
		user = user->next;
	return user;
}

static unsigned int clients_of(const struct places *places, uid_t uid)
{
	const struct user *user = find_user(places, uid);

	return user ? user->clients : 0;
}

static struct user *get_user(struct places *places, uid_t uid)
{
	struct user *user = find_user(places, uid);

	if (user)
		return user;
	user = calloc(1, sizeof(*user));
	if (!user)
		return NULL;
	user->uid = uid;
	user->next = places->users;
	places->users = user;
	return user;
}

static void drop_user(struct places *places, struct user *user)
{
	struct user **at = &places->users;

	while (*at != user)
		at = &(*at)->next;
	*at = user->next;
	free(user);
}

/* ---- places --------------------------------------------------------------- */

void places_set_limits(struct places *places, const struct places_limits *limits)
{
	struct places_limits *to = &places->limits;

	*to = *limits;
	if (to->root > limits->clients / 2)
		to->root = limits->clients / 2;
	if (!limits->user || limits->user > limits->clients - to->root)
		to->user = limits->clients - to->root;
}

int places_new(struct places **places, const struct places_limits *limits)
{
	struct places *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	places_set_limits(new, limits);
	*places = new;
	return 0;
}

void places_free(struct places **places)
{
	free(*places);
	*places = NULL;
}

const struct places_limits *places_limits(const struct places *places)
{
	return &places->limits;
}

enum places_answer places_ask(const struct places *places, uid_t uid)
{
	const struct places_limits *limits = &places->limits;

	if (uid != 0 && clients_of(places, uid) >= limits->user)
		return PLACES_USER_FULL;
	if (places->count >= limits->clients)
		return PLACES_FULL;
	if (uid != 0 && places->strangers >= limits->clients - limits->root)
		return PLACES_FULL;
	return PLACES_FREE;
}

int places_add(struct places *places, struct place **place, uid_t uid, bool counts)
{
	OWN_FREE struct place *new = calloc(1, sizeof(*new));

	if (!new)
		return -ENOMEM;
	if (counts) {
		new->user = get_user(places, uid);
		if (!new->user)
			return -ENOMEM;
		new->user->clients++;
		places->count++;
		places->strangers += uid != 0;
	} else {
		places->refused++;
	}
	new->next = places->first;
	if (new->next)
		new->next->self = &new->next;
	new->self = &places->first;
	places->first = new;
	*place = TAKE_PTR(new);
	return 0;
}

void place_set_client(struct place *place, struct client *client)
{
	place->client = client;
}

static void leave_user(struct places *places, struct place *place)
{
	struct user *user = place->user;

	if (place->queued) {
		take_out(&user->ready, &place->link);
		if (!user->ready.first)
			take_out(&places->users_ready, &user->link);
	}
	place->queued = false;
	place->user = NULL;
	places->count--;
	places->strangers -= user->uid != 0;
	if (--user->clients == 0)
		drop_user(places, user);
}

void place_uncount(struct places *places, struct place *place)
{
	if (!place->user)
		return;
	leave_user(places, place);
	places->refused++;
}

void place_remove(struct places *places, struct place **place)
{
	struct place *old = *place;

	if (old->user)
		leave_user(places, old);
	else
		places->refused--;
	*old->self = old->next;
	if (old->next)
		old->next->self = old->self;
	free(old);
	*place = NULL;
}

unsigned int places_count(const struct places *places)
{
	return places->count;
}

unsigned int places_refused(const struct places *places)
{
	return places->refused;
}

void places_each(struct places *places, void (*each)(struct client *client, void *userdata),
		 void *userdata)
{
	for (struct place *place = places->first, *next; place; place = next) {
		next = place->next;
		if (place->client)
			each(place->client, userdata);
	}
}

/* ---- who loses ------------------------------------------------------------ */

static const struct user *most_clients(const struct places *places, bool root)
{
	const struct user *most = NULL;

	for (const struct user *user = places->users; user; user = user->next)
		if ((root || user->uid != 0) && (!most || user->clients > most->clients))
			most = user;
	return most;
}

struct client *places_loser(const struct places *places, uid_t uid, uint64_t now)
{
	/* Only root's newcomers may have places of root. */
	const struct user *most = most_clients(places, uid == 0);
	const struct place *loser = NULL;

	if (!most || (uid != 0 && most->clients <= clients_of(places, uid) + 1))
		return NULL;
	for (const struct place *place = places->first; place; place = place->next) {
		const struct client *client = place->client;

		if (place->user != most || !client || now - client_since(client) < PLACES_QUIET_NS)
			continue;
		if (!loser || (client_idle(client) && !client_idle(loser->client)) ||
		    (client_idle(client) == client_idle(loser->client) &&
		     client_since(client) < client_since(loser->client)))
			loser = place;
	}
	return loser ? loser->client : NULL;
}

static size_t unsent_of(const struct places *places, const struct user *user)
{
	size_t sum = 0;

	for (const struct place *place = places->first; place; place = place->next)
		if (place->user == user && place->client)
			sum += client_unsent(place->client);
	return sum;
}

struct client *places_largest(const struct places *places)
{
	const struct place *largest = NULL;
	const struct user *most = NULL;
	size_t most_bytes = 0;

	for (const struct user *user = places->users; user; user = user->next) {
		size_t bytes = unsent_of(places, user);

		if (bytes > most_bytes) {
			most = user;
			most_bytes = bytes;
		}
	}
	for (const struct place *place = places->first; most && place; place = place->next)
		if (place->user == most && place->client &&
		    (!largest || client_unsent(place->client) > client_unsent(largest->client)))
			largest = place;
	return largest ? largest->client : NULL;
}

/* ---- turns ---------------------------------------------------------------- */

void place_queue(struct places *places, struct place *place)
{
	struct user *user = place->user;

	if (!user || place->queued)
		return;
	place->queued = true;
	if (!user->ready.first)
		push(&places->users_ready, &user->link);
	push(&user->ready, &place->link);
}

bool places_waiting(const struct places *places)
{
	return places->users_ready.first;
}

struct client *places_next(struct places *places, uint64_t now, uint64_t *rest_ns)
{
	struct user *user = NULL;
	struct place *place;

	*rest_ns = UINT64_MAX;
	for (struct link *link = places->users_ready.first; link && !user; link = link->next) {
		struct user *next = user_of(link);

		if (next->rests_until_ns <= now)
			user = next;
		else if (next->rests_until_ns - now < *rest_ns)
			*rest_ns = next->rests_until_ns - now;
	}
	if (!user)
		return NULL;
	take_out(&places->users_ready, &user->link);
	place = place_of(pop(&user->ready));
	place->queued = false;
	if (user->ready.first)
		push(&places->users_ready, &user->link);
	return place->client;
}

void places_charge(struct places *places, uid_t uid, uint64_t now, uint64_t took_ns)
{
	struct user *user = find_user(places, uid);

	if (user && took_ns >= PLACES_CHEAP_NS)
		user->rests_until_ns = now + took_ns;
}
