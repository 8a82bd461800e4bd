/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who is connected: a place for each connection, by user.  Decides who may connect, who loses a place in favour of
 * whom, whose turn it is, and whose unsent replies go first when they exceed the budget.  No I/O: the server acts on
 * the answers.
 */
#ifndef DAEMON_VARLINK_PLACES_H
#define DAEMON_VARLINK_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/cleanup.h"

struct client;
struct place;
struct places;

struct places_limits {
	unsigned int clients;
	/* Of `clients`, those that only uid 0 gets. */
	unsigned int root;
	/* The most for one user other than uid 0. */
	unsigned int user;
};

enum places_answer {
	PLACES_FREE,
	/* All places that this user may have are in use. */
	PLACES_FULL,
	/* This user has its share. */
	PLACES_USER_FULL,
};

/*
 * A connection can lose its place only after this time without a new call, so that a newcomer cannot disconnect a
 * client that has just arrived.
 */
#define PLACES_QUIET_NS 1000000000ULL

/* After a shorter call its user need not rest. */
#define PLACES_CHEAP_NS 5000000ULL

int places_new(struct places **places, const struct places_limits *limits);
void places_free(struct places **places);
/* New limits, for new connections: those that have a place keep it. */
void places_set_limits(struct places *places, const struct places_limits *limits);
#define OWN_PLACES CLEANUP(places_free)

/* The limits in force: a share for root or for a user that is too large is made smaller. */
const struct places_limits *places_limits(const struct places *places);

/* May one more connection of `uid` have a place? */
enum places_answer places_ask(const struct places *places, uid_t uid);

/*
 * The client that must go for a newcomer of `uid`: of the user with the most connections the one that has been quiet
 * for the longest time, first among those without a running call.  NULL: none; a user other than uid 0 gets no place
 * of a user that has hardly more.
 */
struct client *places_loser(const struct places *places, uid_t uid, uint64_t now);

/* The client with the most unsent bytes of the user with the most unsent bytes; NULL if nothing is unsent. */
struct client *places_largest(const struct places *places);

/* A connection, which counts; or one that is being refused, which does not.  -ENOMEM. */
int places_add(struct places *places, struct place **place, uid_t uid, bool counts);

/* The client of the place; NULL: it has none. */
void place_set_client(struct place *place, struct client *client);

/* From now on the client is being refused: it does not count, and has no turn. */
void place_uncount(struct places *places, struct place *place);
void place_remove(struct places *places, struct place **place);

/* Places that count, and those of clients that are being refused. */
unsigned int places_count(const struct places *places);
unsigned int places_refused(const struct places *places);

/* Call `each` for all clients.  It may remove that client, but no other. */
void places_each(struct places *places, void (*each)(struct client *client, void *userdata),
		 void *userdata);

/* ---- turns ---------------------------------------------------------------- */

/* The client of this place waits for a turn. */
void place_queue(struct places *places, struct place *place);

/* True if a client waits. */
bool places_waiting(const struct places *places);

/*
 * Take the next client: users take turns, and so do the clients of each.  A user that rests is passed over.  NULL: none
 * waits, or all users that wait rest, and *rest_ns is the time until the first of them does not.
 */
struct client *places_next(struct places *places, uint64_t now, uint64_t *rest_ns);

/*
 * A call of this user used the CPU for `took_ns` until `now`: the user rests for as long, so that others find the
 * thread free.
 */
void places_charge(struct places *places, uid_t uid, uint64_t now, uint64_t took_ns);

#endif
