/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/elsewhere/judge.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "common/array.h"

const char *const elsewhere_source_names[ELSEWHERE_SOURCES] = {
	[ELSEWHERE_LINK] = "link", [ELSEWHERE_DRIVER] = "driver", [ELSEWHERE_XSK] = "xsk",
	[ELSEWHERE_TCP] = "tcp",   [ELSEWHERE_TRAP] = "trap",
};

#define HARDWARE "" /* the kind of a device whose driver names none */
#define ANY "*"

/*
 * The first row that fits counts.  The facts are those of Linux 5.10, 6.1, 6.12 and 7.3.
 */
static const struct row {
	enum elsewhere_source source;
	const char *kind, *counter; /* patterns of fnmatch(3) */
	struct elsewhere_judgement judgement;
} rows[] = {
	/* The network card has no room for the packet, so that it never becomes an skb. */
	{ELSEWHERE_LINK,
	 HARDWARE,
	 "rx_missed_errors",
	 {false, KNOWLEDGE_FAULT, "the hardware had no free buffer for the packet"}},
	/* ifb_xmit() frees a packet that no tc action redirected with dev_kfree_skb(), which is consume_skb(). */
	{ELSEWHERE_LINK,
	 "ifb",
	 "*_dropped",
	 {true, KNOWLEDGE_UNKNOWN,
	  "ifb frees packets that no tc action redirected with consume_skb"}},
	/* tun_xdp_act(): the page goes back before an skb exists. */
	{ELSEWHERE_LINK,
	 "tun",
	 "rx_dropped",
	 {true, KNOWLEDGE_UNKNOWN,
	  "tun drops some packets, those of a native XDP program for example, before an skb exists"}},
	{ELSEWHERE_LINK,
	 ANY,
	 "*_dropped",
	 {true, KNOWLEDGE_UNKNOWN,
	  "the driver drops some packets before an skb exists, or frees them with consume_skb"}},
	{ELSEWHERE_LINK,
	 HARDWARE,
	 ANY,
	 {true, KNOWLEDGE_FAULT, "the device or its driver rejects some packets without an skb"}},
	/* A tunnel without a route to its end, for example, counts the host's own multicast. */
	{ELSEWHERE_LINK,
	 ANY,
	 ANY,
	 {true, KNOWLEDGE_UNKNOWN, "the driver rejects some packets without an skb"}},

	/* veth_xdp_rcv_skb() frees an skb with kfree_skb(); veth_xdp_rcv_one() has a frame without an skb. */
	{ELSEWHERE_DRIVER,
	 "veth",
	 "*xdp_drop*",
	 {true, KNOWLEDGE_POLICY,
	  "netflowd sees what the XDP program drops of skbs, not of frames that XDP redirected to this device"}},
	{ELSEWHERE_DRIVER,
	 ANY,
	 "*xdp_drop*",
	 {false, KNOWLEDGE_POLICY, "an XDP program drops the packet before an skb exists"}},
	{ELSEWHERE_DRIVER,
	 HARDWARE,
	 "*miss*",
	 {false, KNOWLEDGE_FAULT, "the hardware had no free buffer for the packet"}},
	{ELSEWHERE_DRIVER,
	 HARDWARE,
	 "*buf*",
	 {false, KNOWLEDGE_FAULT, "the hardware had no free buffer for the packet"}},
	{ELSEWHERE_DRIVER,
	 ANY,
	 ANY,
	 {true, KNOWLEDGE_UNKNOWN, "the driver counts this in its own way"}},

	/* xsk_rcv() in a driver has no skb; xsk_generic_rcv() has one, which do_xdp_generic() frees with kfree_skb. */
	{ELSEWHERE_XSK,
	 ANY,
	 ANY,
	 {true, KNOWLEDGE_FAULT,
	  "a program reads its AF_XDP socket too slowly; with native XDP there is no skb"}},

	/* tcp_conn_request() drops the SYN; tcp_rcv_state_process() then frees it with consume_skb(). */
	{ELSEWHERE_TCP,
	 ANY,
	 "TCPReqQFullDrop",
	 {false, KNOWLEDGE_FAULT,
	  "the queue of half-open connections is full without SYN cookies; the kernel frees the SYN with consume_skb"}},
	/* tcp_v4_syn_recv_sock() drops the last ACK of the handshake, which tcp_v4_rcv() frees with kfree_skb. */
	{ELSEWHERE_TCP,
	 ANY,
	 "ListenOverflows",
	 {true, KNOWLEDGE_FAULT,
	  "a program accepts its connections too slowly; the kernel frees a SYN with consume_skb, and the last ACK of a handshake with kfree_skb"}},
	{ELSEWHERE_TCP,
	 ANY,
	 ANY,
	 {true, KNOWLEDGE_FAULT,
	  "all packets that a listening socket dropped, those of the other two counters included; the kernel frees a SYN with consume_skb"}},

	{ELSEWHERE_TRAP,
	 ANY,
	 ANY,
	 {false, KNOWLEDGE_FAULT,
	  "the hardware drops the packet, or its driver frees it with consume_skb"}},
};

const struct elsewhere_judgement *elsewhere_judge(enum elsewhere_source source, const char *kind,
						  const char *counter)
{
	const struct row *last = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		if (rows[i].source != source)
			continue;
		last = &rows[i];
		if (fnmatch(last->kind, kind, 0) == 0 && fnmatch(last->counter, counter, 0) == 0)
			break;
	}
	return &last->judgement;
}

/* ---- names of drivers' counters --------------------------------------------- */

/* Words of counters of dropped packets, in the drivers of Linux 7.3.  */
static bool counts_drops(const char *counter)
{
	static const char *const words[] = {"drop",	"discard",    "missed",	    "no_buf",
					    "nobuf",	"no_buffer",  "out_of_buf", "overrun",
					    "overflow", "xdp_tx_err", "xdp_aborted"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasestr(counter, words[i]))
			return true;
	return false;
}

bool elsewhere_driver_counter(const char *counter, char name[static ELSEWHERE_NAME_MAX])
{
	size_t length = 0;

	if (!counts_drops(counter))
		return false;
	for (const char *c = counter; *c && length + 1 < ELSEWHERE_NAME_MAX; c++) {
		if (!isdigit((unsigned char)*c))
			name[length++] = *c;
		else if (!length || name[length - 1] != '*')
			name[length++] = '*';
	}
	name[length] = '\0';
	return true;
}
