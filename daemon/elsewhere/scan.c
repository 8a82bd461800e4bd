/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/elsewhere/scan.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/array.h"
#include "common/time.h"
#include "daemon/elsewhere/findings.h"
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

static void add_program(struct scanner *scanner, const struct link *link,
			enum elsewhere_bypass_kind kind, uint32_t number)
{
	struct elsewhere_bypass bypass = {
		.kind = kind, .ifindex = link->ifindex, .netns = scanner->netns, .number = number};

	_Static_assert(sizeof(bypass.device) == sizeof(link->name), "a name fits");
	memcpy(bypass.device, link->name, sizeof(bypass.device));
	if (number)
		findings_add_bypass(scanner->findings, &bypass, 1);
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

/* Some counters could not be read. */
static void note_unread(struct scanner *scanner, int error)
{
	scanner->findings->unread++;
	scanner->findings->unread_error = error;
}

static void unread(struct scanner *scanner, enum elsewhere_source source, int error)
{
	tally_unread(scanner->tally, source);
	note_unread(scanner, error);
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
	if (r < 0 && r != -EOPNOTSUPP) {
		place.unread = TALLY_SOURCE(ELSEWHERE_DRIVER);
		/* A device that was deleted since it was listed is not missed. */
		if (r != -ENODEV)
			note_unread(scanner, r);
	}
	r = tally_add_place(scanner->tally, &place);
	if (r == 0)
		r = add_standard(scanner->tally, link);
	add_program(scanner, link, ELSEWHERE_XDP_NATIVE, link->xdp_native);
	add_program(scanner, link, ELSEWHERE_XDP_OFFLOADED, link->xdp_offloaded);
	add_program(scanner, link, ELSEWHERE_XDP_GENERIC, link->xdp_generic);
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

/*
 * Read a list, and again if it changed while the kernel sent it.  `read` is a function of the scanner that returns the
 * error of netlink_ask(), and `forget` takes back what it found.
 */
static int read_list(struct scanner *scanner, int fd, int (*read)(struct scanner *scanner, int fd),
		     void (*forget)(struct scanner *scanner))
{
	int r = read(scanner, fd);

	for (int i = 1; r == -EAGAIN && i < TRIES; i++) {
		scanner->findings->repeated++;
		forget(scanner);
		r = read(scanner, fd);
	}
	return r;
}

static int read_links(struct scanner *scanner, int fd)
{
	return links_visit(fd, take_link, scanner);
}

static void forget_links(struct scanner *scanner)
{
	scanner->links_count = 0;
}

/* All devices, or none: a list that a change disturbed lacks some, or has some twice. */
static int scan_links(struct scanner *scanner)
{
	int r;

	scanner->route = netlink_open(NETLINK_ROUTE);
	if (scanner->route < 0)
		return scanner->route;
	forget_links(scanner);
	r = read_list(scanner, scanner->route, read_links, forget_links);
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

static int read_sockets(struct scanner *scanner, int fd)
{
	return xdp_sockets_visit(fd, add_socket, scanner);
}

static void forget_sockets(struct scanner *scanner)
{
	tally_discard(scanner->tally, ELSEWHERE_XSK);
}

static void add_sockets(struct scanner *scanner, enum elsewhere_bypass_kind kind, uint32_t sockets)
{
	const struct elsewhere_bypass bypass = {
		.kind = kind, .netns = scanner->netns, .number = sockets};

	if (sockets)
		findings_add_bypass(scanner->findings, &bypass, sockets);
}

/* The kernel counts the sockets also if it cannot list them. */
static int scan_sockets(struct scanner *scanner, int proc_net)
{
	uint32_t sockets = 0;
	OWN_FD int fd = -1;
	int r = proc_net_sockets(proc_net, "PACKET", &sockets);

	if (r == 0)
		add_sockets(scanner, ELSEWHERE_PACKET_SOCKETS, sockets);
	if (r == 0)
		r = proc_net_sockets(proc_net, "XDP", &sockets);
	if (r == 0 && !sockets)
		return 0;
	if (r == 0) {
		add_sockets(scanner, ELSEWHERE_XDP_SOCKETS, sockets);
		fd = netlink_open(NETLINK_SOCK_DIAG);
		r = fd < 0 ? fd : read_list(scanner, fd, read_sockets, forget_sockets);
	}
	if (r < 0)
		unread(scanner, ELSEWHERE_XSK, r);
	return scanner->error;
}

static void add_trap(const struct hardware_trap *trap, void *userdata)
{
	struct scanner *scanner = userdata;

	if (scanner->error == 0)
		scanner->error = tally_add_counter(scanner->tally, ELSEWHERE_TRAP, 0, trap->device,
						   trap->name, 0, trap->trapped + trap->dropped);
}

static int read_traps(struct scanner *scanner, int fd)
{
	return hardware_traps_visit(fd, scanner->traps, add_trap, scanner);
}

static void forget_traps(struct scanner *scanner)
{
	tally_discard(scanner->tally, ELSEWHERE_TRAP);
}

/* The kernel tries to load a module for a family that it does not know, so it is asked once. */
static int find_traps(struct scanner *scanner, int fd)
{
	int r = scanner->asked_traps ? 0 : hardware_traps_family(fd, &scanner->traps);

	scanner->asked_traps = r == 0 || r == -ENOENT;
	return scanner->asked_traps ? 0 : r;
}

static int scan_traps(struct scanner *scanner)
{
	OWN_FD int fd = -1;
	int r;

	if (scanner->asked_traps && !scanner->traps)
		return 0;
	fd = netlink_open(NETLINK_GENERIC);
	r = fd < 0 ? fd : find_traps(scanner, fd);
	if (r == 0 && scanner->traps)
		r = read_list(scanner, fd, read_traps, forget_traps);
	if (r < 0)
		unread(scanner, ELSEWHERE_TRAP, r);
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
		scanner->findings->kept++;
		scanner->findings->unread_error = r;
		return tally_keep(scanner->tally);
	}
	r = scan_traps(scanner);
	return r < 0 ? r : scan_sockets(scanner, proc_net);
}

/*
 * By name and without the kind and the number of the device, so these are counters of the namespace with the device as
 * their label.  The file adds rx_missed_errors to rx_dropped, so the sum has the weaker name, and the same judgement.
 */
static int take_named_device(const struct proc_net_device *device, void *userdata)
{
	const struct scanner *scanner = userdata;
	const struct {
		const char *name;
		uint64_t value;
	} counters[] = {
		{"rx_dropped", device->rx_dropped},  {"tx_dropped", device->tx_dropped},
		{"rx_errors", device->rx_errors},    {"tx_errors", device->tx_errors},
		{"rx_fifo_errors", device->rx_fifo}, {"rx_frame_errors", device->rx_frame},
		{"tx_fifo_errors", device->tx_fifo}, {"tx_carrier_errors", device->tx_carrier},
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(counters); i++)
		r = tally_add_counter(scanner->tally, ELSEWHERE_LINK, 0, device->name,
				      counters[i].name, 0, counters[i].value);
	return r;
}

/*
 * A namespace that cannot be entered: one of its processes shows the devices' standard counters, and how many sockets
 * pass the probes.  What a device had counted when it is first seen is not new, unless its namespace is.
 */
static int scan_closed(struct scanner *scanner, int proc_net)
{
	uint32_t packet = 0, xdp = 0;
	int r = proc_net_devices(proc_net, take_named_device, scanner);

	if (r == -ENOMEM)
		return r;
	if (r == 0)
		r = proc_net_sockets(proc_net, "PACKET", &packet);
	if (r == 0)
		r = proc_net_sockets(proc_net, "XDP", &xdp);
	/* The process has ended. */
	if (r < 0) {
		tally_unread(scanner->tally, ELSEWHERE_LINK);
		return 0;
	}
	add_sockets(scanner, ELSEWHERE_PACKET_SOCKETS, packet);
	add_sockets(scanner, ELSEWHERE_XDP_SOCKETS, xdp);
	scanner->findings->outside++;
	return 0;
}

static int scan_namespace(const struct netns_visit *at, void *userdata)
{
	struct scanner *scanner = userdata;
	const struct tally_place place = {
		.cookie = at->cookie, .netns = at->inode, .closed = !at->entered};
	int r = tally_add_place(scanner->tally, &place);

	scanner->cookie = at->cookie;
	scanner->netns = at->inode;
	if (r < 0)
		return r;
	r = proc_net_counters(at->proc_net, "TcpExt", add_tcp, scanner);
	/* A process that shows a closed namespace can have ended. */
	if (r < 0 && at->entered)
		unread(scanner, ELSEWHERE_TCP, r);
	else if (r < 0)
		tally_unread(scanner->tally, ELSEWHERE_TCP);
	r = scanner->error;
	if (r < 0)
		return r;
	return at->entered ? scan_entered(scanner, at->proc_net)
			   : scan_closed(scanner, at->proc_net);
}

/* ---- a scan ---------------------------------------------------------------------------- */

static const char *why_unread(int error)
{
	return error == -EAGAIN ? "they changed each time that netflowd read them"
				: strerror(-error);
}

static void explain_closed(const struct netns_walk *walk, struct elsewhere_findings *findings)
{
	findings->closed = walk->refused + walk->skipped + findings->kept;
	if (walk->blind)
		snprintf(
			findings->closed_why, sizeof(findings->closed_why),
			"the namespaces of other users' processes are hidden; give netflowd CAP_SYS_PTRACE");
	else if (walk->refused)
		snprintf(
			findings->closed_why, sizeof(findings->closed_why),
			"%zu of %zu network namespaces cannot be entered: %s; of %zu of them the standard counters are read, but not those of drivers and XDP; give netflowd CAP_SYS_ADMIN",
			walk->refused, walk->namespaces, strerror(-walk->refused_error),
			findings->outside);
	else if (walk->skipped)
		snprintf(findings->closed_why, sizeof(findings->closed_why),
			 "more than %d network namespaces: %zu are not read", NETNS_WALK_MAX,
			 walk->skipped);
	else if (findings->kept)
		snprintf(
			findings->closed_why, sizeof(findings->closed_why),
			"the devices of %zu network namespaces could not be read in the last scan: %s; their counters are those of an earlier one",
			findings->kept, why_unread(findings->unread_error));
	else if (findings->unread)
		snprintf(
			findings->closed_why, sizeof(findings->closed_why),
			"some counters of %zu devices and namespaces could not be read in the last scan: %s",
			findings->unread, why_unread(findings->unread_error));
}

static int scan(struct scanner *scanner, const atomic_bool *stop,
		struct elsewhere_findings *findings)
{
	struct netns_walk walk;
	int r;

	tally_begin(scanner->tally, findings->begun_ns);
	r = netns_walk(&walk, "/proc", stop, scan_namespace, scanner);
	if (r == 0)
		r = tally_end(scanner->tally, !walk.blind && !walk.skipped);
	if (r < 0)
		return r;
	findings->namespaces = walk.namespaces;
	findings->devices = tally_devices(scanner->tally);
	findings->left_out = tally_left_out(scanner->tally);
	explain_closed(&walk, findings);
	return findings_add(findings, scanner->tally);
}

int scanner_run(struct scanner *scanner, const atomic_bool *stop,
		struct elsewhere_findings **findings)
{
	OWN_FINDINGS struct elsewhere_findings *fresh = calloc(1, sizeof(*fresh));
	uint64_t cpu_ns = time_thread_cpu();
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->begun_ns = time_monotonic();
	scanner->findings = fresh;
	scanner->error = 0;
	r = scan(scanner, stop, fresh);
	scanner->findings = NULL;
	free(scanner->links);
	scanner->links = NULL;
	scanner->links_count = scanner->links_room = 0;
	if (r < 0)
		return r;
	fresh->cpu_ns = time_thread_cpu() - cpu_ns;
	fresh->wall_ns = time_monotonic() - fresh->begun_ns;
	*findings = TAKE_PTR(fresh);
	return 0;
}
