/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Formats of trace events as kernels have them, and records in them. */
#ifndef TESTS_UNIT_DAEMON_PROBE_EVENTS_FORMATS_H
#define TESTS_UNIT_DAEMON_PROBE_EVENTS_FORMATS_H

#include <stdint.h>
#include <string.h>

#include <traceevent/event-parse.h>

#define COMMON                                                                         \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"

/* Linux 5.10: without a reason. */
#define KFREE_5_10                                                           \
	"name: kfree_skb\nID: 900\nformat:\n" COMMON                         \
	"\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"           \
	"\tfield:void * location;\toffset:16;\tsize:8;\tsigned:0;\n"         \
	"\tfield:unsigned short protocol;\toffset:24;\tsize:2;\tsigned:0;\n" \
	"\nprint fmt: \"skbaddr=%p\", REC->skbaddr\n"

/* Linux 6.11 put rx_sk before protocol. */
#define KFREE_6_11                                                               \
	"name: kfree_skb\nID: 900\nformat:\n" COMMON                             \
	"\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"               \
	"\tfield:void * location;\toffset:16;\tsize:8;\tsigned:0;\n"             \
	"\tfield:void * rx_sk;\toffset:24;\tsize:8;\tsigned:0;\n"                \
	"\tfield:unsigned short protocol;\toffset:32;\tsize:2;\tsigned:0;\n"     \
	"\tfield:enum skb_drop_reason reason;\toffset:36;\tsize:4;\tsigned:0;\n" \
	"\nprint fmt: \"reason: %s\", __print_symbolic(REC->reason, { 2, \"NOT_SPECIFIED\" }, { 3, \"NO_SOCKET\" })\n"

#define RECEIVE                                                             \
	"name: netif_receive_skb\nID: 901\nformat:\n" COMMON                \
	"\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"          \
	"\tfield:unsigned int len;\toffset:16;\tsize:4;\tsigned:0;\n"       \
	"\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:0;\n" \
	"\nprint fmt: \"dev=%s\", __get_str(name)\n"

/* Without its length, which netflowd needs. */
#define QUEUE_WITHOUT_LEN                                                   \
	"name: net_dev_queue\nID: 902\nformat:\n" COMMON                    \
	"\tfield:void * skbaddr;\toffset:8;\tsize:8;\tsigned:0;\n"          \
	"\tfield:__data_loc char[] name;\toffset:20;\tsize:4;\tsigned:0;\n" \
	"\nprint fmt: \"dev=%s\", __get_str(name)\n"

#define MARKER                                                       \
	"name: print\nID: 5\nformat:\n" COMMON                       \
	"\tfield:unsigned long ip;\toffset:8;\tsize:8;\tsigned:0;\n" \
	"\tfield:char buf[];\toffset:16;\tsize:0;\tsigned:0;\n"      \
	"\nprint fmt: \"%ps: %s\", (void *)REC->ip, REC->buf\n"

/* Kprobe events as netflowd defines them: of linear skbs and unusual heads, and of heads with skb->end = 704. */
#define TRANSMIT_FIELDS                                                      \
	"\tfield:unsigned long __probe_ip;\toffset:8;\tsize:8;\tsigned:0;\n" \
	"\tfield:u64 skbaddr;\toffset:16;\tsize:8;\tsigned:0;\n"             \
	"\tfield:__data_loc char[] dev;\toffset:24;\tsize:4;\tsigned:1;\n"   \
	"\tfield:u32 len;\toffset:28;\tsize:4;\tsigned:0;\n"                 \
	"\tfield:u32 data_len;\toffset:32;\tsize:4;\tsigned:0;\n"            \
	"\tfield:u64 data;\toffset:36;\tsize:8;\tsigned:0;\n"                \
	"\tfield:u32 end;\toffset:44;\tsize:4;\tsigned:0;\n"                 \
	"\tfield:u64 sg;\toffset:48;\tsize:8;\tsigned:0;\n"                  \
	"\tfield:u64 gso;\toffset:56;\tsize:8;\tsigned:0;\n"                 \
	"\tfield:u64 tso;\toffset:64;\tsize:8;\tsigned:0;\n"
#define TRANSMIT                                                             \
	"name: xennet_start_xmit\nID: 910\nformat:\n" COMMON TRANSMIT_FIELDS \
	"\nprint fmt: \"(%lx)\", REC->__probe_ip\n"
#define TRANSMIT_704                                                             \
	"name: xennet_start_xmit_704\nID: 911\nformat:\n" COMMON TRANSMIT_FIELDS \
	"\tfield:u8 nr_frags;\toffset:72;\tsize:1;\tsigned:0;\n"                 \
	"\tfield:u16 gso_size;\toffset:73;\tsize:2;\tsigned:0;\n"                \
	"\tfield:u16 gso_segs;\toffset:75;\tsize:2;\tsigned:0;\n"                \
	"\tfield:u64 frags0[];\toffset:77;\tsize:64;\tsigned:0;\n"               \
	"\tfield:u64 frags32[];\toffset:141;\tsize:32;\tsigned:0;\n"             \
	"\nprint fmt: \"(%lx)\", REC->__probe_ip\n"

enum { TRANSMIT_ID = 910, TRANSMIT_704_ID = 911, TRANSMIT_BYTES = 180 };

enum { KFREE_ID = 900, RECEIVE_ID = 901, MARKER_ID = 5 };

static inline void format_add(struct tep_handle *tep, const char *system, const char *format)
{
	tep_parse_event(tep, format, strlen(format), system);
}

/* Put a number of this size at this offset. */
static inline void put(unsigned char *record, size_t offset, uint64_t value, size_t size)
{
	memcpy(record + offset, &value, size);
}

/* The fields that all events have: the id, the context's flags, and the thread. */
static inline void put_common(unsigned char *record, uint16_t id, uint8_t flags, uint32_t tid)
{
	put(record, 0, id, 2);
	put(record, 2, flags, 1);
	put(record, 4, tid, 4);
}

#endif
