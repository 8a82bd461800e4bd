/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/core/selection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <pcap/pcap.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "common/nearest.h"
#include "common/printable.h"
#include "daemon/core/expression.h"
#include "daemon/core/wire_frame.h"

struct selection {
	struct bpf_program program;
	bool tags; /* the frame has its VLAN tags */
};

/* ---- libpcap ------------------------------------------------------------ */

/* The return value for a selected packet: any number except 0. */
#define SNAPSHOT_BYTES 65535
/*
 * The time that the optimizer needs grows faster than the compiler's.  It is about 20 ms for this number of
 * instructions.  Longer programs stay as they are, and need a few microseconds per record.
 */
#define OPTIMIZED_MAX 2048

static void close_pcap(pcap_t **pcap)
{
	if (*pcap)
		pcap_close(*pcap);
}

#define OWN_PCAP CLEANUP(close_pcap)

/* -EINVAL: `message` says why.  The caller frees the code. */
static int compile(const char *text, bool optimize, struct bpf_program *program,
		   char message[static PCAP_ERRBUF_SIZE])
{
	OWN_PCAP pcap_t *pcap = pcap_open_dead(DLT_EN10MB, SNAPSHOT_BYTES);
	struct bpf_program compiled;

	if (!pcap)
		return -ENOMEM;
	if (pcap_compile(pcap, &compiled, text, optimize, PCAP_NETMASK_UNKNOWN) < 0) {
		snprintf(message, PCAP_ERRBUF_SIZE, "%s", pcap_geterr(pcap));
		return -EINVAL;
	}
	*program = compiled;
	return 0;
}

/* Compile, and optimize if that is quick.  The optimizer also finds an expression that nothing can match. */
static int compile_best(const char *text, struct bpf_program *program,
			char message[static PCAP_ERRBUF_SIZE])
{
	struct bpf_program plain;
	int r;

	r = compile(text, false, &plain, message);
	if (r < 0)
		return r;
	if (plain.bf_len > OPTIMIZED_MAX) {
		*program = plain;
		return 0;
	}
	pcap_freecode(&plain);
	return compile(text, true, program, message);
}

/* Whether `text` is invalid, and why.  Errors that only the optimizer finds do not count. */
static bool fails(const char *text, char message[static PCAP_ERRBUF_SIZE])
{
	struct bpf_program program;

	if (compile(text, false, &program, message) < 0)
		return true;
	pcap_freecode(&program);
	return false;
}

/*
 * Loads from these offsets ask the kernel about a packet that is being captured (SKF_AD_OFF in linux/filter.h): its
 * direction, its device.
 */
static bool needs_capture(const struct bpf_program *program)
{
	for (unsigned int i = 0; i < program->bf_len; i++) {
		const struct bpf_insn *insn = program->bf_insns + i;

		if (BPF_CLASS(insn->code) == BPF_LD && BPF_MODE(insn->code) == BPF_ABS &&
		    insn->k >= 0xfffff000U)
			return true;
	}
	return false;
}

/* ---- where an expression is wrong --------------------------------------- */

/* A number that libpcap's scanner refuses, and what its message says then.  libpcap 1.10.5 leaves the number out. */
struct probe {
	const char *number;
	const char *message;
};

static const struct probe too_large = {"4294967296", "overflows 32 bits"};
static const struct probe not_octal = {"089", "contains non-octal digit"};

struct search {
	const struct expression *expression;
	const char *message; /* libpcap's, for the whole expression */
	const struct probe *probe;
};

/* Whether libpcap's error is in the first `words` words, or a consequence of them. */
static bool fails_within(const struct search *search, size_t words, const struct probe *probe)
{
	const struct expression_word *last = search->expression->words + words - 1;
	char text[EXPRESSION_LENGTH_MAX + 32], message[PCAP_ERRBUF_SIZE] = "";

	snprintf(text, sizeof(text), "%.*s %s", last->offset + last->length,
		 search->expression->text, probe ? probe->number : "");
	return fails(text, message) &&
	       (probe ? !strstr(message, probe->message) : strcmp(message, search->message) == 0);
}

static bool is_parse_error(const char *message)
{
	static const char ending[] = "syntax error";
	size_t len = strlen(message);

	return len >= strlen(ending) && strcmp(message + len - strlen(ending), ending) == 0;
}

/*
 * libpcap does not say where it stopped.  But its parser reads word by word and reports the first error.  So a number
 * that the scanner refuses is put after the first words of the expression: if the error is about that number, the
 * parser came that far.
 *
 * Returns the index of the faulty word; the count of words if the expression ends too early.
 */
static size_t find_word(const struct expression *expression, const char *message)
{
	struct search search = {.expression = expression, .message = message};
	size_t index;

	search.probe = strstr(message, too_large.message) ? &not_octal : &too_large;
	index = LOWER_BOUND(
		word, expression->words, expression->count,
		!fails_within(&search, (size_t)(word - expression->words) + 1, search.probe));
	/* The parser checks some values only after it has read the word that follows them. */
	if (index > 0 && !is_parse_error(message) && fails_within(&search, index, NULL))
		index--;
	return index;
}

/* ---- errors ------------------------------------------------------------- */

static int refuse(struct selection_error *error, int code, const char *text)
{
	*error = (struct selection_error){0};
	snprintf(error->text, sizeof(error->text), "%s", text);
	printable_ascii(error->text);
	return code;
}

/* `index` is the count of words if the error is at the end. */
static int refuse_word(struct selection_error *error, const struct expression *expression,
		       size_t index, const char *text)
{
	const struct expression_word *word = expression->words + index;

	*error = (struct selection_error){.offset = strlen(expression->text)};
	if (index == expression->count) {
		snprintf(error->text, sizeof(error->text), "%s, at the end of the expression",
			 text);
	} else {
		error->offset = word->offset;
		error->length = word->length;
		snprintf(error->text, sizeof(error->text), "%s, at \"%.*s\", character %u", text,
			 word->length < 64 ? word->length : 64, expression->text + word->offset,
			 word->offset + 1U);
	}
	printable_ascii(error->text);
	return -EINVAL;
}

static int refuse_name(struct selection_error *error, const struct expression *expression,
		       size_t index)
{
	const char *nearest = expression_nearest(expression, index);
	char text[sizeof(struct nearest_hint) + 64];

	if (nearest)
		snprintf(text, sizeof(text), "not a keyword%s, and names are not looked up",
			 nearest_hint("", nearest).s);
	else
		snprintf(text, sizeof(text),
			 "not a number or an address, and names are not looked up");
	return refuse_word(error, expression, index, text);
}

static int refuse_compiled(struct selection_error *error, const struct expression *expression,
			   const char *message)
{
	char again[PCAP_ERRBUF_SIZE];

	/* Only the optimizer finds that nothing can match, and it names no word. */
	if (!fails(expression->text, again))
		return refuse(error, -EINVAL, message);
	return refuse_word(error, expression, find_word(expression, message), message);
}

static int refuse_size(struct selection_error *error)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "expression too long: at most %d characters, %d words and %d terms",
		 EXPRESSION_LENGTH_MAX, EXPRESSION_WORDS_MAX, EXPRESSION_TERMS_MAX);
	return refuse(error, -E2BIG, text);
}

/* ---- selections --------------------------------------------------------- */

int selection_new(struct selection **selection, const char *expression,
		  struct selection_error *error)
{
	OWN_SELECTION struct selection *s = NULL;
	char message[PCAP_ERRBUF_SIZE];
	struct expression words;
	size_t unresolved;
	int r;

	if (expression_split(&words, expression) < 0)
		return refuse_size(error);
	unresolved = expression_unresolved(&words);
	if (unresolved < words.count)
		return refuse_name(error, &words, unresolved);
	s = calloc(1, sizeof(*s));
	if (!s)
		return refuse(error, -ENOMEM, "out of memory");
	r = compile_best(expression, &s->program, message);
	if (r == -ENOMEM)
		return refuse(error, r, "out of memory");
	if (r < 0)
		return refuse_compiled(error, &words, message);
	if (needs_capture(&s->program))
		return refuse(error, -EINVAL,
			      "inbound, outbound and ifindex are known only while capturing");
	s->tags = expression_has(&words, "vlan");
	*selection = TAKE_PTR(s);
	return 0;
}

void selection_free(struct selection **selection)
{
	if (!*selection)
		return;
	pcap_freecode(&(*selection)->program);
	free(*selection);
	*selection = NULL;
}

static bool run(const struct selection *selection, const struct wire_frame *frame)
{
	const struct pcap_pkthdr header = {.caplen = frame->captured, .len = frame->length};

	return pcap_offline_filter(&selection->program, &header, frame->bytes) != 0;
}

/*
 * Fill in the values that are not known.  A record is selected only if the frame matches with both fillings.  No value
 * equals both, so a test of an unknown byte for equality selects no record.  Neither filling is a multicast address.
 */
static void fill(struct wire_frame *frame, bool second)
{
	const uint8_t byte = second ? 0xa5 : 0x5a;

	if (!frame->addressed) {
		memset(frame->bytes, byte, 12);
		frame->bytes[0] = frame->bytes[6] = byte & 0xfe;
	}
	if (!frame->typed)
		frame->bytes[frame->type_at + 1] = second ? 0xfe : 0xff;
}

bool selection_takes(const struct selection *selection, const struct wire_frame_source *source)
{
	struct wire_frame frame;

	wire_frame_build(&frame, source, selection->tags);
	if (frame.addressed && frame.typed)
		return run(selection, &frame);
	fill(&frame, false);
	if (!run(selection, &frame))
		return false;
	fill(&frame, true);
	return run(selection, &frame);
}

bool selection_takes_bytes(const struct selection *selection, const struct nf_bytes *bytes)
{
	struct wire_frame_source source;

	wire_frame_of_bytes(&source, bytes);
	return selection_takes(selection, &source);
}
