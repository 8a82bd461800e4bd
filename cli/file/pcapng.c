/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/file/pcapng.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Block types (section 11.1) and option codes (sections 3.5 and 4) of draft-ietf-opsawg-pcapng. */
#define BLOCK_SECTION 0x0a0d0d0aU
#define BLOCK_INTERFACE 1U
#define BLOCK_PACKET 6U
#define BYTE_ORDER_MAGIC 0x1a2b3c4dU
#define OPTION_END 0
#define OPTION_COMMENT 1
/* of a section */
#define OPTION_APPLICATION 4
/* of an interface */
#define OPTION_NAME 2
#define OPTION_DESCRIPTION 3
#define OPTION_TIME_RESOLUTION 9
#define RESOLUTION_NS 9 /* 10^-9 s */
#define OPTION_MAX 65535
#define SNAP_LENGTH 65535

struct interface {
	char *device;
	char *description;
	enum pcapng_link link;
};

struct pcapng {
	FILE *out;
	struct interface *interfaces;
	size_t interfaces_count;
	uint64_t packets;
};

/* A block under construction: type, length, body, options.  Each part is padded to a multiple of four bytes. */
struct block {
	uint8_t *bytes;
	size_t used;
	size_t size;
	bool failed;
};

static void block_free(struct block *block)
{
	free(block->bytes);
}

#define OWN_BLOCK CLEANUP(block_free)

static void put_bytes(struct block *block, const void *bytes, size_t len)
{
	size_t padded = (len + 3) & ~(size_t)3;

	if (block->used + padded > block->size) {
		size_t size = (block->used + padded) * 2;
		uint8_t *more = realloc(block->bytes, size);

		if (!more) {
			block->failed = true;
			return;
		}
		block->bytes = more;
		block->size = size;
	}
	memset(block->bytes + block->used, 0, padded);
	if (len)
		memcpy(block->bytes + block->used, bytes, len);
	block->used += padded;
}

static void put_32(struct block *block, uint32_t value)
{
	put_bytes(block, &value, sizeof(value));
}

static void put_16(struct block *block, uint16_t first, uint16_t second)
{
	uint16_t both[] = {first, second};

	put_bytes(block, both, sizeof(both));
}

/* How many bytes of `text` fit into an option, without an incomplete UTF-8 character at the end. */
static size_t option_length(const char *text)
{
	size_t len = strlen(text);

	if (len <= OPTION_MAX)
		return len;
	for (len = OPTION_MAX; len && (text[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

static void put_option(struct block *block, uint16_t code, const void *value, size_t len)
{
	put_16(block, code, (uint16_t)len);
	put_bytes(block, value, len);
}

static void put_text(struct block *block, uint16_t code, const char *text)
{
	if (text && *text)
		put_option(block, code, text, option_length(text));
}

static void block_begin(struct block *block, uint32_t type)
{
	put_32(block, type);
	put_32(block, 0);
}

/* End the options, fill in the length at both ends, and write the block.  0 or a negative errno. */
static int block_write(struct block *block, FILE *out)
{
	uint32_t length;

	put_16(block, OPTION_END, 0);
	put_32(block, 0);
	if (block->failed)
		return -ENOMEM;
	length = (uint32_t)block->used;
	memcpy(block->bytes + 4, &length, sizeof(length));
	memcpy(block->bytes + block->used - 4, &length, sizeof(length));
	errno = 0;
	if (fwrite(block->bytes, 1, block->used, out) == block->used)
		return 0;
	return errno ? -errno : -EIO;
}

static int write_section(FILE *out, const char *application)
{
	OWN_BLOCK struct block block = {};
	uint64_t unknown = UINT64_MAX;

	block_begin(&block, BLOCK_SECTION);
	put_32(&block, BYTE_ORDER_MAGIC);
	put_16(&block, 1, 0); /* version 1.0 */
	put_bytes(&block, &unknown, sizeof(unknown));
	put_text(&block, OPTION_APPLICATION, application);
	return block_write(&block, out);
}

int pcapng_new(struct pcapng **pcapng, FILE *out, const char *application)
{
	OWN_PCAPNG struct pcapng *new = calloc(1, sizeof(*new));
	int r;

	if (!new)
		return -ENOMEM;
	new->out = out;
	r = write_section(out, application);
	if (r)
		return r;
	*pcapng = TAKE_PTR(new);
	return 0;
}

void pcapng_free(struct pcapng **pcapng)
{
	struct pcapng *old = *pcapng;

	if (!old)
		return;
	for (size_t i = 0; i < old->interfaces_count; i++) {
		free(old->interfaces[i].device);
		free(old->interfaces[i].description);
	}
	free(old->interfaces);
	free(old);
	*pcapng = NULL;
}

static int write_interface(FILE *out, const struct interface *interface)
{
	OWN_BLOCK struct block block = {};
	uint8_t resolution = RESOLUTION_NS;

	block_begin(&block, BLOCK_INTERFACE);
	put_16(&block, (uint16_t)interface->link, 0);
	put_32(&block, SNAP_LENGTH);
	put_text(&block, OPTION_NAME, interface->device);
	put_text(&block, OPTION_DESCRIPTION, interface->description);
	put_option(&block, OPTION_TIME_RESOLUTION, &resolution, sizeof(resolution));
	return block_write(&block, out);
}

static int add_interface(struct pcapng *pcapng, const struct pcapng_packet *packet)
{
	struct interface new = {
		.device = strdup(packet->device),
		.description = strdup(packet->description),
		.link = packet->link,
	};
	struct interface *more = NULL;
	int r = -ENOMEM;

	if (new.device &&new.description)
		more = reallocarray(pcapng->interfaces, pcapng->interfaces_count + 1, sizeof(new));
	if (more) {
		pcapng->interfaces = more;
		r = write_interface(pcapng->out, &new);
	}
	if (r) {
		free(new.device);
		free(new.description);
		return r;
	}
	pcapng->interfaces[pcapng->interfaces_count++] = new;
	return 0;
}

static int find_interface(struct pcapng *pcapng, const struct pcapng_packet *packet,
			  uint32_t *number)
{
	int r;

	for (size_t i = 0; i < pcapng->interfaces_count; i++) {
		const struct interface *known = &pcapng->interfaces[i];

		if (known->link != packet->link || strcmp(known->device, packet->device) ||
		    strcmp(known->description, packet->description))
			continue;
		*number = (uint32_t)i;
		return 0;
	}
	r = add_interface(pcapng, packet);
	if (!r)
		*number = (uint32_t)(pcapng->interfaces_count - 1);
	return r;
}

int pcapng_write(struct pcapng *pcapng, const struct pcapng_packet *packet)
{
	OWN_BLOCK struct block block = {};
	uint32_t number;
	int r = find_interface(pcapng, packet, &number);

	if (r)
		return r;
	block_begin(&block, BLOCK_PACKET);
	put_32(&block, number);
	put_32(&block, (uint32_t)(packet->time_ns >> 32));
	put_32(&block, (uint32_t)packet->time_ns);
	put_32(&block, packet->captured);
	put_32(&block, packet->length);
	put_bytes(&block, packet->bytes, packet->captured);
	put_text(&block, OPTION_COMMENT, packet->comment);
	r = block_write(&block, pcapng->out);
	if (!r)
		pcapng->packets++;
	return r;
}

uint64_t pcapng_packets(const struct pcapng *pcapng)
{
	return pcapng->packets;
}
