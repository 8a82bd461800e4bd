/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON objects of io.netflowd.varlink: each must have exactly the expected members. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/array.h"
#include "common/knowledge.h"
#include "common/texts.h"
#include "common/time.h"
#include "daemon/core/infer.h"
#include "daemon/core/names.h"
#include "daemon/core/owner.h"
#include "daemon/core/selection.h"
#include "daemon/core/stages.h"
#include "daemon/json/json.h"
#include "daemon/kernel/attribution.h"
#include "daemon/kernel/symbols.h"
#include "daemon/rows/drop_cause.h"
#include "daemon/rows/drop_row.h"
#include "daemon/rows/latency_row.h"
#include "tests/unit/daemon/history/round_trip.h"
#define RESOLVED_CHECK check_round_trip
#include "tests/unit/daemon/store/resolved.h"
#include "tests/unit/test.h"

static struct names *names;
static struct symbols *symbols;
static struct nf_drop_record record;

static int prepare(void **state)
{
	static const char kallsyms[] =
		"ffffffff81000000 T udp_rcv\nffffffffc0000000 t chain\t[nft]\n"
		"ffffffffc1000000 t odd_\xff\n";
	char path[] = "/tmp/test_json_XXXXXX";
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0 || write(fd, kallsyms, sizeof(kallsyms) - 1) < 0 || symbols_new(&symbols) < 0 ||
	    symbols_load(symbols, path, NULL) < 0 || names_new(&names) < 0 ||
	    names_add_reason(names, 3, "SKB_DROP_REASON_NO_SOCKET") < 0)
		return -1;
	close(fd);
	return unlink(path);
}

static int finish(void **state)
{
	(void)state;
	symbols_free(&symbols);
	names_free(&names);
	return 0;
}

ALL_TESTS(prepare, finish);

/* The record of a UDP datagram to a closed port, as the kernel sends it. */
static int start(void **state)
{
	static const uint8_t ethernet[] = {2, 0, 0, 0, 0, 11, 2, 0, 0, 0, 0, 10, 8, 0};
	static const uint8_t datagram[] = {0x45, 0,  0,	   28,	 0, 0, 0x40, 0, 64, 17,
					   0,	 0,  10,   0,	 0, 1, 10,   0, 0,  2,
					   0,	 53, 0x10, 0x92, 0, 8, 0,    0};

	(void)state;
	record = (struct nf_drop_record){
		.header = {.type = NF_RECORD_DROP,
			   .cpu = 1,
			   .size = NF_DROP_RECORD_PLAIN,
			   .time_ns = 5000000000},
		.location = 0xffffffff8100001f,
		.reason = 3,
		.netns = 4026531840,
		.ifindex = 2,
		.task = {.pid = 100, .tid = 101, .comm = "reader"},
		.bytes = {.len = 28,
			  .protocol = 0x0800,
			  .l2_len = sizeof(ethernet),
			  .net_len = sizeof(datagram)},
		.l4 = 17,
		.flags = NF_DROP_REASON | NF_DROP_L4,
		.device = "veth0",
	};
	memcpy(record.bytes.l2, ethernet, sizeof(ethernet));
	memcpy(record.bytes.net, datagram, sizeof(datagram));
	return 0;
}

EACH_TEST(start, NULL);

/* Checks a time and removes it, because the expected text cannot contain it. */
static void take_time(json_t *object, const char *key, uint64_t ns)
{
	char text[TIME_TEXT_MAX];

	time_format(ns, text);
	assert_string_equal(json_string_value(json_object_get(object, key)), text);
	json_object_del(object, key);
}

/* Compares the whole object; `expected` has ' instead of ". */
static void check(json_t *object, const char *expected)
{
	char *text = strdup(expected), *got;
	json_error_t error;
	json_t *other;

	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	other = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!other)
		fail_msg("%s in %s", error.text, text);
	if (!json_equal(object, other)) {
		got = json_dumps(object, 0);
		fail_msg("\nexpected %s\n     got %s", text, got);
	}
	json_decref(other);
	json_decref(object);
	free(text);
}

static json_t *drop(void)
{
	json_t *object = resolved_drop_json(&record, names, symbols);

	assert_non_null(object);
	take_time(object, "time", record.header.time_ns);
	return object;
}

/* ---- drop records ----------------------------------------------------------- */

TEST(test_record)
{
	check(drop(), "{'reason':'NO_SOCKET','inferred':false,'reason_number':3,'subsystem':'core',"
		      "'class':'benign','location':'udp_rcv+0x1f','function':'udp_rcv',"
		      "'device':'veth0','ifindex':2,'netns':4026531840,'cpu':1,'length_bytes':28,"
		      "'protocol':'ipv4/udp','flow':'udp 10.0.0.1:53 > 10.0.0.2:4242',"
		      "'ethernet':{'source':'02:00:00:00:00:0a','destination':'02:00:00:00:00:0b','"
		      "type':2048},"
		      "'ip':{'version':4,'source':'10.0.0.1','destination':'10.0.0.2','ttl':64,'"
		      "protocol':17,"
		      "'length_bytes':28,'fragment':false},"
		      "'transport':{'source_port':53,'destination_port':4242},"
		      "'task':{'pid':100,'tid':101,'comm':'reader','involved':false},"
		      "'header':'4500001c0000400040110000"
		      "0a000001"
		      "0a000002"
		      "0035109200080000'}");
}

/* A record with only the members that every record has. */
TEST(test_record_bare)
{
	memset(&record, 0, sizeof(record));
	record.header.size = NF_DROP_RECORD_PLAIN;
	record.location = 0x1234;
	check(drop(),
	      "{'inferred':false,'class':'unknown','location':'0x1234','cpu':0,'length_bytes':0,'protocol':'none',"
	      "'task':{'pid':0,'tid':0,'comm':'','involved':false}}");
}

TEST(test_record_unknown_reason)
{
	json_t *object;

	record.reason = 0x70005;
	object = drop();
	assert_null(json_object_get(object, "reason"));
	assert_null(json_object_get(object, "subsystem"));
	assert_string_equal(json_string_value(json_object_get(object, "class")), "unknown");
	assert_int_equal(json_integer_value(json_object_get(object, "reason_number")), 0x70005);
	json_decref(object);
}

/* Reason 0 is a reason only on a kernel that has drop reasons. */
TEST(test_record_no_reasons)
{
	json_t *object;

	record.reason = 0;
	object = drop();
	assert_non_null(json_object_get(object, "reason_number"));
	json_decref(object);
	record.flags &= (uint8_t)~NF_DROP_REASON;
	object = drop();
	assert_null(json_object_get(object, "reason"));
	assert_null(json_object_get(object, "reason_number"));
	assert_null(json_object_get(object, "subsystem"));
	assert_string_equal(json_string_value(json_object_get(object, "class")), "unknown");
	json_decref(object);
}

TEST(test_record_task)
{
	json_t *object;

	record.flags |= NF_DROP_TASK;
	memcpy(record.task.comm, "0123456789abcde\xc3",
	       16); /* no final NUL, and half a character at the end */
	object = drop();
	check(json_incref(json_object_get(object, "task")),
	      "{'pid':100,'tid':101,'comm':'0123456789abcde\xef\xbf\xbd','involved':true}");
	json_decref(object);
}

/* The probes that show whether the task was involved were detached: no word about it. */
TEST(test_record_task_unknown)
{
	json_t *object;

	record.flags |= NF_DROP_TASK_UNKNOWN;
	object = drop();
	check(json_incref(json_object_get(object, "task")),
	      "{'pid':100,'tid':101,'comm':'reader'}");
	json_decref(object);
}

TEST(test_record_device_bytes)
{
	json_t *object;

	memset(record.device, 0xff, sizeof(record.device));
	object = drop();
	assert_int_equal(json_string_length(json_object_get(object, "device")), 48);
	json_decref(object);
}

TEST(test_record_vlan)
{
	json_t *object;

	record.bytes.flags |= NF_BYTES_VLAN;
	record.bytes.vlan_proto = 0x88a8;
	record.bytes.vlan_tci = 7 << 13 | 4094;
	object = drop();
	check(json_incref(json_object_get(object, "vlan")),
	      "{'protocol':34984,'id':4094,'priority':7}");
	json_decref(object);
}

/* ---- the bytes of a stored record ------------------------------------------- */

/* Whether an expression selects the packet of the record, and the same from the history. */
static bool selected(const char *text)
{
	struct selection *selection = NULL;
	struct selection_error error;
	static uint8_t bytes[STORED_RECORD_MAX];
	static struct stored_record stored;
	struct record resolved = {.kind = RECORDS_DROPS};
	struct resolver *resolver = NULL;
	bool taken;

	assert_int_equal(selection_new(&selection, text, &error), 0);
	assert_int_equal(resolver_new(&resolver, names, symbols), 0);
	resolve_drop(resolver, &record, NULL, NULL, &resolved.drop);
	store_and_read(&resolved, &stored, bytes);
	resolver_free(&resolver);
	taken = selection_takes_bytes(selection, &record.bytes);
	if (selection_takes_bytes(selection, &stored.parts.bytes) != taken)
		fail_msg("%s: the packet %d, its record %d", text, taken, !taken);
	selection_free(&selection);
	return taken;
}

static void check_tagged(uint16_t protocol)
{
	assert_true(selected("vlan"));
	assert_true(selected("vlan 42"));
	assert_false(selected("vlan 43"));
	assert_true(selected("vlan 42 and udp port 53"));
	assert_true(selected("udp port 53"));
	assert_true(selected("ether host 02:00:00:00:00:0b"));
	assert_int_equal(selected("ether[12:2] == 0x88a8 and vlan 42"), protocol == 0x88a8);
	assert_true(selected("vlan and ether[14] & 0xe0 == 0x60"));
}

TEST(test_stored_bytes)
{
	static const uint8_t tag[] = {0x60, 42, 8, 0};
	struct nf_bytes *bytes = &record.bytes;

	assert_true(selected("udp port 53"));
	assert_false(selected("vlan"));
	/* In the skb's metadata. */
	bytes->flags = NF_BYTES_VLAN;
	bytes->vlan_tci = 3 << 13 | 42;
	for (int i = 0; i < 2; i++) {
		bytes->vlan_proto = i ? 0x88a8 : 0x8100;
		check_tagged(bytes->vlan_proto);
	}
	/* In front of the network header. */
	bytes->flags = 0;
	bytes->protocol = 0x8100;
	bytes->l2[12] = 0x81;
	memmove(bytes->net + sizeof(tag), bytes->net, bytes->net_len);
	memcpy(bytes->net, tag, sizeof(tag));
	bytes->net_len += sizeof(tag);
	check_tagged(0x8100);
	/* And one more in the metadata. */
	bytes->flags = NF_BYTES_VLAN;
	bytes->vlan_proto = 0x88a8;
	bytes->vlan_tci = 7;
	assert_true(selected("vlan 7 and vlan 42 and udp port 53"));
	assert_false(selected("vlan 42 and vlan 7"));
	bytes->flags = 0;
	/* In the Ethernet header. */
	memmove(bytes->net, bytes->net + sizeof(tag), bytes->net_len - sizeof(tag));
	bytes->net_len -= sizeof(tag);
	memcpy(bytes->l2 + 14, tag, sizeof(tag));
	bytes->l2_len += sizeof(tag);
	check_tagged(0x8100);
}

TEST(test_record_tcp)
{
	static const uint8_t tcp[] = {0,    22, 0x13, 0x88, 0xff, 0xff, 0xff,
				      0xff, 0,	0,    0,    0,	  0x50, 0xff};
	json_t *object;

	record.bytes.net[3] = 40;
	record.bytes.net[9] = record.l4 = 6;
	memcpy(record.bytes.net + 20, tcp, sizeof(tcp));
	record.bytes.net_len = 34;
	object = drop();
	check(json_incref(json_object_get(object, "transport")),
	      "{'source_port':22,'destination_port':5000,'sequence':4294967295,'acknowledgement':0,"
	      "'flags':['SYN','ACK','FIN','RST','PSH','URG','ECE','CWR']}");
	json_decref(object);
	record.bytes.net[33] = 0;
	record.bytes.net_len = 33; /* flags that were not captured are omitted, not empty */
	object = drop();
	check(json_incref(json_object_get(object, "transport")),
	      "{'source_port':22,'destination_port':5000,'sequence':4294967295,'acknowledgement':"
	      "0}");
	json_decref(object);
	record.bytes.net_len = 34;
	object = drop();
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(object, "transport"), "flags")), 0);
	assert_non_null(json_object_get(json_object_get(object, "transport"), "flags"));
	json_decref(object);
}

TEST(test_record_icmp)
{
	json_t *object;

	record.bytes.net[9] = record.l4 = 1;
	record.bytes.net[20] = 3;
	record.bytes.net[21] = 1;
	object = drop();
	check(json_incref(json_object_get(object, "icmp")), "{'type':3,'code':1}");
	assert_null(json_object_get(object, "transport"));
	json_decref(object);
}

TEST(test_record_stack)
{
	json_t *object;

	record.stack_len = 3;
	record.stack[0] = 0xffffffff81000001;
	record.stack[1] = 0xffffffffc0000002;
	record.stack[2] = 0xffffffffc1000003;
	object = drop(); /* according to its size, the record has no stack */
	assert_null(json_object_get(object, "stack"));
	json_decref(object);
	record.header.size = 0;
	object = drop();
	assert_null(json_object_get(object, "stack"));
	json_decref(object);
	record.header.size = sizeof(record);
	object = drop();
	check(json_incref(json_object_get(object, "stack")),
	      "['udp_rcv+0x1','chain+0x2 [nft]','odd_\xef\xbf\xbd+0x3']");
	json_decref(object);
	record.stack_len = 65535;
	object = drop();
	assert_int_equal(json_array_size(json_object_get(object, "stack")), NF_DROP_STACK_MAX);
	json_decref(object);
}

/* A record without a stack is shorter than its struct, and nothing beyond its end is read. */
TEST(test_record_short)
{
	void *copy = malloc(NF_DROP_RECORD_PLAIN);
	json_t *object;

	assert_non_null(copy);
	record.stack_len = 32;
	memcpy(copy, &record, NF_DROP_RECORD_PLAIN);
	object = resolved_drop_json(copy, names, symbols);
	assert_non_null(object);
	assert_null(json_object_get(object, "stack"));
	json_decref(object);
	free(copy);
}

TEST(test_record_lengths)
{
	json_t *object;

	record.bytes.net_len = 255;
	object = drop();
	assert_int_equal(json_string_length(json_object_get(object, "header")), 2 * NF_NET_MAX);
	json_decref(object);
}

TEST(test_record_without_symbols)
{
	json_t *object = resolved_drop_json(&record, names, NULL);

	assert_string_equal(json_string_value(json_object_get(object, "location")),
			    "0xffffffff8100001f");
	json_decref(object);
}

/* ---- drop counters ------------------------------------------------------------ */

static const struct cause no_socket = {
	.has_reason = true,
	.reason = 3,
	.kernel_reason = "NO_SOCKET",
	.subsystem = "core",
	.location = "chain+0x10 [nft]",
};

/* A row of a cause; its texts live as long as the test program. */
static struct drop_row row_of(const struct cause *cause)
{
	static struct texts texts;
	struct drop_row row = {
		.packets = 4217, .segments = 5000, .bytes = 1000000, .last_ns = 77000000};

	drop_row_set_cause(&row, cause, &texts);
	return row;
}

static struct drop_row full_row(void)
{
	struct cause cause = no_socket;
	struct drop_row row;

	verdict_of(&cause.verdict, cause.location, cause.kernel_reason, 0);
	row = row_of(&cause);
	row.key.device.name = "eth0";
	row.key.device.ifindex = 7;
	row.key.device.netns = 1;
	row.key.protocol = "ipv6/icmpv6";
	row.key.cgroup_id = 4711;
	return row;
}

static void check_row(const struct drop_row *row, unsigned int fields, const char *expected)
{
	json_t *object = json_drop_row(row, fields);
	OWN_FREE char *cause = drop_cause_text(row, drop_row_fields(row, fields));
	char text[TIME_TEXT_MAX];

	assert_non_null(object);
	time_format_realtime(row->last_ns, text);
	assert_string_equal(json_string_value(json_object_get(object, "last")), text);
	json_object_del(object, "last");
	assert_string_equal(json_string_value(json_object_get(object, "cause")), cause);
	json_object_del(object, "cause");
	check(object, expected);
}

TEST(test_drops_all)
{
	struct drop_row row = full_row();

	check_row(
		&row, DROP_FIELDS,
		"{'reason':'NO_SOCKET','inferred':false,'reason_number':3,'subsystem':'core','class':'benign',"
		"'location':'chain+0x10 [nft]','function':'chain','device':'eth0','ifindex':7,'netns':1,"
		"'protocol':'ipv6/icmpv6','cgroup_id':4711,'packets':4217,'segments':5000,'bytes':1000000}");
}

TEST(test_drops_subsets)
{
	static const struct {
		unsigned int fields;
		const char *expected;
	} cases[] = {
		{0, "{'class':'benign','packets':4217,'segments':5000,'bytes':1000000}"},
		{DROP_REASON,
		 "{'reason':'NO_SOCKET','inferred':false,'reason_number':3,'subsystem':'core','class':'benign',"
		 "'packets':4217,'segments':5000,'bytes':1000000}"},
		{DROP_LOCATION,
		 "{'class':'benign','location':'chain+0x10 [nft]','function':'chain','packets':4217,'segments':5000,'bytes':1000000}"},
		{DROP_DEVICE,
		 "{'class':'benign','device':'eth0','ifindex':7,'packets':4217,'segments':5000,'bytes':1000000}"},
		{DROP_NETNS,
		 "{'class':'benign','netns':1,'packets':4217,'segments':5000,'bytes':1000000}"},
		{DROP_CGROUP,
		 "{'class':'benign','cgroup_id':4711,'packets':4217,'segments':5000,'bytes':1000000}"},
		{DROP_PROTOCOL,
		 "{'class':'benign','protocol':'ipv6/icmpv6','packets':4217,'segments':5000,'bytes':1000000}"},
	};
	struct drop_row row = full_row();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_row(&row, cases[i].fields, cases[i].expected);
}

TEST(test_drops_unknown)
{
	const struct cause cause = {.has_reason = true,
				    .subsystem = "core",
				    .location = "0x0",
				    .verdict = {.class = KNOWLEDGE_UNKNOWN}};
	struct drop_row row = row_of(&cause);

	row.key.protocol = "none";
	row.packets = UINT64_MAX;
	row.segments = row.bytes = 0;
	check_row(
		&row, DROP_FIELDS,
		"{'inferred':false,'reason_number':0,'subsystem':'core','class':'unknown','location':'0x0',"
		"'protocol':'none','packets':9223372036854775807,'segments':0,'bytes':0}");
	row.unmeasured = true;
	check_row(&row, DROP_PROTOCOL,
		  "{'class':'unknown','protocol':'none','packets':9223372036854775807}");
}

TEST(test_drops_owner)
{
	const struct owner owner = {
		.cgroup = "/kubepods/pod1", .unit = "a.scope", .container = "0123", .pod = "1"};
	static struct texts texts;
	struct drop_row row = full_row();

	drop_row_set_owner(&row, &owner, &texts);
	check_row(
		&row, DROP_CGROUP,
		"{'class':'benign','cgroup_id':4711,'owner':{'cgroup':'/kubepods/pod1','unit':'a.scope',"
		"'container':'0123','pod':'1'},'packets':4217,'segments':5000,'bytes':1000000}");
	texts_clear(&texts);
}

static struct cause cause_of(const char *reason, const char *location, uint64_t evidence)
{
	struct cause cause = {.has_reason = true,
			      .reason = 2,
			      .kernel_reason = reason,
			      .subsystem = "core",
			      .evidence = evidence,
			      .location = location};

	verdict_of(&cause.verdict, location, reason, evidence);
	return cause;
}

/* The kernel gave no reason; the function and the evidence leave one. */
TEST(test_drops_inferred)
{
	const struct cause cause = cause_of("NOT_SPECIFIED", "neigh_invalidate.isra.0+0x9",
					    NF_EVIDENCE_KNOWN | NF_EVIDENCE_IP);
	struct drop_row row = row_of(&cause);

	check_row(&row, DROP_REASON | DROP_LOCATION | DROP_EVIDENCE,
		  "{'reason':'NEIGH_FAILED','inferred':true,'kernel_reason':'NOT_SPECIFIED',"
		  "'reason_number':2,'subsystem':'core','class':'fault','evidence':['ip'],"
		  "'location':'neigh_invalidate.isra.0+0x9','function':'neigh_invalidate',"
		  "'packets':4217,'segments':5000,'bytes':1000000}");
}

/* Without evidence, all cases of a function are possible, and none is named. */
TEST(test_drops_candidates)
{
	const struct cause cause = cause_of("NOT_SPECIFIED", "tcp_v4_rcv+0x9", 0);
	struct drop_row row = row_of(&cause);
	json_t *object = json_drop_cause(&row, DROP_REASON | DROP_EVIDENCE), *one;
	size_t i;

	assert_string_equal(json_string_value(json_object_get(object, "reason")), "NOT_SPECIFIED");
	assert_false(json_is_true(json_object_get(object, "inferred")));
	assert_string_equal(json_string_value(json_object_get(object, "class")), "unknown");
	assert_int_equal(json_array_size(json_object_get(object, "candidates")),
			 cause.verdict.candidates);
	json_array_foreach(json_object_get(object, "candidates"), i, one)
	{
		const struct knowledge_case *candidate = cause.verdict.candidate[i];
		const char *reason = json_string_value(json_object_get(one, "reason"));

		assert_true(!reason == !candidate->reason &&
			    (!reason || !strcmp(reason, candidate->reason)));
		assert_string_equal(json_string_value(json_object_get(one, "class")),
				    knowledge_class_name(candidate->class));
	}
	assert_null(json_object_get(object, "evidence"));
	json_decref(object);
}

TEST(test_drops_message)
{
	const struct cause cause = cause_of("NOT_SPECIFIED", "unix_stream_connect+0x9",
					    NF_EVIDENCE_KNOWN | NF_EVIDENCE_MESSAGE);
	struct drop_row row = row_of(&cause);
	json_t *object = json_drop_cause(&row, DROP_EVIDENCE);

	assert_true(json_is_true(json_object_get(object, "message")));
	assert_null(json_object_get(object, "packets"));
	json_decref(object);
}

/* Why a row lacks fields. */
TEST(test_drops_that_lost_fields)
{
	static const struct {
		uint8_t lost;
		const char *expected;
	} cases[] = {
		{DROP_GONE,
		 "{'class':'benign','location':'chain+0x10 [nft]','function':'chain','gone':true,"
		 "'packets':4217,'segments':5000,'bytes':1000000}"},
		{DROP_UNKEYED,
		 "{'class':'benign','unkeyed':true,'packets':4217,'segments':5000,'bytes':1000000}"},
		{DROP_COARSE,
		 "{'class':'benign','location':'chain+0x10 [nft]','function':'chain','netns':1,'coarse':true,"
		 "'packets':4217,'segments':5000,'bytes':1000000}"},
	};
	struct drop_row row = full_row();

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		row.lost = cases[i].lost;
		check_row(&row, DROP_FIELDS & ~DROP_REASON, cases[i].expected);
	}
}

TEST(test_drops_flow)
{
	struct drop_row row = full_row();

	row.key.flow = "udp 10.0.0.1:53 > 10.0.0.2:4242";
	check_row(
		&row, DROP_FLOW,
		"{'class':'benign','flow':'udp 10.0.0.1:53 > 10.0.0.2:4242','packets':4217,'segments':5000,'bytes':1000000}");
}

/* ---- latency -------------------------------------------------------------------- */

static json_t *latency(enum nf_segment segment, const struct device *device,
		       const struct nf_hist *hist)
{
	static const struct latency_doubt none;
	struct latency_row row = {.segment = segment, .hist = *hist, .variance = hist->variance};

	if (device)
		row.device = *device;
	return json_latency(&row, &none);
}

TEST(test_latency)
{
	const struct device device = {.name = "eth0", .ifindex = 2, .netns = 3};
	struct nf_hist hist = {.sum_ns = 1000 * 5 + 50, .max_ns = 50};

	hist.bucket[5] = 1000;
	hist.bucket[nf_hist_bucket(50)] = 1;
	check(latency(NF_SEGMENT_RECEIVE_TO_COPY, &device, &hist),
	      "{'direction':'rx','segment':'receive_to_copy','device':'eth0','ifindex':2,'netns':3,"
	      "'count':1001,'mean_ns':5.0449550449550446,'max_ns':50,'p50_ns':5,'p90_ns':5,"
	      "'p99_ns':5,'p999_ns':5,'buckets':[{'from_ns':5,'below_ns':6,'count':1000},"
	      "{'from_ns':48,'below_ns':56,'count':1}]}");
}

/* Not every journey was followed: the count and the percentiles have intervals. */
TEST(test_latency_estimate)
{
	struct nf_hist hist = {.sum_ns = 1200,
			       .max_ns = 3,
			       .journeys = 100,
			       .variance = 1200,
			       .bucket = {[3] = 400}};

	check(latency(NF_SEGMENT_XMIT_TO_FREE, NULL, &hist),
	      "{'direction':'tx','segment':'xmit_to_free','count':400,'followed':100,"
	      "'count_margin':68,'drawn_margin':68,'mean_ns':3.0,'max_ns':3,'p50_ns':3,'p90_ns':3,'p99_ns':3,"
	      "'p999_ns':3,'p50_low_ns':3,'p50_high_ns':3,'p90_low_ns':3,'p90_high_ns':3,"
	      "'buckets':[{'from_ns':3,'below_ns':4,'count':400}]}");
}

TEST(test_latency_open_bucket)
{
	struct nf_hist hist = {.sum_ns = 1, .max_ns = UINT64_MAX};

	hist.bucket[NF_HIST_BUCKETS - 1] = UINT64_MAX;
	check(latency(NF_SEGMENT_XMIT_TO_FREE, NULL, &hist),
	      "{'direction':'tx','segment':'xmit_to_free','count':9223372036854775807,"
	      "'mean_ns':5.4210108624275222e-20,'max_ns':9223372036854775807,"
	      "'p50_ns':9223372036854775807,'p90_ns':9223372036854775807,"
	      "'p99_ns':9223372036854775807,'p999_ns':9223372036854775807,"
	      "'buckets':[{'from_ns':60129542144,'below_ns':9223372036854775807,"
	      "'count':9223372036854775807}]}");
}

TEST(test_latency_empty)
{
	const struct nf_hist hist = {0};

	check(latency(NF_SEGMENT_QUEUE_TO_START, NULL, &hist),
	      "{'direction':'tx','segment':'queue_to_start_xmit','count':0,'buckets':[]}");
}

/* The segment names of the interface file, each once per direction. */
TEST(test_segments)
{
	static const struct {
		enum nf_segment segment;
		const char *direction, *name;
	} cases[] = {
		{NF_SEGMENT_IRQ_TO_SOFTIRQ, "rx", "irq_to_softirq"},
		{NF_SEGMENT_RAISE_TO_SOFTIRQ, "rx", "raise_to_softirq"},
		{NF_SEGMENT_SOFTIRQ_TO_RECEIVE, "rx", "softirq_to_receive"},
		{NF_SEGMENT_GAP_WAIT, "rx", "gap_wait"},
		{NF_SEGMENT_RECEIVE_TO_SOCK_QUEUE, "rx", "receive_to_sock_queue"},
		{NF_SEGMENT_WAKEUP_TO_RUN, "rx", "wakeup_to_run"},
		{NF_SEGMENT_RUN_TO_COPY, "rx", "run_to_copy"},
		{NF_SEGMENT_RECEIVE_TO_COPY, "rx", "receive_to_copy"},
		{NF_SEGMENT_RX_TOTAL, "rx", "rx_total"},
		{NF_SEGMENT_RECEIVE_TO_QUEUE, "fwd", "receive_to_queue"},
		{NF_SEGMENT_FORWARD_TOTAL, "fwd", "forward_total"},
		{NF_SEGMENT_QUEUE_TO_START, "tx", "queue_to_start_xmit"},
		{NF_SEGMENT_START_TO_XMIT, "tx", "start_xmit_to_xmit"},
		{NF_SEGMENT_XMIT_TO_FREE, "tx", "xmit_to_free"},
		{NF_SEGMENT_TX_TOTAL, "tx", "tx_total"},
	};
	const struct nf_hist hist = {0};

	assert_int_equal(ARRAY_SIZE(cases), NF_SEGMENT_COUNT);
	for (size_t i = 0; i < NF_SEGMENT_COUNT; i++) {
		char expected[128];

		snprintf(expected, sizeof(expected),
			 "{'direction':'%s','segment':'%s','count':0,'buckets':[]}",
			 cases[i].direction, cases[i].name);
		check(latency(cases[i].segment, NULL, &hist), expected);
	}
}

/* ---- latency records ------------------------------------------------------------- */

static struct nf_journey_record journey_record;

/* The same datagram, delivered to a reader that it woke. */
static int start_path(void **state)
{
	start(state);
	journey_record = (struct nf_journey_record){
		.header = {.type = NF_RECORD_JOURNEY,
			   .cpu = 1,
			   .size = sizeof(journey_record),
			   .time_ns = 5000009000},
		.stage_ns = {[NF_STAGE_SOFTIRQ_RAISE] = 5000000000,
			     [NF_STAGE_SOFTIRQ_ENTRY] = 5000001000,
			     [NF_STAGE_RECEIVE] = 5000001500,
			     [NF_STAGE_COPY] = 5000009000},
		.outcome = NF_OUTCOME_DELIVERED,
		.flags = NF_JOURNEY_SLOW | NF_JOURNEY_TASK,
		.devices = 1,
		.task = {.pid = 100, .tid = 101, .comm = "reader"},
		.device = {{.ifindex = 2, .netns = 4026531840, .name = "veth0"}},
		.bytes = record.bytes,
	};
	return 0;
}

/* The JSON of journey_record, or NULL, and its stages. */
static json_t *resolved_latency_json(struct attribution *attribution, struct stages *stages)
{
	struct records *records = resolved_store(names, symbols, attribution);
	struct record resolved;
	json_t *object;

	records_add_journey(records, &journey_record);
	assert_int_equal(records_get(records, RECORDS_LATENCY, 0, &resolved), 0);
	check_round_trip(&resolved);
	*stages = resolved.journey.stages;
	object = json_latency_record(&resolved.journey);
	records_free(&records);
	return object;
}

static json_t *latency_record(struct attribution *attribution)
{
	struct stages stages;
	json_t *object = resolved_latency_json(attribution, &stages), *stage;
	size_t i;

	assert_non_null(object);
	take_time(object, "time", journey_record.header.time_ns);
	json_array_foreach(json_object_get(object, "stages"), i, stage)
		take_time(stage, "time", stages.stage[i].time_ns);
	return object;
}

TEST_WITH(test_latency_record, start_path, NULL)
{
	check(latency_record(NULL),
	      "{'outcome':'delivered','slow':true,'total_ns':9000,'comparable':false,"
	      "'stages':[{'stage':'softirq_raise','at_ns':0},{'stage':'softirq_entry','at_ns':1000},"
	      "{'stage':'receive','at_ns':1500},{'stage':'copy','at_ns':9000}],"
	      "'times':[{'from':'softirq_raise','to':'softirq_entry','duration_ns':1000},"
	      "{'from':'softirq_entry','to':'receive','duration_ns':500},"
	      "{'from':'receive','to':'copy','duration_ns':7500}],"
	      "'dominant':'receive_to_copy',"
	      "'missing':[{'stage':'sock_queue','reason':'its reader took it before the "
	      "kernel announced it to the socket'}],"
	      "'devices':[{'device':'veth0','ifindex':2,'netns':4026531840}],"
	      "'more_devices':false,'cpu':1,'length_bytes':28,'protocol':'ipv4/udp',"
	      "'flow':'udp 10.0.0.1:53 > 10.0.0.2:4242',"
	      "'ethernet':{'source':'02:00:00:00:00:0a','destination':'02:00:00:00:00:0b',"
	      "'type':2048},"
	      "'ip':{'version':4,'source':'10.0.0.1','destination':'10.0.0.2','ttl':64,"
	      "'protocol':17,'length_bytes':28,'fragment':false},"
	      "'transport':{'source_port':53,'destination_port':4242},"
	      "'header':'4500001c00004000401100000a0000010a0000020035109200080000',"
	      "'task':{'pid':100,'tid':101,'comm':'reader','involved':true}}");
}

/* Transmitted from a softirq; no bytes of the packet are known. */
TEST_WITH(test_latency_record_bare, start_path, NULL)
{
	journey_record = (struct nf_journey_record){
		.header = {.size = sizeof(journey_record), .time_ns = 30},
		.stage_ns =
			{[NF_STAGE_QUEUE] = 10, [NF_STAGE_START_XMIT] = 20, [NF_STAGE_XMIT] = 30},
		.outcome = NF_OUTCOME_FORWARDED,
		.flags = NF_JOURNEY_MORE,
	};
	journey_record.stage_ns[NF_STAGE_RECEIVE] = 5;
	check(latency_record(NULL),
	      "{'outcome':'forwarded','slow':false,'total_ns':25,'comparable':true,"
	      "'stages':[{'stage':'receive','at_ns':0},{'stage':'queue','at_ns':5},"
	      "{'stage':'start_xmit','at_ns':15},{'stage':'xmit','at_ns':25}],"
	      "'times':[{'from':'receive','to':'queue','duration_ns':5},"
	      "{'from':'queue','to':'start_xmit','duration_ns':10},"
	      "{'from':'start_xmit','to':'xmit','duration_ns':10}],"
	      "'dominant':'queue_to_start_xmit','missing':[],'devices':[],'more_devices':true,"
	      "'cpu':0}");
}

/* More devices than the record can hold, and names that have no final NUL and are not UTF-8. */
TEST_WITH(test_latency_record_devices, start_path, NULL)
{
	json_t *object, *devices;

	journey_record.devices = UINT8_MAX;
	memset(journey_record.device[3].name, 0xff, NF_DEVICE_NAME);
	object = latency_record(NULL);
	devices = json_object_get(object, "devices");
	assert_int_equal(json_array_size(devices), NF_JOURNEY_DEVICES);
	assert_int_equal(json_string_length(json_object_get(json_array_get(devices, 3), "device")),
			 48);
	json_decref(object);
}

/* A cgroup and a namespace without a name. */
TEST_WITH(test_latency_record_unknown_owner, start_path, NULL)
{
	static const struct attribution_places nowhere;
	struct attribution *attribution = NULL;
	json_t *object;

	assert_int_equal(attribution_new(&attribution, &nowhere), 0);
	journey_record.cgroup = UINT64_MAX - 1;
	object = latency_record(attribution);
	assert_null(json_object_get(object, "owner"));
	assert_null(json_object_get(json_array_get(json_object_get(object, "devices"), 0),
				    "netns_name"));
	json_decref(object);
	attribution_free(&attribution);
}

/* ---- text ------------------------------------------------------------------------ */

TEST(test_text)
{
#define R "\xef\xbf\xbd"
	static const struct {
		const char *bytes;
		const char *text;
	} cases[] = {
		{"", ""},
		{"plain", "plain"},
		{"\x01\x1f\x7f", "\x01\x1f\x7f"},
		{"caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x9a\x80",
		 "caf\xc3\xa9 \xe2\x86\x92 \xf0\x9f\x9a\x80"},
		{"\xff", R},
		{"a\x80z", "a" R "z"},
		{"\xc0\xaf", R R},		  /* overlong */
		{"\xe0\x9f\xbf", R R R},	  /* overlong */
		{"\xf0\x8f\xbf\xbf", R R R R},	  /* overlong */
		{"\xed\xa0\x80", R R R},	  /* a surrogate */
		{"\xed\x9f\xbf", "\xed\x9f\xbf"}, /* the last one before the surrogates */
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xf4\x90\x80\x80", R R R R}, /* above U+10FFFF */
		{"\xf5\x80\x80\x80", R R R R},
		{"\xe2\x86", R R}, /* incomplete */
		{"\xe2\x86g", R R "g"},
		{"\xf0\x9f\x9a", R R R},
		{"\xc3\xc3\xa9", R "\xc3\xa9"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		json_t *text = json_text(cases[i].bytes, 100);

		assert_string_equal(json_string_value(text), cases[i].text);
		json_decref(text);
	}
}

/* For any two bytes, jansson accepts the result and returns the same text. */
TEST(test_text_every_pair)
{
	for (unsigned int i = 1; i < 0x10000; i++) {
		const char bytes[] = {(char)(i >> 8), (char)i};
		json_t *text = json_text(bytes, 2), *again;

		again = json_stringn(json_string_value(text), json_string_length(text));
		assert_non_null(again);
		json_decref(again);
		json_decref(text);
	}
}

TEST(test_text_bounds)
{
	const char bytes[] = {'a', 'b', (char)0xc3, (char)0xa9};
	json_t *text = json_text(bytes, 3);

	assert_string_equal(json_string_value(text), "ab" R);
	json_decref(text);
	text = json_text(bytes, 0);
	assert_string_equal(json_string_value(text), "");
	json_decref(text);
}

/* ---- out of memory ------------------------------------------------------------------ */

static long allocations_left;

static void *failing_malloc(size_t size)
{
	return allocations_left-- > 0 ? malloc(size) : NULL;
}

/* Includes an owner if this host has a cgroup2 file system. */
static json_t *make_latency_record(void)
{
	struct attribution *attribution = NULL;
	struct stat root;
	struct stages stages;
	json_t *object;

	assert_int_equal(attribution_new(&attribution, NULL), 0);
	if (stat("/sys/fs/cgroup", &root) == 0)
		journey_record.cgroup = root.st_ino;
	object = resolved_latency_json(attribution, &stages);
	attribution_free(&attribution);
	return object;
}

static json_t *make(unsigned int what)
{
	static const struct device device = {.name = "eth0", .ifindex = 2, .netns = 3};
	struct drop_row drops = full_row();
	struct nf_hist hist = {.sum_ns = 9, .max_ns = 9};

	hist.bucket[8] = 1;
	drops.key.flow = "x";
	drops.key.candidates = "TCP_CSUM\tfault\n";
	switch (what) {
	case 0:
		return resolved_drop_json(&record, names, symbols);
	case 1:
		return json_drop_row(&drops, DROP_FIELDS | DROP_FLOW);
	case 2:
		return make_latency_record();
	default:
		return latency(NF_SEGMENT_RX_TOTAL, &device, &hist);
	}
}

/* Fails each allocation in turn: the result is NULL or complete, and ASan finds no leak. */
TEST_WITH(test_out_of_memory, start_path, NULL)
{
	record.header.size = sizeof(record);
	record.stack_len = 2;
	record.bytes.flags |= NF_BYTES_VLAN;
	record.bytes.vlan_proto = 0x8100;
	journey_record.bytes = record.bytes;
	for (unsigned int what = 0; what < 4; what++) {
		json_t *whole = make(what), *object = NULL;
		long n;

		json_set_alloc_funcs(failing_malloc, free);
		for (n = 0; !object && n < 1000; n++) {
			allocations_left = n;
			object = make(what);
		}
		json_set_alloc_funcs(malloc, free);
		assert_true(n > 20 && n < 1000);
		/* The times are others if the clock was set in between. */
		if (!json_equal(object, whole)) {
			json_decref(whole);
			whole = make(what);
		}
		assert_true(json_equal(object, whole));
		json_decref(object);
		json_decref(whole);
	}
}
