/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's verifier says of each program.  libbpf passes it on only in its
 * messages, in which it also names the program that the kernel refused.
 */
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>

#include "common/array.h"
#include "common/cleanup.h"
#include "daemon/probe/bpf/internal.h"

/*
 * BPF_LOG_STATS of include/linux/bpf_verifier.h, since 5.2: the verifier writes why it
 * refuses a program, and at its end how much it did, but not each step.  libbpf loads a
 * program without any log again if the kernel refuses it, with a log of each step; for a
 * program that is too complex, that takes several times as long as the first time.
 */
#define LOG_STATS 4

#define PROGRAM_NAME 64
#define PROGRAMS 64 /* of both objects; at present 29 */

static struct {
	char program[PROGRAM_NAME];
	char last[BACKEND_REASON_MAX];
	char why[80]; /* the verifier's last message */
	char map[64]; /* the map that could not be made */
} refused;

/* The instructions that the verifier processed for each program. */
static struct {
	char program[PROGRAM_NAME];
	unsigned int insns;
} verified[PROGRAMS];

void bpf_refusal_forget(void)
{
	memset(&refused, 0, sizeof(refused));
}

const char *bpf_refusal(void)
{
	return refused.why[0] ? refused.why : refused.last;
}

const char *bpf_refused_program(void)
{
	return refused.program;
}

const char *bpf_refused_map(void)
{
	return refused.map;
}

unsigned int bpf_verified_insns(const struct bpf_program *program)
{
	for (size_t i = 0; i < ARRAY_SIZE(verified) && verified[i].program[0]; i++)
		if (!strcmp(verified[i].program, bpf_program__name(program)))
			return verified[i].insns;
	return 0;
}

static void keep_figure(const char *program, unsigned int insns)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(verified) && verified[i].program[0] &&
	       strcmp(verified[i].program, program))
		i++;
	if (i == ARRAY_SIZE(verified))
		return;
	snprintf(verified[i].program, sizeof(verified[i].program), "%s", program);
	verified[i].insns = insns;
}

/* The last line before the verifier's statistics says why it refused; it may be empty. */
static void keep_reason(char *log, char *statistics)
{
	char *start;

	if (statistics == log)
		return;
	statistics[-1] = '\0';
	start = strrchr(log, '\n');
	snprintf(refused.why, sizeof(refused.why), "%s", start ? start + 1 : log);
}

/* The line of a log that begins with `word`, or NULL. */
static char *line_of(char *log, const char *word)
{
	char *found = log;

	while ((found = strstr(found, word)))
		if (found == log || found[-1] == '\n')
			return found;
		else
			found++;
	return NULL;
}

/* Of a program that loaded, and of a program that the kernel refused. */
static void read_log(const char *program, char *log)
{
	char *time = line_of(log, "verification time "), *processed = line_of(log, "processed ");
	unsigned int insns;

	if (processed && sscanf(processed, "processed %u insns", &insns) == 1)
		keep_figure(program, insns);
	keep_reason(log, time ? time : processed ? processed : log);
}

static void on_log(const char *format, va_list arguments)
{
	static const char begin[] = "-- BEGIN PROG LOAD LOG --\n";
	OWN_FREE char *message = NULL;
	char program[PROGRAM_NAME], *log;

	if (vasprintf(&message, format, arguments) < 0) {
		/* On failure, vasprintf() leaves the pointer undefined. */
		message = NULL;
		return;
	}
	log = strstr(message, begin);
	if (log && sscanf(message, "libbpf: prog '%63[^']'", program) == 1)
		read_log(program, log + strlen(begin));
}

static int on_message(enum libbpf_print_level level, const char *format, va_list arguments)
{
	char line[BACKEND_REASON_MAX], program[PROGRAM_NAME];
	int error;

	if (strstr(format, "BEGIN PROG LOAD LOG")) {
		on_log(format, arguments);
		return 0;
	}
	if (level == LIBBPF_DEBUG)
		return 0;
	vsnprintf(line, sizeof(line), format, arguments);
	line[strcspn(line, "\n")] = '\0';
	if (sscanf(line, "libbpf: prog '%63[^']': failed to load: %d", program, &error) == 2)
		memcpy(refused.program, program, sizeof(program));
	else if (sscanf(line, "libbpf: map '%63[^']': failed to create: ", program) == 1)
		memcpy(refused.map, program, sizeof(refused.map));
	else if (level == LIBBPF_WARN && !strstr(line, "Retrying without BTF"))
		memcpy(refused.last, line, sizeof(line));
	return 0;
}

void bpf_verifier_listen(void)
{
	libbpf_set_print(on_message);
}

void bpf_verifier_ask(struct bpf_program *program)
{
	bpf_program__set_log_level(program, LOG_STATS);
}
