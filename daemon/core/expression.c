/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/expression.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/nearest.h"

#define DIGITS "0123456789"
#define HEX DIGITS "abcdefABCDEF"
#define ALNUM DIGITS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* All words that scanner.l of libpcap 1.10 knows. */
static const char *const keywords[] = {
	"dst", "src", "link", "ether", "ppp", "slip", "fddi", "tr", "wlan", "arp", "rarp", "ip",
	"sctp", "tcp", "udp", "icmp", "igmp", "igrp", "pim", "vrrp", "carp", "radio", "ip6",
	"icmp6", "ah", "esp", "atalk", "aarp", "decnet", "lat", "sca", "moprc", "mopdl", "iso",
	"esis", "es-is", "isis", "is-is", "l1", "l2", "iih", "lsp", "snp", "csnp", "psnp", "clnp",
	"stp", "ipx", "netbeui", "host", "net", "mask", "port", "portrange", "proto", "protochain",
	"gateway", "type", "subtype", "direction", "dir", "address1", "addr1", "address2", "addr2",
	"address3", "addr3", "address4", "addr4", "ra", "ta", "less", "greater", "byte",
	"broadcast", "multicast", "and", "or", "not", "len", "length", "inbound", "outbound",
	"ifindex", "vlan", "mpls", "pppoed", "pppoes", "geneve", "lane", "llc", "metac", "bcc",
	"oam", "oamf4", "oamf4ec", "oamf4sc", "sc", "ilmic", "vpi", "vci", "connectmsg",
	"metaconnect", "on", "ifname", "rset", "ruleset", "rnr", "rulenum", "srnr", "subrulenum",
	"reason", "action", "fisu", "lssu", "lsu", "msu", "hfisu", "hlssu", "hmsu", "sio", "opc",
	"dpc", "sls", "hsio", "hopc", "hdpc", "hsls",
	/* Names of numbers. */
	"icmptype", "icmpcode", "icmp-echoreply", "icmp-unreach", "icmp-sourcequench",
	"icmp-redirect", "icmp-echo", "icmp-routeradvert", "icmp-routersolicit", "icmp-timxceed",
	"icmp-paramprob", "icmp-tstamp", "icmp-tstampreply", "icmp-ireq", "icmp-ireqreply",
	"icmp-maskreq", "icmp-maskreply", "icmp6type", "icmp6code", "icmp6-destinationunreach",
	"icmp6-packettoobig", "icmp6-timeexceeded", "icmp6-parameterproblem", "icmp6-echo",
	"icmp6-echoreply", "icmp6-multicastlistenerquery", "icmp6-multicastlistenerreportv1",
	"icmp6-multicastlistenerdone", "icmp6-routersolicit", "icmp6-routeradvert",
	"icmp6-neighborsolicit", "icmp6-neighboradvert", "icmp6-redirect", "icmp6-routerrenum",
	"icmp6-nodeinformationquery", "icmp6-nodeinformationresponse",
	"icmp6-ineighbordiscoverysolicit", "icmp6-ineighbordiscoveryadvert",
	"icmp6-multicastlistenerreportv2", "icmp6-homeagentdiscoveryrequest",
	"icmp6-homeagentdiscoveryreply", "icmp6-mobileprefixsolicit", "icmp6-mobileprefixadvert",
	"icmp6-certpathsolicit", "icmp6-certpathadvert", "icmp6-multicastrouteradvert",
	"icmp6-multicastroutersolicit", "icmp6-multicastrouterterm", "tcpflags", "tcp-fin",
	"tcp-syn", "tcp-rst", "tcp-push", "tcp-ack", "tcp-urg", "tcp-ece", "tcp-cwr"};

/* After these words the grammar itself accepts a name, from a list of its own. */
static const char *const before_names[] = {"llc",	"type",	  "subtype", "dir",
					   "direction", "on",	  "rset",    "ruleset",
					   "ifname",	"reason", "action"};

/*
 * After one of these and "proto", as in "ether proto \arp", libpcap has its own list of names (lookup_proto() in
 * gencode.c).
 */
static const char *const before_proto[] = {"ether", "link", "ppp",  "slip",
					   "fddi",  "tr",   "wlan", "iso"};

/* A value must follow these words; a keyword cannot. */
static const char *const before_values[] = {"host",	 "net",	    "mask",  "port",
					    "portrange", "gateway", "proto", "protochain"};

/* ---- words -------------------------------------------------------------- */

static bool word_is(const struct expression *expression, size_t index, const char *text)
{
	const struct expression_word *word = expression->words + index;

	return strlen(text) == word->length &&
	       memcmp(expression->text + word->offset, text, word->length) == 0;
}

static bool word_in(const struct expression *expression, size_t index, const char *const *list,
		    size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (word_is(expression, index, list[i]))
			return true;
	return false;
}

static size_t decimal_or_hex(const char *text)
{
	if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
		size_t digits = strspn(text + 2, HEX);

		return digits ? 2 + digits : 0;
	}
	return strspn(text, DIGITS);
}

/* Whether `text` is a number such as "443", "0x1bb", "10.0" or "10.0.0.1". */
static bool is_number(const char *text)
{
	for (int parts = 0; parts < 4; parts++) {
		size_t len = decimal_or_hex(text);

		if (!len)
			return false;
		text += len;
		if (!*text)
			return true;
		if (*text++ != '.')
			return false;
	}
	return false;
}

/* Whether `text` is `groups` numbers of `shortest` to `longest` hexadecimal digits, with `mark` between them. */
static bool is_hex(const char *text, int groups, size_t shortest, size_t longest, char mark)
{
	while (groups--) {
		size_t len = strspn(text, HEX);

		if (len < shortest || len > longest)
			return false;
		text += len;
		if (groups && *text++ != mark)
			return false;
	}
	return *text == '\0';
}

static bool is_link_address(const char *text)
{
	return is_hex(text, 6, 1, 2, ':') || is_hex(text, 6, 1, 2, '-') ||
	       is_hex(text, 6, 1, 2, '.') || is_hex(text, 3, 4, 4, '.') ||
	       is_hex(text, 1, 12, 12, '\0');
}

static bool is_range(const char *text)
{
	size_t first = strspn(text, DIGITS), second;

	if (!first || text[first] != '-')
		return false;
	second = strspn(text + first + 1, DIGITS);
	return second && !text[first + 1 + second];
}

static enum expression_kind kind_of(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (strcmp(word, keywords[i]) == 0)
			return EXPRESSION_KEYWORD;
	if (is_number(word) || is_link_address(word))
		return EXPRESSION_VALUE;
	return is_range(word) ? EXPRESSION_RANGE : EXPRESSION_NAME;
}

/* The length of the address with colons that begins at `text`; 0 if there is none. */
static size_t colon_address(const char *text)
{
	char address[INET6_ADDRSTRLEN];
	struct in6_addr parsed;
	size_t len = strspn(text, HEX ":.");

	if (len >= sizeof(address) || !memchr(text, ':', len))
		return 0;
	memcpy(address, text, len);
	address[len] = '\0';
	if (inet_pton(AF_INET6, address, &parsed) == 1 || is_hex(address, 6, 1, 2, ':'))
		return len;
	return 0;
}

static size_t plain_word(const char *text)
{
	size_t len = strspn(text, ALNUM "-_.");

	/* A word begins with a letter or digit, and ends with one or with a dot. */
	while (len > 1 && (text[len - 1] == '-' || text[len - 1] == '_'))
		len--;
	return len;
}

static size_t mark(const char *text)
{
	static const char *const pairs[] = {"&&", "||", ">=", "<=", "!=", "==", "<<", ">>"};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (strncmp(text, pairs[i], 2) == 0)
			return 2;
	return 1;
}

/* The word or mark at `offset`, which is not white space. */
static struct expression_word next_word(const char *text, size_t offset)
{
	const char *at = text + offset;
	struct expression_word word = {.offset = (uint16_t)offset, .kind = EXPRESSION_MARK};
	char copy[64];

	/* After a colon, libpcap's scanner may be in the middle of a text that looks like an address. */
	if (offset == 0 || at[-1] != ':')
		word.length = (uint16_t)colon_address(at);
	if (word.length) {
		word.kind = EXPRESSION_VALUE;
	} else if (strchr(ALNUM, *at)) {
		word.length = (uint16_t)plain_word(at);
		snprintf(copy, sizeof(copy), "%.*s", (int)word.length, at);
		word.kind = word.length < sizeof(copy) ? kind_of(copy) : EXPRESSION_NAME;
	} else if (*at == '\\' && strcspn(at + 1, " !()\n\t")) {
		word.length = (uint16_t)(1 + strcspn(at + 1, " !()\n\t"));
		word.kind = EXPRESSION_NAME;
	} else {
		word.length = (uint16_t)mark(at);
	}
	return word;
}

static bool joins(const struct expression *expression, size_t index)
{
	return word_is(expression, index, "and") || word_is(expression, index, "or") ||
	       word_is(expression, index, "&&") || word_is(expression, index, "||");
}

int expression_split(struct expression *expression, const char *text)
{
	size_t offset = 0, terms = 1;

	if (strnlen(text, EXPRESSION_LENGTH_MAX + 1) > EXPRESSION_LENGTH_MAX)
		return -E2BIG;
	expression->text = text;
	expression->count = 0;
	while (text[offset += strspn(text + offset, " \r\n\t")]) {
		struct expression_word word = next_word(text, offset);

		if (expression->count == EXPRESSION_WORDS_MAX)
			return -E2BIG;
		expression->words[expression->count++] = word;
		if (joins(expression, expression->count - 1) || word.kind == EXPRESSION_RANGE)
			terms++;
		if (terms > EXPRESSION_TERMS_MAX)
			return -E2BIG;
		offset += word.length;
	}
	return 0;
}

bool expression_has(const struct expression *expression, const char *keyword)
{
	for (size_t i = 0; i < expression->count; i++)
		if (word_is(expression, i, keyword))
			return true;
	return false;
}

/* ---- names -------------------------------------------------------------- */

/* Whether the grammar itself, not the resolver, gives the name at `index` its meaning. */
static bool accepts_name(const struct expression *expression, size_t index)
{
	if (index == 0)
		return false;
	if (word_in(expression, index - 1, before_names, ARRAY_SIZE(before_names)))
		return true;
	return index > 1 && word_is(expression, index - 1, "proto") &&
	       word_in(expression, index - 2, before_proto, ARRAY_SIZE(before_proto));
}

/*
 * Whether a range of numbers after the word `index` is a range of ports; in any other position, libpcap looks it up as
 * the name of a host.  A qualifier applies to a whole list ("portrange 1-9 or 20-29"), but not across parentheses.
 */
static bool keeps_ranges(const struct expression *expression, size_t index, bool ranges)
{
	enum expression_kind kind = expression->words[index].kind;

	if (word_is(expression, index, "portrange"))
		return true;
	return ranges &&
	       (kind == EXPRESSION_RANGE || kind == EXPRESSION_VALUE || joins(expression, index));
}

size_t expression_unresolved(const struct expression *expression)
{
	bool ranges = false;
	size_t i;

	for (i = 0; i < expression->count; i++) {
		enum expression_kind kind = expression->words[i].kind;
		bool name = kind == EXPRESSION_NAME || (kind == EXPRESSION_RANGE && !ranges);

		if (name && !accepts_name(expression, i))
			break;
		ranges = keeps_ranges(expression, i, ranges);
	}
	return i;
}

const char *expression_nearest(const struct expression *expression, size_t index)
{
	const struct expression_word *word = expression->words + index;
	struct nearest search;
	char copy[64];

	if (word->length >= sizeof(copy))
		return NULL;
	if (index && word_in(expression, index - 1, before_values, ARRAY_SIZE(before_values)))
		return NULL;
	memcpy(copy, expression->text + word->offset, word->length);
	copy[word->length] = '\0';
	nearest_init(&search, copy);
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		nearest_consider(&search, keywords[i]);
	return search.best;
}
