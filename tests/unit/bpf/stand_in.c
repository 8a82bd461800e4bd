/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/unit/bpf/stand_in.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAPS 64
#define BUCKETS 1024 /* of a hash map; a power of two */
#define NONE UINT32_MAX

/* include/uapi/linux/bpf.h */
enum {
	TYPE_HASH = 1,
	TYPE_ARRAY = 2,
	TYPE_PERCPU_HASH = 5,
	TYPE_PERCPU_ARRAY = 6,
	TYPE_OUTER = 12,
	TYPE_QUEUE = 22,
	TYPE_RING = 27,
};
enum { ANY, NOEXIST, EXIST };

struct map {
	const void *address;
	uint32_t type;
	size_t key_size, value_size; /* value_size: bytes of one CPU's value */
	uint32_t cpus;		     /* values of each key */
	uint32_t entries;	     /* max_entries */
	char *values;
	/* A queue: its values are at [first, first + used), modulo its entries. */
	uint32_t first;
	/* A hash: the used keys are at [0, used), and each bucket begins a list of them. */
	char *keys;
	uint32_t used;
	uint32_t *next;
	uint32_t *bucket;
};

struct record {
	struct record *next;
	size_t size;
	_Alignas(8) char data[];
};

struct stand_in stand_in;
static struct map maps[MAPS];
static size_t map_count;
static struct record *first_record, **last_record = &first_record;
static size_t record_count, reserved_count;

static _Noreturn void fail(const char *what)
{
	fprintf(stderr, "stand-in: %s\n", what);
	abort();
}

static void hook(enum stand_in_point point)
{
	if (stand_in.hook)
		stand_in.hook(point);
}

static void *zeros(size_t count, size_t size)
{
	void *memory = calloc(count ? count : 1, size ? size : 1);

	if (!memory)
		fail("no memory");
	return memory;
}

void stand_in_free(void)
{
	for (size_t i = 0; i < map_count; i++) {
		free(maps[i].values);
		free(maps[i].keys);
		free(maps[i].next);
		free(maps[i].bucket);
	}
	map_count = 0;
	stand_in_forget_records();
}

void stand_in_reset(__u32 cpus)
{
	stand_in_free();
	stand_in = (struct stand_in){.cpus = cpus};
	reserved_count = 0;
}

/* ---- maps ---- */

void stand_in_add_map(const void *map, __u32 type, size_t key_size, size_t value_size,
		      __u32 entries)
{
	bool per_cpu = type == TYPE_PERCPU_HASH || type == TYPE_PERCPU_ARRAY;
	struct map *m = &maps[map_count];

	if (map_count == MAPS)
		fail("too many maps");
	*m = (struct map){
		.address = map,
		.type = type,
		.key_size = key_size,
		.value_size = value_size,
		.cpus = per_cpu ? stand_in.cpus : 1,
		.entries = entries,
	};
	map_count++;
	m->values = zeros(entries, value_size * m->cpus);
	if (type != TYPE_HASH && type != TYPE_PERCPU_HASH)
		return;
	m->keys = zeros(entries, key_size);
	m->next = zeros(entries, sizeof(*m->next));
	m->bucket = zeros(BUCKETS, sizeof(*m->bucket));
	for (size_t i = 0; i < BUCKETS; i++)
		m->bucket[i] = NONE;
}

static struct map *map_at(const void *address)
{
	for (size_t i = 0; i < map_count; i++)
		if (maps[i].address == address)
			return &maps[i];
	fail("a program uses a map that the test does not add");
}

static bool is_array(const struct map *m)
{
	return m->type == TYPE_ARRAY || m->type == TYPE_PERCPU_ARRAY || m->type == TYPE_OUTER;
}

static char *key_at(const struct map *m, uint32_t index)
{
	return m->keys + m->key_size * index;
}

static char *values_at(const struct map *m, uint32_t index)
{
	return m->values + m->value_size * m->cpus * index;
}

/* FNV-1a */
static uint32_t *bucket_of(const struct map *m, const void *key)
{
	const uint8_t *byte = key;
	uint32_t hash = 2166136261;

	for (size_t i = 0; i < m->key_size; i++)
		hash = (hash ^ byte[i]) * 16777619;
	return &m->bucket[(hash ^ hash >> 16) & (BUCKETS - 1)];
}

/* The index of a key, NONE if the map does not have it. */
static uint32_t find(const struct map *m, const void *key)
{
	uint32_t index;

	if (is_array(m)) {
		memcpy(&index, key, sizeof(index));
		return index < m->entries ? index : NONE;
	}
	for (index = *bucket_of(m, key); index != NONE; index = m->next[index])
		if (!memcmp(key_at(m, index), key, m->key_size))
			return index;
	return NONE;
}

static char *value_of_cpu(const struct map *m, uint32_t index, uint32_t cpu)
{
	return values_at(m, index) + (m->cpus > 1 ? m->value_size * cpu : 0);
}

void *stand_in_value(const void *map, const void *key, __u32 cpu)
{
	struct map *m = map_at(map);
	uint32_t index = find(m, key);

	return index == NONE ? NULL : value_of_cpu(m, index, cpu);
}

void *stand_in_lookup(const void *map, const void *key)
{
	char *value;

	hook(STAND_IN_LOOKUP);
	value = stand_in_value(map, key, stand_in.cpu);
	return value && map_at(map)->type == TYPE_OUTER && !*value ? NULL : value;
}

/* ---- maps of maps: the address of an inner map is that of its byte in the outer one ---- */

void stand_in_show_inner(const void *outer, __u32 index, bool yes)
{
	char *shown = stand_in_value(outer, &index, 0);

	if (!shown)
		fail("a map of maps has no room");
	*shown = yes;
}

void stand_in_add_inner(const void *outer, __u32 index, size_t value_size, __u32 entries)
{
	stand_in_show_inner(outer, index, true);
	stand_in_add_map(stand_in_value(outer, &index, 0), TYPE_ARRAY, sizeof(__u32), value_size,
			 entries);
}

/* ---- queues ---- */

void stand_in_push(const void *map, const void *value)
{
	struct map *m = map_at(map);

	if (m->type != TYPE_QUEUE || m->used == m->entries)
		fail("a queue has no room");
	memcpy(values_at(m, (m->first + m->used++) % m->entries), value, m->value_size);
}

__u32 stand_in_queued(const void *map)
{
	return map_at(map)->used;
}

long stand_in_pop(const void *map, void *value)
{
	struct map *m = map_at(map);

	hook(STAND_IN_UPDATE);
	if (m->type != TYPE_QUEUE)
		fail("not a queue");
	if (!m->used) {
		memset(value, 0, m->value_size); /* as __queue_map_get() */
		return -ENOENT;
	}
	memcpy(value, values_at(m, m->first), m->value_size);
	m->first = (m->first + 1) % m->entries;
	m->used--;
	return 0;
}

/* A new key of a per-CPU map is 0 on all other CPUs. */
static uint32_t insert(struct map *m, const void *key)
{
	uint32_t *bucket = bucket_of(m, key);
	uint32_t index = m->used;

	if (index == m->entries)
		return NONE;
	m->used++;
	memcpy(key_at(m, index), key, m->key_size);
	memset(values_at(m, index), 0, m->value_size * m->cpus);
	m->next[index] = *bucket;
	*bucket = index;
	return index;
}

long stand_in_update(const void *map, const void *key, const void *value, __u64 flags)
{
	struct map *m = map_at(map);
	uint32_t index;

	hook(STAND_IN_UPDATE);
	index = find(m, key);
	if (index != NONE && flags == NOEXIST)
		return -EEXIST;
	if (index == NONE && (flags == EXIST || is_array(m)))
		return is_array(m) ? -E2BIG : -ENOENT;
	if (index == NONE)
		index = insert(m, key);
	if (index == NONE)
		return -E2BIG;
	memcpy(value_of_cpu(m, index, stand_in.cpu), value, m->value_size);
	return 0;
}

static void unlink_key(struct map *m, uint32_t index)
{
	uint32_t *link = bucket_of(m, key_at(m, index));

	while (*link != index)
		link = &m->next[*link];
	*link = m->next[index];
}

/* The last key moves to the place of the deleted one. */
long stand_in_delete(const void *map, const void *key)
{
	struct map *m = map_at(map);
	uint32_t index = is_array(m) ? NONE : find(m, key), last = m->used - 1, *bucket;

	hook(STAND_IN_UPDATE);
	if (index == NONE)
		return is_array(m) ? -EINVAL : -ENOENT;
	unlink_key(m, index);
	m->used--;
	if (index == last)
		return 0;
	unlink_key(m, last);
	memcpy(key_at(m, index), key_at(m, last), m->key_size);
	memcpy(values_at(m, index), values_at(m, last), m->value_size * m->cpus);
	bucket = bucket_of(m, key_at(m, index));
	m->next[index] = *bucket;
	*bucket = index;
	return 0;
}

__u32 stand_in_keys(const void *map)
{
	return map_at(map)->used;
}

const void *stand_in_key(const void *map, __u32 index)
{
	return key_at(map_at(map), index);
}

/* ---- the machine ---- */

__u64 stand_in_clock(void)
{
	hook(STAND_IN_CLOCK);
	stand_in.now += stand_in.step;
	return stand_in.now;
}

__u32 stand_in_cpu(void)
{
	return stand_in.cpu;
}

/* xorshift32; a test sets `random` to the seed. */
__u32 stand_in_random(void)
{
	__u32 x = stand_in.random ? stand_in.random : 1;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return stand_in.random = x;
}

__u64 stand_in_pid_tgid(void)
{
	return (__u64)stand_in.pid << 32 | stand_in.tid;
}

long stand_in_comm(void *to, size_t size)
{
	memset(to, 0, size);
	memcpy(to, stand_in.comm, size < sizeof(stand_in.comm) ? size : sizeof(stand_in.comm));
	return 0;
}

long stand_in_get_stack(void *to, size_t size)
{
	size_t bytes = stand_in.stack_len * sizeof(stand_in.stack[0]);

	if (!bytes)
		return -EFAULT;
	if (bytes > size)
		bytes = size;
	memcpy(to, stand_in.stack, bytes);
	return bytes;
}

static bool readable(uintptr_t from, size_t size)
{
	for (size_t i = 0; i < STAND_IN_UNREADABLE; i++) {
		uintptr_t start = (uintptr_t)stand_in.unreadable[i].from;

		if (from < start + stand_in.unreadable[i].size && start < from + size)
			return false;
	}
	return from >= 4096; /* the page of NULL */
}

long stand_in_read(void *to, size_t size, const void *from)
{
	hook(STAND_IN_READ);
	if (!readable((uintptr_t)from, size)) {
		memset(to, 0, size); /* as bpf_probe_read_kernel_common() */
		return -EFAULT;
	}
	memcpy(to, from, size);
	return 0;
}

long stand_in_read_string(void *to, size_t size, const void *from)
{
	size_t length;

	hook(STAND_IN_READ);
	if (!readable((uintptr_t)from, 1)) {
		memset(to, 0, size);
		return -EFAULT;
	}
	length = strnlen(from, size - 1);
	memcpy(to, from, length);
	((char *)to)[length] = 0;
	return length + 1;
}

/* ---- the ring ---- */

/* What a program does not write is not 0 in the kernel's ring, either. */
void *stand_in_reserve(const void *map, size_t size)
{
	struct record *record;

	if (map_at(map)->type != TYPE_RING)
		fail("not a ring");
	hook(STAND_IN_RESERVE);
	if (stand_in.ring_full)
		return NULL;
	record = malloc(sizeof(*record) + size);
	if (!record)
		fail("no memory");
	*record = (struct record){.size = size};
	memset(record->data, 0xa5, size);
	reserved_count++;
	return record->data;
}

static struct record *record_of(void *data)
{
	if (!reserved_count)
		fail("a record is submitted that was not reserved");
	reserved_count--;
	return (struct record *)((char *)data - offsetof(struct record, data));
}

void stand_in_submit(void *data)
{
	struct record *record = record_of(data);

	hook(STAND_IN_SUBMIT);
	if (stand_in.on_record) {
		stand_in.on_record(data, record->size);
		free(record);
		return;
	}
	*last_record = record;
	last_record = &record->next;
	record_count++;
}

void stand_in_discard(void *data)
{
	free(record_of(data));
}

long stand_in_output(const void *map, const void *record, size_t size)
{
	void *data = stand_in_reserve(map, size);

	if (!data)
		return -EAGAIN;
	memcpy(data, record, size);
	stand_in_submit(data);
	return 0;
}

size_t stand_in_records(void)
{
	return record_count;
}

size_t stand_in_reserved(void)
{
	return reserved_count;
}

const void *stand_in_record(long index, size_t *size)
{
	const struct record *record = first_record;

	if (index < 0)
		index += record_count;
	if (index < 0 || (size_t)index >= record_count)
		fail("there is no such record");
	while (index--)
		record = record->next;
	if (size)
		*size = record->size;
	return record->data;
}

void stand_in_forget_records(void)
{
	while (first_record) {
		struct record *next = first_record->next;

		free(first_record);
		first_record = next;
	}
	last_record = &first_record;
	record_count = 0;
}

/* ---- atomic operations, the kernel's types ---- */

__u64 stand_in_exchange(__u64 *word, __u64 value)
{
	__u64 old;

	hook(STAND_IN_BEFORE_EXCHANGE);
	old = *word;
	*word = value;
	hook(STAND_IN_AFTER_EXCHANGE);
	return old;
}

__u64 stand_in_compare_and_swap(__u64 *word, __u64 old, __u64 value)
{
	__u64 found;

	hook(STAND_IN_BEFORE_EXCHANGE);
	found = *word;
	if (found == old)
		*word = value;
	hook(STAND_IN_AFTER_EXCHANGE);
	return found;
}

void stand_in_before_add(void)
{
	hook(STAND_IN_BEFORE_ADD);
}

/* Whether a string ends with another one, which begins at a name. */
static bool ends_with(const char *text, const char *end)
{
	size_t length = strlen(text), cut = strlen(end);

	return length >= cut && !strcmp(text + length - cut, end);
}

bool stand_in_has(const char *field)
{
	for (size_t i = 0; i < STAND_IN_NUMBERS; i++)
		if (stand_in.missing[i] && ends_with(field, stand_in.missing[i]))
			return false;
	return true;
}

__u64 stand_in_number(const char *name, __u64 value)
{
	for (size_t i = 0; i < STAND_IN_NUMBERS; i++)
		if (stand_in.number[i].name && ends_with(name, stand_in.number[i].name))
			return stand_in.number[i].value;
	return value;
}

void *stand_in_rdonly_cast(const void *object, __u32 btf_id)
{
	(void)btf_id;
	return (void *)(stand_in.rdonly_cast ? stand_in.rdonly_cast(object) : object);
}
