/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GetDrops. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/json.h"
#include "common/nearest.h"
#include "common/time.h"
#include "daemon/control/drop_marks.h"
#include "daemon/control/drop_owners.h"
#include "daemon/control/elsewhere.h"
#include "daemon/control/filter.h"
#include "daemon/control/internal.h"
#include "daemon/control/pages.h"
#include "daemon/control/past.h"
#include "daemon/control/records.h"
#include "daemon/core/drop.h"
#include "daemon/core/owner.h"
#include "daemon/core/packet.h"
#include "daemon/json/json.h"
#include "daemon/kernel/attribution.h"
#include "daemon/probe/backend.h"
#include "daemon/store/causes.h"

/* Rows in one reply by default. */
#define ROWS_BY_DEFAULT 100

/* A row of the reply: one counter, or the sum of several. */
struct row {
	struct backend_drops drops;
	struct baseline_rate rate;
	const struct verdict
		*verdict;  /* of the counter; of a sum only what its grouping compares */
	const char *owner; /* cgroup of the processes in the namespace; NULL: not known */
	char flow[PACKET_FLOW_MAX];
};

struct rows {
	struct row *row;
	size_t count, room;
	struct drop_owners *owners; /* own the texts of the rows */
	struct causes *causes;	    /* own the verdicts of the rows */
	uint64_t class
		[KNOWLEDGE_CLASSES]; /* packets that the filter selects, of each class, hidden or not */
	uint64_t messages;	     /* what the filter selects and is not a packet */
	/* Packets whose device or namespace, which the filter asks for, is no longer known. */
	uint64_t folded;
	const struct filter *filter;
	const struct control *control;
	struct baseline_view *view; /* NULL: there is none */
};

/* ---- grouping ---------------------------------------------------------- */

typedef int (*compare_rows)(const void *a, const void *b);

/* Rows that lack fields stay apart from rows in which the same fields are not known. */
enum kind { KEYED, COARSE, GONE, UNKEYED };

static enum kind kind_of(const struct backend_drops *drops)
{
	if (drops->unkeyed)
		return UNKEYED;
	if (drops->gone)
		return GONE;
	return drops->key.flags & NF_KEY_COARSE ? COARSE : KEYED;
}

static int compare_kind(const struct row *a, const struct row *b)
{
	return ORDER(kind_of(&a->drops), kind_of(&b->drops));
}

static int first_of(int order, int next)
{
	return order ? order : next;
}

/* Of drops without a cgroup of their own. */
static int compare_owner(const struct row *a, const struct row *b)
{
	return strcmp(a->owner ? a->owner : "", b->owner ? b->owner : "");
}

/* The drops of a row are of one class, so that a fault has a row of its own, whatever the rows are joined by. */
static int compare_class(const struct row *a, const struct row *b)
{
	return ORDER(verdict_rank(a->verdict->class), verdict_rank(b->verdict->class));
}

#define COMPARE_BY(name, ...)                                                    \
	static int compare_##name(const void *x, const void *y)                  \
	{                                                                        \
		const struct row *a = x, *b = y;                                 \
		const struct nf_drop_key *k = &a->drops.key, *l = &b->drops.key; \
		(void)k;                                                         \
		(void)l;                                                         \
		return first_of(compare_class(a, b), __VA_ARGS__);               \
	}

/* The kernel's own reasons have several names if it gave one of them a finer one. */
COMPARE_BY(reason, first_of(verdict_compare(a->verdict, b->verdict), ORDER(k->reason, l->reason)))
COMPARE_BY(location, ORDER(k->location, l->location))
/* A namespace with too many keys still knows its coarse ones. */
COMPARE_BY(netns, first_of(ORDER(k->netns, l->netns), ORDER(a->drops.gone + 2 * a->drops.unkeyed,
							    b->drops.gone + 2 * b->drops.unkeyed)))
COMPARE_BY(cgroup,
	   first_of(ORDER(k->cgroup, l->cgroup), first_of(compare_kind(a, b), compare_owner(a, b))))
COMPARE_BY(flow, strcmp(a->flow, b->flow))
COMPARE_BY(device, first_of(ORDER(a->drops.identity, b->drops.identity), compare_kind(a, b)))
/* The programs leave l4 at 0 where it is not known. */
COMPARE_BY(protocol, first_of(ORDER((uint32_t)k->protocol << 16 | (uint32_t)k->flags << 8 | k->l4,
				    (uint32_t)l->protocol << 16 | (uint32_t)l->flags << 8 | l->l4),
			      compare_kind(a, b)))
COMPARE_BY(packets, first_of(drop_marks_order(a->rate.mark, b->rate.mark),
			     -ORDER(a->drops.packets, b->drops.packets)))

/* The other fields of a key than location, namespace and evidence, as one order. */
static int compare_rest(const struct nf_drop_key *k, const struct nf_drop_key *l)
{
	int order = ORDER(k->device, l->device);

	if (!order)
		order = ORDER(k->cgroup, l->cgroup);
	if (!order)
		order = ORDER(k->reason, l->reason);
	return order ? order
		     : ORDER((uint32_t)k->protocol << 16 | (uint32_t)k->flags << 8 | k->l4,
			     (uint32_t)l->protocol << 16 | (uint32_t)l->flags << 8 | l->l4);
}

/*
 * Joins the keys that only their evidence distinguishes, if that means the same.  There can be tens of thousands of
 * rows, so the fields that differ most often come first.
 */
static int compare_key(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	const struct nf_drop_key *k = &a->drops.key, *l = &b->drops.key;
	int order = ORDER(k->location, l->location);

	if (!order)
		order = ORDER(k->netns, l->netns);
	if (!order)
		order = compare_rest(k, l);
	if (!order)
		order = ORDER(a->drops.identity, b->drops.identity);
	if (!order)
		order = compare_kind(a, b);
	return order ? order : verdict_compare(a->verdict, b->verdict);
}

static const struct grouping {
	const char *name;
	compare_rows compare;
	unsigned int fields; /* enum json_drops_field that its rows have in common */
} groupings[] = {
	{"reason", compare_reason, JSON_DROPS_REASON},
	{"location", compare_location, JSON_DROPS_LOCATION},
	{"dev", compare_device, JSON_DROPS_DEVICE | JSON_DROPS_NETNS},
	{"proto", compare_protocol, JSON_DROPS_PROTOCOL},
	{"netns", compare_netns, JSON_DROPS_NETNS},
	{"cgroup", compare_cgroup, JSON_DROPS_CGROUP},
	{"flow", compare_flow, 0},
};

static const struct grouping *find_grouping(const char *name, struct nearest *nearest)
{
	nearest_init(nearest, name);
	for (size_t i = 0; i < ARRAY_SIZE(groupings); i++) {
		if (!strcmp(groupings[i].name, name))
			return &groupings[i];
		nearest_consider(nearest, groupings[i].name);
	}
	return NULL;
}

static void merge(struct backend_drops *into, const struct backend_drops *from)
{
	into->packets += from->packets;
	into->segments += from->segments;
	into->bytes += from->bytes;
	into->unmeasured |= from->unmeasured;
	into->gone &= from->gone;
	into->unkeyed &= from->unkeyed;
	into->key.flags &= from->key.flags | (__u8)~NF_KEY_COARSE;
	into->key.evidence &= from->key.evidence;
	if (from->last_ns > into->last_ns)
		into->last_ns = from->last_ns;
}

/* Merge equal rows, in place. */
static void group(struct rows *rows, compare_rows compare)
{
	size_t kept = 0;

	if (!rows->count)
		return;
	qsort(rows->row, rows->count, sizeof(rows->row[0]), compare);
	for (size_t i = 1; i < rows->count; i++) {
		if (compare(&rows->row[kept], &rows->row[i]) == 0) {
			merge(&rows->row[kept].drops, &rows->row[i].drops);
			drop_marks_join(&rows->row[kept].rate, &rows->row[i].rate);
		} else {
			rows->row[++kept] = rows->row[i];
		}
	}
	rows->count = kept + 1;
}

/* ---- collecting rows --------------------------------------------------- */

static struct row *add_row(struct rows *rows)
{
	if (ARRAY_GROW(rows->row, rows->count, rows->room) < 0)
		return NULL;
	rows->row[rows->count] = (struct row){0};
	return &rows->row[rows->count++];
}

/* Whether the filter asks for a field that the row has lost, and takes it otherwise. */
static bool has_lost_field(const struct filter *filter, const struct backend_drops *drops,
			   const struct cause *cause)
{
	bool folded = drops->gone || drops->unkeyed;
	bool by_device = filter->by_device &&
			 (folded || drops->key.flags & NF_KEY_COARSE ||
			  filter_place(filter, drops->device, drops->identity) == DEVICE_EARLIER);
	bool by_netns = filter->by_netns && folded;

	if (filter->by_reason && !reason_takes(&filter->reason, cause))
		return false;
	if (filter->by_netns && !folded && filter->netns != drops->netns)
		return false;
	return by_device || by_netns;
}

static int collect_counter(struct rows *rows, const struct backend_drops *drops)
{
	const struct cause *cause = causes_of(rows->causes, &drops->key);
	struct row *row;

	if (!cause)
		return -ENOMEM;
	if (has_lost_field(rows->filter, drops, cause)) {
		rows->folded += cause->verdict.message ? 0 : drops->packets;
		return 0;
	}
	if (!filter_takes(rows->filter, cause, drops->device, drops->identity, drops->netns))
		return 0;
	row = add_row(rows);
	if (!row)
		return -ENOMEM;
	row->drops = *drops;
	row->verdict = &cause->verdict;
	drop_marks_find(rows->view, rows->control, drops, cause, &row->rate);
	return 0;
}

/*
 * The kernel uses the inode number of a namespace that is gone again.  Of the namespaces with the number that the
 * filter asks for, only the one with the newest drop can exist; the others count as folded.
 */
static void leave_out_gone(struct rows *rows)
{
	const struct row *newest = NULL;
	size_t kept = 0;
	uint32_t alive;

	for (size_t i = 0; i < rows->count; i++)
		if (!newest || rows->row[i].drops.last_ns > newest->drops.last_ns)
			newest = &rows->row[i];
	if (!newest || !rows->filter->by_netns)
		return;
	alive = newest->drops.key.netns;
	for (size_t i = 0; i < rows->count; i++) {
		if (rows->row[i].drops.key.netns == alive)
			rows->row[kept++] = rows->row[i];
		else if (!rows->row[i].verdict->message)
			rows->folded += rows->row[i].drops.packets;
	}
	rows->count = kept;
}

/* Count the classes and the messages, and leave out messages and the classes that the filter hides. */
static void leave_out_hidden(struct rows *rows)
{
	size_t kept = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct row *row = &rows->row[i];

		if (row->verdict->message) {
			rows->messages += row->drops.packets;
			continue;
		}
		rows->class[row->verdict->class] += row->drops.packets;
		if (rows->filter->classes & VERDICT_CLASS_BIT(row->verdict->class))
			rows->row[kept++] = *row;
	}
	rows->count = kept;
}

static int collect_record(struct rows *rows, const struct drop *drop)
{
	const struct contents *contents = &drop->contents;
	struct row *row;

	static const struct verdict of_class[KNOWLEDGE_CLASSES] = {
		[KNOWLEDGE_FAULT] = {.class = KNOWLEDGE_FAULT},
		[KNOWLEDGE_POLICY] = {.class = KNOWLEDGE_POLICY},
		[KNOWLEDGE_BENIGN] = {.class = KNOWLEDGE_BENIGN},
		[KNOWLEDGE_UNKNOWN] = {.class = KNOWLEDGE_UNKNOWN},
	};

	if (!filter_takes_drop(rows->filter, drop))
		return 0;
	row = add_row(rows);
	if (!row)
		return -ENOMEM;
	row->verdict = &of_class[drop->cause.verdict.class];
	row->drops = (struct backend_drops){.packets = 1,
					    .segments = contents->bytes->segments,
					    .bytes = contents->bytes->len,
					    .unmeasured = !contents->bytes->segments ||
							  contents->bytes->flags & NF_BYTES_UNKNOWN,
					    .last_ns = drop->time_ns};
	_Static_assert(sizeof(row->flow) >= sizeof(contents->protocol), "a protocol fits");
	strcpy(row->flow, contents->flow[0] ? contents->flow : contents->protocol);
	return 0;
}

static int collect_counters(struct rows *rows)
{
	const struct reading *reading = control_reading(rows->control, DROPS);
	int r = 0;

	for (size_t i = 0; r == 0 && i < reading_count(reading); i++)
		r = collect_counter(rows, reading_drops(reading, i));
	leave_out_gone(rows);
	leave_out_hidden(rows);
	return r;
}

/* Drops without a socket belong to the owner of their namespace, if known.  Coarse keys have lost the difference. */
static int find_owners(struct rows *rows)
{
	int r = drop_owners_new(&rows->owners, rows->control->parts.attribution);

	for (size_t i = 0; r == 0 && i < rows->count; i++) {
		const struct backend_drops *drops = &rows->row[i].drops;

		if (kind_of(drops) == KEYED && !drops->key.cgroup)
			rows->row[i].owner =
				drop_owners_find(rows->owners, drops->key.netns, drops->netns);
	}
	return r;
}

/* ---- GetDrops ---------------------------------------------------------- */

/* The names of a cgroup, and their texts. */
struct named_owner {
	char path[ATTRIBUTION_CGROUP_MAX], unit[ATTRIBUTION_UNIT_MAX];
	char container[ATTRIBUTION_CONTAINER_MAX], pod[ATTRIBUTION_POD_MAX];
	struct owner owner;
};

/* That of the socket's cgroup or, for drops without a socket, that of the namespace. */
static const struct owner *name_owner(const struct control *control, const struct row *row,
				      struct named_owner *named)
{
	struct attribution *attribution = control->parts.attribution;
	uint64_t cgroup = row->drops.key.cgroup;

	if (row->owner)
		snprintf(named->path, sizeof(named->path), "%s", row->owner);
	else if (!cgroup || !attribution || !attribution_cgroup(attribution, cgroup, named->path))
		return NULL;
	named->owner = (struct owner){
		.cgroup = named->path,
		.unit = attribution_unit(named->path, named->unit),
		.container = attribution_container(named->path, named->container),
		.pod = attribution_pod(named->path, named->pod),
		.by_netns = row->owner,
	};
	return &named->owner;
}

/* The fields that the drops of a row have in common and have not lost. */
static unsigned int fields_of(const struct backend_drops *drops, const struct grouping *by)
{
	unsigned int fields = by ? by->fields : JSON_DROPS_ALL;

	if (drops->unkeyed)
		fields &= JSON_DROPS_REASON;
	if (drops->gone)
		fields &= JSON_DROPS_REASON | JSON_DROPS_LOCATION | JSON_DROPS_EVIDENCE;
	if (drops->key.flags & NF_KEY_COARSE)
		fields &= JSON_DROPS_REASON | JSON_DROPS_LOCATION | JSON_DROPS_NETNS |
			  JSON_DROPS_EVIDENCE;
	if (!drops->key.location)
		fields &= ~(unsigned int)JSON_DROPS_LOCATION;
	return fields;
}

static json_t *row_to_json(const struct control *control, const struct row *row,
			   const struct grouping *by)
{
	unsigned int fields = fields_of(&row->drops, by);
	struct named_owner owner;
	const struct nf_drop_key *key = &row->drops.key;
	char protocol[PACKET_PROTOCOL_MAX];
	struct cause cause;
	json_t *object;
	const struct json_drops out = {
		.cause = &cause,
		.fields = fields,
		.device = {.name = row->drops.device,
			   .ifindex = row->drops.ifindex,
			   .netns = row->drops.netns},
		.protocol = protocol,
		.cgroup = key->cgroup,
		.owner = fields & JSON_DROPS_CGROUP ? name_owner(control, row, &owner) : NULL,
		.flow = row->flow[0] ? row->flow : NULL,
		.gone = row->drops.gone,
		.unkeyed = row->drops.unkeyed,
		.coarse = key->flags & NF_KEY_COARSE,
		.packets = row->drops.packets,
		.unmeasured = row->drops.unmeasured,
		.segments = row->drops.segments,
		.bytes = row->drops.bytes,
		.last_ns = row->drops.last_ns,
	};

	records_cause(control->parts.records, backend_has_reasons(control->parts.backend), key,
		      &cause);
	/* The evidence of a sum is what its keys have in common, and can say less than each of them. */
	cause.verdict = *row->verdict;
	packet_drop_protocol(key->protocol, key->flags, key->l4, protocol);
	object = json_drops(&out);
	drop_marks_put(object, &row->rate, by);
	return object;
}

/* The packets of each class that the filter selects, hidden or not. */
static json_t *classes_to_json(const struct rows *rows)
{
	json_t *classes = json_object();

	for (int i = 0; i < KNOWLEDGE_CLASSES; i++)
		json_object_set_new(classes, knowledge_class_name((enum knowledge_class)i),
				    json_integer(json_count(rows->class[i])));
	return classes;
}

/* The number of packets of hidden classes; NULL if the client asked for no class. */
static json_t *hidden_to_json(const struct rows *rows)
{
	uint64_t hidden = 0;

	for (int i = 0; i < KNOWLEDGE_CLASSES; i++)
		if (!(rows->filter->classes & VERDICT_CLASS_BIT(i)))
			hidden += rows->class[i];
	return rows->filter->by_class ? json_integer(json_count(hidden)) : NULL;
}

struct drops_reply {
	const struct control *control;
	struct filter filter;
	struct rows rows;
	const struct grouping *by;
	uint64_t time_ns, packets, segments, bytes;
	bool unmeasured; /* segments and bytes are not known */
	bool complete;	 /* all rows are there */
	size_t record;	 /* by = flow: the next one, counted from the newest when the call came */
	uint64_t added;	 /* control->added[] at that time */
	size_t next;
};

/* NULL: it is not known. */
static json_t *measured(const struct drops_reply *reply, uint64_t sum)
{
	return reply->unmeasured ? NULL : json_integer(json_count(sum));
}

static json_t *head(void *state)
{
	const struct drops_reply *reply = state;
	const struct grouping *by = reply->by;
	bool lossy = reply->filter.by_device || reply->filter.by_netns;

	return json_pack(
		"{s:o, s:o, s:I, s:s*, s:b, s:I, s:o*, s:o*, s:o, s:I, s:o*, s:o*, s:o*, s:I, s:o*}",
		"time", json_time(reply->time_ns), "since",
		json_time(reply->control->parts.started_ns), "elapsed_ns",
		control_elapsed(reply->control, reply->time_ns), "renamed",
		reply->filter.renamed ? reply->filter.device : NULL, "exact",
		!by || by->compare != compare_flow, "packets", json_count(reply->packets),
		"segments", measured(reply, reply->segments), "bytes",
		measured(reply, reply->bytes), "classes", classes_to_json(&reply->rows), "messages",
		json_count(reply->rows.messages), "hidden", hidden_to_json(&reply->rows), "folded",
		lossy ? json_integer(json_count(reply->rows.folded)) : NULL, "baseline",
		by && by->compare == compare_flow
			? NULL
			: drop_marks_json(reply->control, reply->rows.view),
		"matched", json_count(reply->rows.count), "elsewhere",
		control_elsewhere(reply->control, &reply->filter));
}

/* All counters or records were collected. */
static void complete(struct drops_reply *reply)
{
	struct rows *rows = &reply->rows;

	reply->complete = true;
	group(rows, reply->by ? reply->by->compare : compare_key);
	if (rows->count)
		qsort(rows->row, rows->count, sizeof(rows->row[0]), compare_packets);
	for (size_t i = 0; i < rows->count; i++) {
		reply->packets += rows->row[i].drops.packets;
		reply->segments += rows->row[i].drops.segments;
		reply->bytes += rows->row[i].drops.bytes;
		reply->unmeasured |= rows->row[i].drops.unmeasured;
	}
}

/* The next record; newer ones that came since the call are left out. */
static int collect_next_record(struct drops_reply *reply)
{
	const struct control *control = reply->control;
	size_t newer = (size_t)(control->added[RECORDS_DROPS] - reply->added);
	struct drop drop;

	if (records_drop(control->parts.records, newer + reply->record++, &drop) == 0)
		return collect_record(&reply->rows, &drop);
	leave_out_hidden(&reply->rows);
	complete(reply);
	return 0;
}

static int next_row(void *state, json_t **row)
{
	struct drops_reply *reply = state;
	int r;

	if (!reply->complete) {
		r = collect_next_record(reply);
		return r < 0 ? r : 1;
	}
	if (reply->next == reply->rows.count)
		return 0;
	*row = row_to_json(reply->control, &reply->rows.row[reply->next++], reply->by);
	return *row ? 1 : -ENOMEM;
}

static void drops_reply_free(void *state)
{
	struct drops_reply *reply = state;

	filter_clear(&reply->filter);
	free(reply->rows.row);
	drop_owners_free(&reply->rows.owners);
	baseline_view_release(&reply->rows.view);
	causes_free(&reply->rows.causes);
	free(reply);
}

static const struct pages_source source = {
	.member = "rows", .head = head, .next = next_row, .free = drops_reply_free};

static int begin_rows(struct drops_reply *reply, struct call *call, json_t *parameters)
{
	int r = filter_read(&reply->filter, reply->control, call, parameters);

	if (r == 0)
		r = causes_new(&reply->rows.causes, reply->control->parts.records,
			       backend_has_reasons(reply->control->parts.backend));
	if (r < 0)
		return r;
	reply->time_ns = time_monotonic();
	reply->added = reply->control->added[RECORDS_DROPS];
	if (reply->by && reply->by->compare == compare_flow)
		return 0;
	reply->time_ns = reading_time(control_reading(reply->control, DROPS));
	reply->rows.view = drop_marks_view(reply->control);
	r = collect_counters(&reply->rows);
	if (r == 0 && (!reply->by || reply->by->fields & JSON_DROPS_CGROUP))
		r = find_owners(&reply->rows);
	if (r == 0)
		complete(reply);
	return r;
}

/* The parameter `by` was checked before. */
static int answer(struct call *call, json_t *parameters, void *userdata)
{
	size_t limit = pages_read_limit(call, parameters, ROWS_BY_DEFAULT);
	size_t top = limit ? control_read_count(call, parameters, "top", SIZE_MAX) : 0;
	const char *by = json_string_value(json_object_get(parameters, "by"));
	struct drops_reply *reply;
	struct nearest nearest;
	int r;

	if (!top)
		return -EINVAL;
	reply = calloc(1, sizeof(*reply));
	if (!reply)
		return -ENOMEM;
	reply->control = userdata;
	reply->by = by ? find_grouping(by, &nearest) : NULL;
	reply->rows = (struct rows){.filter = &reply->filter, .control = userdata};
	r = begin_rows(reply, call, parameters);
	if (r < 0) {
		drops_reply_free(reply);
		return r;
	}
	return pages_reply(userdata, call, &source, reply, top < limit ? top : limit);
}

int method_get_drops(struct call *call, json_t *parameters, void *userdata)
{
	static const struct parameter table[] = {
		{"by", PARAMETER_STRING, true},
		{"reason", PARAMETER_STRING, true},
		{"device", PARAMETER_STRING, true},
		{"netns", PARAMETER_STRING, true},
		{"faults", PARAMETER_BOOL, true},
		{"classes", PARAMETER_ARRAY, true},
		{"top", PARAMETER_INT, true},
		{"limit", PARAMETER_INT, true},
		{"max_age_ms", PARAMETER_INT, true},
		PAST_PARAMETERS,
		{NULL, 0, 0},
	};
	struct control *control = userdata;
	struct nearest nearest;
	const char *name;

	if (call_check_parameters(call, parameters, table) < 0)
		return -EINVAL;
	name = json_string_value(json_object_get(parameters, "by"));
	if (name && !find_grouping(name, &nearest))
		return call_error(call, "io.netflowd.UnknownField",
				  json_pack("{s:s, s:s*}", "field", name, "nearest", nearest.best));
	if (past_wanted(parameters))
		return past_reply(control, call, parameters, &past_drops);
	if (control_no_data(control, call))
		return 0;
	return control_read(control, call, parameters, READING_BIT(DROPS), answer);
}
