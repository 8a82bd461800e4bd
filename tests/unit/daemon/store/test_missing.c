/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>

#include "daemon/store/missing.h"
#include "daemon/store/recent.h"
#include "tests/unit/test.h"

#define SECOND UINT64_C(1000000000)
#define FILLED (1000 * SECOND)
#define MISSING 0x10u /* just after the numbers have wrapped */

/* A TCP segment of a flow; all but these members are the same in all. */
struct segment {
	int version;
	uint8_t source, destination; /* last bytes of the addresses */
	uint16_t source_port, destination_port;
	uint32_t sequence, payload;
};

static const struct segment dropped = {4, 1, 2, 40000, 443, 0xfffffff0, 0x40};

static void fill(struct nf_bytes *bytes, const struct segment *s)
{
	uint8_t header = s->version == 4 ? 20 : 40, *net = bytes->net, *tcp = net + header;
	uint16_t ports[] = {htons(s->source_port), htons(s->destination_port)};
	uint16_t length = htons((uint16_t)(s->payload + 32 + (s->version == 4 ? 20 : 0)));
	uint32_t sequence = htonl(s->sequence);

	memset(bytes, 0, sizeof(*bytes));
	bytes->protocol = s->version == 4 ? 0x0800 : 0x86dd;
	bytes->net_len = header + 32;
	net[0] = s->version == 4 ? 0x45 : 0x60;
	net[s->version == 4 ? 9 : 6] = IPPROTO_TCP;
	net[s->version == 4 ? 15 : 23] = s->source;
	net[header - 1] = s->destination;
	memcpy(net + (s->version == 4 ? 2 : 4), &length, sizeof(length));
	memcpy(tcp, ports, sizeof(ports));
	memcpy(tcp + 4, &sequence, sizeof(sequence));
	tcp[12] = 8 << 4;
}

/* The record that is found for a segment which waited, among one drop at that time. */
static const struct nf_drop_record *find(const struct segment *of, uint64_t time_ns,
					 const struct nf_journey_record *journey)
{
	static struct recent *recent;
	static const struct share_cause cause;
	struct nf_drop_record drop = {.header = {.type = NF_RECORD_DROP,
						 .size = NF_DROP_RECORD_PLAIN,
						 .time_ns = time_ns},
				      .flags = NF_DROP_L4,
				      .l4 = IPPROTO_TCP};

	fill(&drop.bytes, of);
	recent_free(&recent);
	assert_int_equal(recent_new(&recent, 4,
				    &(struct recent_layout){.record_size = sizeof(drop),
							    .plain_size = NF_DROP_RECORD_PLAIN},
				    NULL),
			 0);
	recent_add(recent, &drop.header, &cause, NULL);
	if (!journey)
		recent_free(&recent);
	return journey ? missing_find(recent, journey) : NULL;
}

static struct nf_journey_record waited(int version)
{
	struct segment s = dropped;
	struct nf_journey_record journey = {.missing = MISSING};

	s.version = version;
	s.sequence = 0x30;
	fill(&journey.bytes, &s);
	journey.stage_ns[NF_STAGE_GAP_FILLED] = FILLED;
	return journey;
}

static bool is_found(const struct segment *of, uint64_t time_ns)
{
	struct nf_journey_record journey = waited(of->version);

	return find(of, time_ns, &journey);
}

/* Only a segment of the same flow. */
TEST(test_flow)
{
	struct segment s[5] = {dropped, dropped, dropped, dropped, dropped};

	assert_true(is_found(&dropped, FILLED - SECOND));
	s[0].source++;
	s[1].destination++;
	s[2].source_port++;
	s[3].destination_port++;
	for (int i = 0; i < 4; i++)
		assert_false(is_found(&s[i], FILLED - SECOND));
	s[4].version = 6;
	assert_true(is_found(&s[4], FILLED - SECOND));
}

/* Only a segment that has the missing number: at each edge. */
TEST(test_sequence)
{
	static const struct {
		uint32_t sequence, payload;
		bool found;
	} cases[] = {
		{MISSING, 1, true},
		{MISSING, 0, false},
		{MISSING + 1, 100, false},
		{MISSING - 100, 100, false},
		{MISSING - 100, 101, true},
		{MISSING - 1, 2, true},
		{MISSING + 0x80000000u, 1000, false},
	};
	struct segment s = dropped;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		s.sequence = cases[i].sequence;
		s.payload = cases[i].payload;
		assert_int_equal(is_found(&s, FILLED - SECOND), cases[i].found);
	}
}

/* Only a drop before the gap was filled, which TCP still answered. */
TEST(test_time)
{
	assert_true(is_found(&dropped, FILLED));
	assert_false(is_found(&dropped, FILLED + 1));
	assert_true(is_found(&dropped, FILLED - MISSING_NS));
	assert_false(is_found(&dropped, FILLED - MISSING_NS - 1));
}

/* Only the newest records are searched, however many there are. */
TEST(test_many)
{
	static const struct share_cause cause;
	struct nf_drop_record drop = {.header = {.type = NF_RECORD_DROP,
						 .size = NF_DROP_RECORD_PLAIN,
						 .time_ns = FILLED - SECOND},
				      .flags = NF_DROP_L4,
				      .l4 = IPPROTO_TCP};
	struct nf_journey_record journey = waited(4);
	struct segment other = dropped;
	struct recent *recent = NULL;

	assert_int_equal(recent_new(&recent, MISSING_RECORDS + 1,
				    &(struct recent_layout){.record_size = sizeof(drop),
							    .plain_size = NF_DROP_RECORD_PLAIN},
				    NULL),
			 0);
	fill(&drop.bytes, &dropped);
	recent_add(recent, &drop.header, &cause, NULL);
	other.source_port++;
	fill(&drop.bytes, &other);
	for (int i = 0; i < MISSING_RECORDS - 1; i++)
		recent_add(recent, &drop.header, &cause, NULL);
	assert_non_null(missing_find(recent, &journey));
	recent_add(recent, &drop.header, &cause, NULL);
	assert_null(missing_find(recent, &journey));
	recent_free(&recent);
}

/* A journey that did not wait, or of which what was missing is not known; and headers that are cut. */
TEST(test_nothing_known)
{
	struct nf_journey_record journey = waited(4);

	journey.missing = 0;
	assert_null(find(&dropped, FILLED, &journey));
	journey = waited(4);
	journey.stage_ns[NF_STAGE_GAP_FILLED] = 0;
	assert_null(find(&dropped, FILLED, &journey));
	journey = waited(4);
	for (journey.bytes.net_len = 0; journey.bytes.net_len < 28; journey.bytes.net_len++)
		assert_null(find(&dropped, FILLED, &journey));
	assert_non_null(find(&dropped, FILLED, &journey));
}

static int forget(void **state)
{
	(void)state;
	find(&dropped, 0, NULL);
	return 0;
}

ALL_TESTS(NULL, forget);
