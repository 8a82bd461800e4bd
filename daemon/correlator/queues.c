/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The datagrams in the queues of UDP sockets, in their order: sock_recv_length names the socket, not the datagram.
 *
 * All datagrams are in one ring.  A new one takes the place of the oldest of all, so that a socket which is never read
 * costs nothing more; a number that counts all that were ever added shows whether a place is still its own.
 */
#include <errno.h>
#include <stdlib.h>

#include "daemon/correlator/internal.h"

struct datagram {
	uint64_t number; /* from 1 on; 0: free */
	uint64_t skb, begin_ns;
	uint64_t next; /* of the same socket; 0: none yet */
};

struct queue {
	uint64_t sk;	      /* 0: free */
	uint64_t first, last; /* numbers, 0: empty */
	uint32_t
		read_before; /* reads that are to come of datagrams whose own address showed them */
	bool sure;	     /* all that is in the socket's queue is here */
	struct queue_read early; /* the last read that found nothing here; time 0: none */
};

struct queues {
	uint64_t added;
	uint64_t entries; /* of each array, a power of two */
	uint64_t used;	  /* entries of queue[] in use */
	uint32_t shift;
	struct datagram *datagram;
	struct queue *queue;
};

int queues_new(struct queues **queues, uint64_t entries)
{
	struct queues *fresh = calloc(1, sizeof(*fresh));

	if (!fresh)
		return -ENOMEM;
	fresh->entries = entries;
	fresh->shift = 64 - nf_log2(entries);
	fresh->datagram = calloc(entries, sizeof(*fresh->datagram));
	fresh->queue = calloc(entries, sizeof(*fresh->queue));
	if (!fresh->datagram || !fresh->queue) {
		queues_free(&fresh);
		return -ENOMEM;
	}
	*queues = fresh;
	return 0;
}

void queues_free(struct queues **queues)
{
	if (!*queues)
		return;
	free((*queues)->datagram);
	free((*queues)->queue);
	free(*queues);
	*queues = NULL;
}

/* Direct-mapped: a socket takes the place of another one, whose reads are then not known. */
static struct queue *queue_of(struct queues *q, uint64_t sk)
{
	return &q->queue[hash(sk, q->shift)];
}

static struct datagram *datagram_of(struct queues *q, uint64_t number)
{
	struct datagram *d = &q->datagram[number & (q->entries - 1)];

	return number && d->number == number ? d : NULL;
}

static struct queue *queue_for(struct queues *q, uint64_t sk)
{
	struct queue *queue = queue_of(q, sk);

	if (queue->sk != sk) {
		q->used += !queue->sk;
		*queue = (struct queue){.sk = sk};
	}
	return queue;
}

/* A read that found nothing, after the datagram was received and before it is announced. */
static bool was_read_early(struct queue *queue, uint64_t begin_ns, struct queue_read *read)
{
	*read = queue->early;
	queue->early.time_ns = 0;
	return read->time_ns > begin_ns;
}

bool queues_add(struct queues *q, uint64_t sk, uint64_t skb, uint64_t begin_ns,
		struct queue_read *read)
{
	struct queue *queue = queue_for(q, sk);
	struct datagram *last;

	if (was_read_early(queue, begin_ns, read))
		return true;
	last = datagram_of(q, queue->first) ? datagram_of(q, queue->last) : NULL;
	q->added++;
	q->datagram[q->added & (q->entries - 1)] =
		(struct datagram){.number = q->added, .skb = skb, .begin_ns = begin_ns};
	if (last)
		last->next = q->added;
	else
		queue->first = q->added;
	queue->last = q->added;
	return false;
}

void queues_only_newest(struct queues *q, uint64_t sk)
{
	struct queue *queue = queue_of(q, sk);

	if (queue->sk != sk || queue->sure)
		return;
	queue->first = queue->last;
	queue->read_before = 0;
	queue->sure = true;
}

static void pass_over_removed(struct queues *q, struct queue *queue)
{
	const struct datagram *d;

	while ((d = datagram_of(q, queue->first)) && !d->begin_ns)
		queue->first = d->next;
	if (!d)
		queue->first = queue->last = 0;
}

void queues_remove(struct queues *q, uint64_t sk, uint64_t skb)
{
	struct queue *queue = queue_of(q, sk);
	struct datagram *first = queue->sk == sk ? datagram_of(q, queue->first) : NULL;
	struct datagram *last = first ? datagram_of(q, queue->last) : NULL;

	/* The place of the newest stays, and is passed over when it is read. */
	if (last && last->skb == skb)
		last->begin_ns = 0;
	else if (first && first->skb == skb)
		first->begin_ns = 0;
	if (first)
		pass_over_removed(q, queue);
}

bool queues_take(struct queues *q, uint64_t sk, const struct queue_read *read, uint64_t *skb,
		 uint64_t *begin_ns)
{
	struct queue *queue = queue_for(q, sk);
	struct datagram *d;

	do {
		d = datagram_of(q, queue->first);
		queue->first = d ? d->next : 0;
	} while (d && !d->begin_ns);
	if (!queue->first)
		queue->last = 0;
	if (queue->read_before) {
		queue->read_before--;
		return false;
	}
	if (!d) {
		queue->early = *read;
		return false;
	}
	*skb = d->skb;
	*begin_ns = d->begin_ns;
	return true;
}

void queues_was_read(struct queues *q, uint64_t sk)
{
	struct queue *queue = queue_of(q, sk);

	if (queue->sk == sk)
		queue->read_before++;
}

void queues_doubt(struct queues *q)
{
	for (uint64_t i = 0; i < q->entries; i++)
		q->queue[i].sure = false;
}

uint64_t queues_entries(const struct queues *q)
{
	return q->entries;
}

uint64_t queues_used(const struct queues *q)
{
	return q->used;
}

uint64_t queues_bytes(const struct queues *q)
{
	return q->entries * (sizeof(*q->datagram) + sizeof(*q->queue));
}
