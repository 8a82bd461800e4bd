/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/store/traffic_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "common/time.h"
#include "daemon/kernel/netns_procs.h"
#include "daemon/kernel/proc_net.h"

struct traffic_reader {
	const char *proc;
	struct traffic *traffic;
	struct netns_procs *procs; /* NULL: no reading is under way */
	uint32_t own;		   /* inode number of this process's namespace; 0: not known */
};

/* Only devices of the own namespace can be asked for their number. */
static uint32_t number_of(uint32_t netns, const char *name, void *userdata)
{
	const struct traffic_reader *reader = userdata;

	return netns == reader->own ? if_nametoindex(name) : 0;
}

int traffic_reader_new(struct traffic_reader **reader, const char *proc)
{
	struct traffic_reader *fresh = calloc(1, sizeof(*fresh));
	struct stat file;
	int r = fresh ? traffic_new(&fresh->traffic, number_of, fresh) : -ENOMEM;

	if (r < 0) {
		free(fresh);
		return r;
	}
	fresh->proc = proc;
	if (stat("/proc/self/ns/net", &file) == 0)
		fresh->own = (uint32_t)file.st_ino;
	*reader = fresh;
	return 0;
}

void traffic_reader_free(struct traffic_reader **reader)
{
	if (!*reader)
		return;
	netns_procs_free(&(*reader)->procs);
	traffic_free(&(*reader)->traffic);
	free(*reader);
	*reader = NULL;
}

void traffic_reader_begin(struct traffic_reader *reader)
{
	netns_procs_free(&reader->procs);
}

static int take_device(const struct proc_net_device *device, void *userdata)
{
	const struct traffic_reader *reader = userdata;
	const uint64_t value[TRAFFIC_VALUES] = {
		[TRAFFIC_RX_PACKETS] = device->rx_packets,
		[TRAFFIC_RX_BYTES] = device->rx_bytes,
		[TRAFFIC_TX_PACKETS] = device->tx_packets,
		[TRAFFIC_TX_BYTES] = device->tx_bytes,
	};

	return traffic_add(reader->traffic, device->name, value);
}

static int read_netns(uint32_t inode, int proc_net, void *userdata)
{
	struct traffic_reader *reader = userdata;

	traffic_add_netns(reader->traffic, inode);
	return proc_net_devices(proc_net, take_device, reader);
}

static void forget_netns(void *userdata)
{
	const struct traffic_reader *reader = userdata;

	traffic_forget_netns(reader->traffic);
}

static int begin(struct traffic_reader *reader)
{
	traffic_begin(reader->traffic, time_monotonic());
	return netns_procs_new(&reader->procs, reader->proc);
}

int traffic_reader_step(struct traffic_reader *reader, uint64_t deadline_ns,
			struct traffic_list *list)
{
	const struct netns_procs_visitor visitor = {read_netns, forget_netns, reader};
	int r = reader->procs ? 0 : begin(reader);

	if (r == 0)
		r = netns_procs_step(reader->procs, deadline_ns, &visitor);
	if (r > 0)
		return r;
	if (r == 0)
		r = traffic_end(reader->traffic, list);
	netns_procs_free(&reader->procs);
	return r;
}
