/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/elsewhere/scan.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/elsewhere/tally.h"
#include "daemon/kernel/hardware_traps.h"
#include "daemon/kernel/links.h"
#include "daemon/kernel/netlink.h"
#include "daemon/kernel/netns_walk.h"
#include "daemon/kernel/proc_net.h"
#include "daemon/kernel/xdp_sockets.h"

/* A dump that was disturbed is tried again this often; devices come and go all the time on some hosts. */
#define TRIES 3

struct scanner {
	struct tally *tally;
	bool asked_traps;
	uint16_t traps; /* the number of devlink's family; 0: the kernel has none */
	/* Of the namespace that is being read. */
	int route;
	uint64_t cookie;
	uint32_t netns, ifindex;
	struct link *links;
	size_t links_count, links_room;
	int error;
	bool kept; /* a namespace could not be read this time */
	struct elsewhere_findings *findings;
};

int scanner_new(struct scanner **scanner)
{
	struct scanner *fresh = calloc(1, sizeof(*fresh));
	int r = fresh ? tally_new(&fresh->tally) : -ENOMEM;

	if (r < 0)
		free(fresh);
	else
		*scanner = fresh;
	return r;
}

void scanner_free(struct scanner **scanner)
{
	if (!*scanner)
		return;
	tally_free(&(*scanner)->tally);
	free(*scanner);
	*scanner = NULL;
}

/* ---- devices ------------------------------------------------------------------- */

static void add_bypass(struct elsewhere_findings *findings, enum elsewhere_bypass_kind kind,
		       const struct elsewhere_bypass *bypass, uint32_t number, uint64_t count)
{
	if (!number)
		return;
	findings->bypass_count[kind] += count;
	/* Each container can have a packet socket, of its DHCP client for example. */
	if (findings->bypasses >= (kind == ELSEWHERE_PACKET_SOCKETS ? ELSEWHERE_BYPASSES_MAX / 2
								    : ELSEWHERE_BYPASSES_MAX))
		return;
	findings->bypass[findings->bypasses] = *bypass;
	findings->bypass[findings->bypasses].kind = kind;
	findings->bypass[findings->bypasses++].number = number;
}

static void add_programs(const struct scanner *scanner, const struct link *link)
{
	struct elsewhere_findings *findings = scanner->findings;
	struct elsewhere_bypass bypass = {.ifindex = link->ifindex, .netns = scanner->netns};

	_Static_assert(sizeof(bypass.device) == sizeof(link->name), "a name fits");
	memcpy(bypass.device, link->name, sizeof(bypass.device));
	add_bypass(findings, ELSEWHERE_XDP_NATIVE, &bypass, link->xdp_native, 1);
	add_bypass(findings, ELSEWHERE_XDP_OFFLOADED, &bypass, link->xdp_offloaded, 1);
	add_bypass(findings, ELSEWHERE_XDP_GENERIC, &bypass, link->xdp_generic, 1);
}

/*
 * rx_nohandler is left out: __netif_receive_skb_core() frees each of its packets with kfree_skb.  rx_errors and
 * tx_errors contain the counters after them, as far as a driver counts those.
 */
static int add_standard(struct tally *tally, const struct link *link)
{
	const struct rtnl_link_stats64 *stats = &link->stats;
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{"rx_dropped", stats->rx_dropped},
		{"tx_dropped", stats->tx_dropped},
		{"rx_missed_errors", stats->rx_missed_errors},
		{"rx_errors", stats->rx_errors},
		{"rx_length_errors", stats->rx_length_errors},
		{"rx_over_errors", stats->rx_over_errors},
		{"rx_crc_errors", stats->rx_crc_errors},
		{"rx_frame_errors", stats->rx_frame_errors},
		{"rx_fifo_errors", stats->rx_fifo_errors},
		{"tx_errors", stats->tx_errors},
		{"tx_aborted_errors", stats->tx_aborted_errors},
		{"tx_carrier_errors", stats->tx_carrier_errors},
		{"tx_fifo_errors", stats->tx_fifo_errors},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(counters); i++)
		r = tally_add_counter(tally, ELSEWHERE_LINK, link->ifindex, NULL, counters[i].name,
				      0, counters[i].value);
	return r;
}

static int take_driver_counter(const char *name, uint64_t value, void *userdata)
{
	const struct scanner *scanner = userdata;
	char counter[ELSEWHERE_NAME_MAX];

	if (!value || !elsewhere_driver_counter(name, counter))
		return 0;
	return tally_add_counter(scanner->tally, ELSEWHERE_DRIVER, scanner->ifindex, NULL, counter,
				 0, value);
}

static int add_link(struct scanner *scanner, const struct link *link)
{
	struct tally_place place = {
		.cookie = scanner->cookie, .netns = scanner->netns, .ifindex = link->ifindex};
	int r;

	_Static_assert(sizeof(place.name) == sizeof(link->name) &&
			       sizeof(place.kind) == sizeof(link->kind),
		       "the names fit");
	memcpy(place.name, link->name, sizeof(place.name));
	memcpy(place.kind, link->kind, sizeof(place.kind));
	memcpy(place.mac, link->mac, sizeof(place.mac));
	scanner->ifindex = link->ifindex;
	r = link_counters(scanner->route, link->name, take_driver_counter, scanner);
	if (r == -ENOMEM)
		return r;
	place.unread = r < 0 && r != -EOPNOTSUPP ? TALLY_SOURCE(ELSEWHERE_DRIVER) : 0;
	r = tally_add_place(scanner->tally, &place);
	if (r == 0)
		r = add_standard(scanner->tally, link);
	add_programs(scanner, link);
	return r;
}

static int take_link(const struct link *link, void *userdata)
{
	struct scanner *scanner = userdata;

	if (ARRAY_GROW(scanner->links, scanner->links_count, scanner->links_room) < 0)
		return -ENOMEM;
	scanner->links[scanner->links_count++] = *link;
	return 0;
}

static int list_links(struct scanner *scanner)
{
	int r = -EAGAIN;

	for (int i = 0; r == -EAGAIN && i < TRIES; i++) {
		scanner->links_count = 0;
		r = links_visit(scanner->route, take_link, scanner);
	}
	return r;
}

/* All devices, or none: a list that a change disturbed lacks some, or has some twice. */
static int scan_links(struct scanner *scanner)
{
	int r;

	scanner->route = netlink_open(NETLINK_ROUTE);
	if (scanner->route < 0)
		return scanner->route;
	r = list_links(scanner);
	for (size_t i = 0; r == 0 && i < scanner->links_count; i++)
		r = add_link(scanner, &scanner->links[i]);
	close(scanner->route);
	return r;
}

/* ---- sockets, hardware, TCP -------------------------------------------------------- */

static void add_socket(const struct xdp_socket *one, void *userdata)
{
	struct scanner *scanner = userdata;
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {{"rx_dropped", one->rx_dropped},
			{"rx_ring_full", one->rx_ring_full},
			{"rx_invalid_descs", one->rx_invalid},
			{"tx_invalid_descs", one->tx_invalid}};

	for (size_t i = 0; scanner->error == 0 && i < ARRAY_SIZE(counters); i++)
		scanner->error =
			tally_add_counter(scanner->tally, ELSEWHERE_XSK, one->ifindex, NULL,
					  counters[i].name, one->inode, counters[i].value);
}

/* The kernel counts the sockets also if it cannot list them. */
static int scan_sockets(struct scanner *scanner, int proc_net)
{
	const struct elsewhere_bypass bypass = {.netns = scanner->netns};
	uint32_t sockets = 0;
	OWN_FD int fd = -1;

	if (proc_net_sockets(proc_net, "PACKET", &sockets) == 0)
		add_bypass(scanner->findings, ELSEWHERE_PACKET_SOCKETS, &bypass, sockets, sockets);
	if (proc_net_sockets(proc_net, "XDP", &sockets) < 0 || !sockets)
		return 0;
	add_bypass(scanner->findings, ELSEWHERE_XDP_SOCKETS, &bypass, sockets, sockets);
	fd = netlink_open(NETLINK_SOCK_DIAG);
	if (fd >= 0)
		(void)xdp_sockets_visit(fd, add_socket, scanner);
	return scanner->error;
}

static void add_trap(const struct hardware_trap *trap, void *userdata)
{
	struct scanner *scanner = userdata;

	if (scanner->error == 0)
		scanner->error = tally_add_counter(scanner->tally, ELSEWHERE_TRAP, 0, trap->device,
						   trap->name, 0, trap->trapped + trap->dropped);
}

/* The kernel tries to load a module for a family that it does not know, so it is asked once. */
static int scan_traps(struct scanner *scanner)
{
	OWN_FD int fd = -1;

	if (scanner->asked_traps && !scanner->traps)
		return 0;
	fd = netlink_open(NETLINK_GENERIC);
	if (fd < 0)
		return 0;
	if (!scanner->asked_traps)
		(void)hardware_traps_family(fd, &scanner->traps);
	scanner->asked_traps = true;
	if (scanner->traps)
		(void)hardware_traps_visit(fd, scanner->traps, add_trap, scanner);
	return scanner->error;
}

static void add_tcp(const char *name, uint64_t value, void *userdata)
{
	static const char *const counted[] = {"ListenOverflows", "ListenDrops", "TCPReqQFullDrop"};
	struct scanner *scanner = userdata;

	for (size_t i = 0; i < ARRAY_SIZE(counted); i++)
		if (!strcmp(counted[i], name) && scanner->error == 0)
			scanner->error = tally_add_counter(scanner->tally, ELSEWHERE_TCP, 0, NULL,
							   name, 0, value);
}

/* ---- a namespace -------------------------------------------------------------------- */

static int scan_entered(struct scanner *scanner, int proc_net)
{
	int r = scan_links(scanner);

	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		scanner->kept = true;
		return tally_keep(scanner->tally);
	}
	r = scan_traps(scanner);
	return r < 0 ? r : scan_sockets(scanner, proc_net);
}

static int scan_namespace(const struct netns_visit *at, void *userdata)
{
	struct scanner *scanner = userdata;
	const struct tally_place place = {
		.cookie = at->cookie, .netns = at->inode, .closed = !at->entered};
	int r = tally_add_place(scanner->tally, &place);

	scanner->cookie = at->cookie;
	scanner->netns = at->inode;
	if (r == 0 && at->proc_net >= 0)
		(void)proc_net_counters(at->proc_net, "TcpExt", add_tcp, scanner);
	if (r == 0)
		r = scanner->error;
	return r == 0 && at->entered ? scan_entered(scanner, at->proc_net) : r;
}

/* ---- findings ------------------------------------------------------------------------ */

void elsewhere_findings_free(struct elsewhere_findings **findings)
{
	if (!*findings)
		return;
	free((*findings)->row);
	free((*findings)->total);
	free(*findings);
	*findings = NULL;
}

static void name_device(const struct tally *tally, const struct tally_key *key,
			const struct tally_place *place, char device[static ELSEWHERE_LABEL_MAX])
{
	if (key->label)
		snprintf(device, ELSEWHERE_LABEL_MAX, "%s", tally_name(tally, key->label));
	else if (place)
		snprintf(device, ELSEWHERE_LABEL_MAX, "%s", place->name);
}

static void make_row(const struct tally *tally, const struct tally_counter *counter,
		     struct elsewhere_row *row)
{
	const struct tally_place *place = tally_place(tally, &counter->key);

	*row = (struct elsewhere_row){
		.source = counter->key.source,
		.ifindex = counter->key.ifindex,
		.netns = counter->key.netns,
		.packets = counter->sum,
		.moved_ns = counter->moved_ns,
		.judgement = counter->judgement,
	};
	snprintf(row->counter, sizeof(row->counter), "%s", tally_name(tally, counter->key.name));
	name_device(tally, &counter->key, place, row->device);
}

static bool same_row(const struct elsewhere_row *a, const struct elsewhere_row *b)
{
	return a->source == b->source && a->netns == b->netns && a->ifindex == b->ifindex &&
	       !strcmp(a->counter, b->counter) && !strcmp(a->device, b->device);
}

static int add_row(struct elsewhere_findings *findings, size_t *room,
		   const struct elsewhere_row *row)
{
	struct elsewhere_row *last = findings->rows ? &findings->row[findings->rows - 1] : NULL;

	if (last && same_row(last, row)) {
		last->packets += row->packets;
		if (row->moved_ns > last->moved_ns)
			last->moved_ns = row->moved_ns;
		return 0;
	}
	if (ARRAY_GROW(findings->row, findings->rows, *room) < 0)
		return -ENOMEM;
	findings->row[findings->rows++] = *row;
	return 0;
}

static int add_total(struct elsewhere_findings *findings, size_t *room,
		     const struct elsewhere_row *row)
{
	struct elsewhere_row *total = findings->total;
	size_t i = 0;

	while (i < findings->totals &&
	       (total[i].source != row->source || total[i].judgement != row->judgement ||
		strcmp(total[i].counter, row->counter) != 0))
		i++;
	if (i < findings->totals) {
		total[i].packets += row->packets;
		return 0;
	}
	if (ARRAY_GROW(findings->total, findings->totals, *room) < 0)
		return -ENOMEM;
	total = &findings->total[findings->totals++];
	*total = *row;
	total->device[0] = '\0';
	total->ifindex = total->netns = 0;
	return 0;
}

/* Faults first.  Of counters with as many packets the one that elsewhere_judge() knows more precisely is first. */
static int by_weight(const void *x, const void *y)
{
	const struct elsewhere_row *a = x, *b = y;
	bool a_fault = a->judgement->class == KNOWLEDGE_FAULT;

	if (a_fault != (b->judgement->class == KNOWLEDGE_FAULT))
		return a_fault ? -1 : 1;
	if (a->packets != b->packets)
		return a->packets < b->packets ? 1 : -1;
	if (a->judgement != b->judgement)
		return a->judgement < b->judgement ? -1 : 1;
	return strcmp(a->counter, b->counter);
}

/* All counters that moved. */
static int add_rows(const struct tally *tally, struct elsewhere_findings *findings)
{
	size_t all = tally_count(tally) + tally_gone_count(tally), rows = 0, totals = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < all; i++) {
		bool gone = i >= tally_count(tally);
		const struct tally_counter *counter =
			gone ? tally_gone_at(tally, i - tally_count(tally)) : tally_at(tally, i);
		struct elsewhere_row row;

		if (!counter->sum)
			continue;
		make_row(tally, counter, &row);
		row.gone = gone;
		r = add_row(findings, &rows, &row);
		if (r == 0)
			r = add_total(findings, &totals, &row);
	}
	return r;
}

static void trim(struct elsewhere_findings *findings)
{
	struct elsewhere_row *smaller;

	if (findings->rows)
		qsort(findings->row, findings->rows, sizeof(findings->row[0]), by_weight);
	if (findings->rows > ELSEWHERE_ROWS_MAX) {
		findings->rows_left_out = findings->rows - ELSEWHERE_ROWS_MAX;
		findings->rows = ELSEWHERE_ROWS_MAX;
	}
	smaller = reallocarray(findings->row, findings->rows + 1, sizeof(*smaller));
	if (smaller)
		findings->row = smaller;
	smaller = reallocarray(findings->total, findings->totals + 1, sizeof(*smaller));
	if (smaller)
		findings->total = smaller;
}

static void explain_closed(const struct netns_walk *walk, struct elsewhere_findings *findings)
{
	findings->closed = walk->refused + walk->skipped;
	if (walk->blind)
		snprintf(
			findings->closed_why, sizeof(findings->closed_why),
			"the namespaces of other users' processes are hidden; give netflowd CAP_SYS_PTRACE");
	else if (walk->refused)
		snprintf(
			findings->closed_why, sizeof(findings->closed_why),
			"%zu of %zu network namespaces cannot be entered: %s; give netflowd CAP_SYS_ADMIN",
			walk->refused, walk->namespaces, strerror(-walk->refused_error));
	else if (walk->skipped)
		snprintf(findings->closed_why, sizeof(findings->closed_why),
			 "more than %d network namespaces: %zu are not read", NETNS_WALK_MAX,
			 walk->skipped);
}

static uint64_t thread_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * TIME_NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static int scan(struct scanner *scanner, const atomic_bool *stop,
		struct elsewhere_findings *findings)
{
	struct netns_walk walk;
	int r;

	tally_begin(scanner->tally, findings->begun_ns);
	r = netns_walk(&walk, "/proc", stop, scan_namespace, scanner);
	if (r == 0)
		r = tally_end(scanner->tally, !walk.blind && !walk.skipped && !scanner->kept);
	if (r < 0)
		return r;
	findings->namespaces = walk.namespaces;
	findings->devices = tally_places(scanner->tally) -
			    (walk.namespaces < tally_places(scanner->tally) ? walk.namespaces : 0);
	findings->left_out = tally_left_out(scanner->tally);
	explain_closed(&walk, findings);
	return add_rows(scanner->tally, findings);
}

int scanner_run(struct scanner *scanner, const atomic_bool *stop,
		struct elsewhere_findings **findings)
{
	OWN_FINDINGS struct elsewhere_findings *fresh = calloc(1, sizeof(*fresh));
	uint64_t cpu_ns = thread_cpu_ns();
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->begun_ns = time_monotonic();
	scanner->findings = fresh;
	scanner->error = 0;
	scanner->kept = false;
	r = scan(scanner, stop, fresh);
	scanner->findings = NULL;
	free(scanner->links);
	scanner->links = NULL;
	scanner->links_count = scanner->links_room = 0;
	if (r < 0)
		return r;
	trim(fresh);
	fresh->cpu_ns = thread_cpu_ns() - cpu_ns;
	fresh->wall_ns = time_monotonic() - fresh->begun_ns;
	*findings = TAKE_PTR(fresh);
	return 0;
}
