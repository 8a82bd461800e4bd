/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/file/capture.h"

#include <errno.h>
#include <string.h>

#include "cli/ask/field.h"
#include "cli/show/drop_lines.h"
#include "common/array.h"
#include "common/segment_name.h"
#include "common/version.h"

#define APPLICATION "netflowctl " NETFLOWD_VERSION

#define MAC_BYTES 6
#define TYPE_BYTES 2
#define TAG_BYTES 4
#define SLL_BYTES 16
#define HEADER_MAX 256 /* more than io.netflowd's limit of 128 bytes */
#define FRAME_MAX (2 * MAC_BYTES + TAG_BYTES + SLL_BYTES + HEADER_MAX)

/* Packet types of LINKTYPE_LINUX_SLL.  ARPHRD_VOID stands for a device whose type is not known. */
#define SLL_TO_US 0
#define SLL_FROM_US 4
#define ARPHRD_VOID 0xffff
#define ETHERTYPE_UNKNOWN 0xffff

int capture_open(struct capture *capture, const char *path, bool flush)
{
	OWN_CAPTURE struct capture new = {.flush = flush};
	/* A file that a program reads while it grows must have its final name from the start. */
	int r = output_open(&new.output, path, !flush);

	if (!r)
		r = pcapng_new(&new.pcapng, new.output.file, APPLICATION);
	if (r)
		return r;
	*capture = new;
	new = (struct capture){};
	return 0;
}

int capture_close(struct capture *capture, uint64_t *packets)
{
	*packets = pcapng_packets(capture->pcapng);
	return output_close(&capture->output);
}

void capture_done(struct capture *capture)
{
	pcapng_free(&capture->pcapng);
	output_drop(&capture->output);
}

/* ---- the frame ----------------------------------------------------------- */

struct frame {
	uint8_t bytes[FRAME_MAX];
	uint32_t used;
	uint32_t link_bytes;
	enum pcapng_link link;
};

static int digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Read pairs of hexadecimal digits into at most `max` bytes; returns the number of bytes. */
static size_t read_hex(const char *text, uint8_t *bytes, size_t max)
{
	size_t len = 0;

	while (text && len < max && digit(text[0]) >= 0 && digit(text[1]) >= 0) {
		bytes[len++] = (uint8_t)(digit(text[0]) << 4 | digit(text[1]));
		text += 2;
	}
	return len;
}

static void put_16(struct frame *frame, uint64_t value)
{
	frame->bytes[frame->used++] = (uint8_t)(value >> 8);
	frame->bytes[frame->used++] = (uint8_t)value;
}

static void put_mac(struct frame *frame, const char *text)
{
	unsigned int mac[MAC_BYTES] = {};

	sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &mac[0], &mac[1], &mac[2], &mac[3], &mac[4],
	       &mac[5]);
	for (size_t i = 0; i < MAC_BYTES; i++)
		frame->bytes[frame->used++] = (uint8_t)mac[i];
}

/* Whether the recorded bytes begin with the VLAN tag: the kernel had not yet moved the network header past it. */
static bool has_tag(const uint8_t *bytes, size_t len, uint64_t id, uint64_t type)
{
	return len >= TAG_BYTES && ((uint64_t)(bytes[0] & 0xf) << 8 | bytes[1]) == id &&
	       ((uint64_t)bytes[2] << 8 | bytes[3]) == type;
}

static void put_ethernet(struct frame *frame, const json_t *record, const uint8_t *header,
			 size_t header_len)
{
	const json_t *ethernet = json_object_get(record, "ethernet");
	const json_t *vlan = json_object_get(record, "vlan");
	uint64_t type = field_count_or(ethernet, "type", ETHERTYPE_UNKNOWN), id;

	frame->link = PCAPNG_ETHERNET;
	put_mac(frame, field_text(ethernet, "destination"));
	put_mac(frame, field_text(ethernet, "source"));
	if (field_count(vlan, "id", &id)) {
		put_16(frame, field_count_or(vlan, "protocol", 0x8100));
		if (has_tag(header, header_len, id, type))
			return;
		put_16(frame, field_count_or(vlan, "priority", 0) << 13 | id);
	}
	put_16(frame, type);
}

/* The EtherType of "ipv4/udp", "arp", "0x88cc". */
static uint64_t type_of(const char *protocol)
{
	static const struct {
		const char *name;
		uint64_t type;
	} known[] = {{"ipv4", 0x0800}, {"ipv6", 0x86dd}, {"arp", 0x0806}};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strncmp(protocol, known[i].name, strlen(known[i].name)))
			return known[i].type;
	if (!strncmp(protocol, "0x", 2))
		return strtoul(protocol, NULL, 16) & 0xffff;
	return ETHERTYPE_UNKNOWN;
}

static void put_cooked(struct frame *frame, const json_t *record)
{
	bool sent = !strcmp(field_text(record, "outcome"), "transmitted");

	frame->link = PCAPNG_LINUX_SLL;
	put_16(frame, sent ? SLL_FROM_US : SLL_TO_US);
	put_16(frame, ARPHRD_VOID);
	frame->used += 2 + 8; /* there is no address: its length and its bytes are 0 */
	put_16(frame, type_of(field_text(record, "protocol")));
}

static void make_frame(struct frame *frame, const json_t *record)
{
	uint8_t header[HEADER_MAX];
	size_t len = read_hex(field_text_or(record, "header", NULL), header, sizeof(header));

	*frame = (struct frame){};
	if (json_is_object(json_object_get(record, "ethernet")))
		put_ethernet(frame, record, header, len);
	else
		put_cooked(frame, record);
	frame->link_bytes = frame->used;
	memcpy(frame->bytes + frame->used, header, len);
	frame->used += (uint32_t)len;
}

/*
 * The length on the wire in bytes.  The IP header is more reliable than skb->len, which lacks headers that the kernel
 * has pulled, and includes the link header on some paths.
 */
static uint32_t wire_length(const json_t *record, const struct frame *frame)
{
	const json_t *ip = json_object_get(record, "ip");
	uint64_t length = field_count_or(record, "length_bytes", 0);

	if (field_count(ip, "length_bytes", &length) || frame->link == PCAPNG_LINUX_SLL)
		length += frame->link_bytes;
	if (length < frame->used)
		length = frame->used;
	return length < UINT32_MAX ? (uint32_t)length : UINT32_MAX;
}

/* ---- comments ------------------------------------------------------------ */

static void comment_device(FILE *out, const json_t *device)
{
	fprintf(out, "%s", field_text(device, "device"));
	if (field_text_or(device, "netns_name", NULL))
		fprintf(out, "@%s", field_text(device, "netns_name"));
}

static void comment_task(FILE *out, const json_t *task, const char *before)
{
	if (json_is_object(task))
		fprintf(out, "%s%s[%s]", before, field_text(task, "comm"),
			field_units_number(task, "pid").s);
}

static void comment_drop(FILE *out, const json_t *record)
{
	const json_t *task = json_object_get(record, "task");
	OWN_FREE char *reason = drop_lines_reason(record);

	fprintf(out, "dropped: %s, class %s, at %s, CPU %s, skb length %s B", reason ? reason : "?",
		field_text_or(record, "class", "unknown"), field_text(record, "location"),
		field_units_number(record, "cpu").s, field_units_number(record, "length_bytes").s);
	if (field_true(task, "involved"))
		comment_task(out, task, ", task ");
	else if (task && !json_is_boolean(json_object_get(task, "involved")))
		comment_task(out, task, ", not known whether involved: task ");
}

/* "receive→copy" of a StageTime. */
static struct segment_text segment_of(const json_t *time)
{
	return segment_name_text(
		segment_name_join(field_text(time, "from"), field_text(time, "to")).s);
}

static void comment_latency(FILE *out, const json_t *record)
{
	const json_t *part;
	size_t i;

	fprintf(out, "%s after %s%s, most of it %s", field_text(record, "outcome"),
		field_units_duration(record, "total_ns").s,
		field_true(record, "slow") ? " (slow)" : "",
		segment_name_text(field_text(record, "dominant")).s);
	json_array_foreach(json_object_get(record, "devices"), i, part)
	{
		fprintf(out, "%s", i ? " → " : "; ");
		comment_device(out, part);
	}
	comment_task(out, json_object_get(record, "task"), "; ");
	json_array_foreach(json_object_get(record, "times"), i, part) fprintf(
		out, "\n%s %s", segment_of(part).s, field_units_duration(part, "duration_ns").s);
	json_array_foreach(json_object_get(record, "missing"), i, part) fprintf(
		out, "\nnot known: %s (%s)", field_text(part, "stage"), field_text(part, "reason"));
}

/* ---- packets ------------------------------------------------------------- */

static char *describe_netns(const json_t *netns, const char *name)
{
	char *text = NULL;

	if (!json_is_integer(netns))
		return strdup("");
	if (asprintf(&text, "network namespace %lld%s%s", (long long)json_integer_value(netns),
		     name ? " " : "", name ? name : "") < 0)
		return NULL;
	return text;
}

static int write_packet(struct capture *capture, const json_t *record, const json_t *device,
			void (*comment_of)(FILE *, const json_t *))
{
	OWN_FREE char *comment = NULL;
	OWN_FREE char *description = describe_netns(json_object_get(device, "netns"),
						    field_text_or(device, "netns_name", NULL));
	struct pcapng_packet packet = {
		.device = field_text_or(device, "device", "unknown"),
		.description = description,
	};
	struct frame frame;
	size_t size;
	FILE *out = open_memstream(&comment, &size);
	int r;

	if (!out)
		return -ENOMEM;
	comment_of(out, record);
	if (fclose(out) || !description)
		return -ENOMEM;
	make_frame(&frame, record);
	packet.link = frame.link;
	packet.bytes = frame.bytes;
	packet.captured = frame.used;
	packet.length = wire_length(record, &frame);
	packet.comment = comment;
	field_epoch(record, "time", &packet.time_ns);
	r = pcapng_write(capture->pcapng, &packet);
	if (r || !capture->flush)
		return r;
	return fflush(capture->output.file) ? -errno : 0;
}

int capture_drop(struct capture *capture, const json_t *record)
{
	return write_packet(capture, record, record, comment_drop);
}

int capture_latency(struct capture *capture, const json_t *record)
{
	const json_t *devices = json_object_get(record, "devices");
	size_t count = json_array_size(devices);

	/* The record's time is the end of its journey, so the packet belongs to the last device. */
	return write_packet(capture, record, count ? json_array_get(devices, count - 1) : NULL,
			    comment_latency);
}
