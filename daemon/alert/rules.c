/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/rules.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ini.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "daemon/alert/keys.h"

/* A file of config/alerts.d, as it is in the tree. */
struct shipped {
	const char *file; /* SHIPPED_PREFIX "NAME" */
	const char *text;
};

/* Sorted by name. */
#include "common/array.h"
#include "shipped_rules.h"

#define SHIPPED_COUNT (ARRAY_SIZE(shipped))
#define SHIPPED_PREFIX "shipped/"
#define SUFFIX ".conf"
#define FILE_MAX_BYTES (1 << 20)
#define FAULT_TEXT_MAX 1024

/* inih reports no line numbers and only its first error, so read_line() counts the lines. */
struct parsing {
	struct alert_rules *rules;
	const char *file;
	const struct names *names;
	const char *rest; /* text that is not read yet */
	unsigned int line;
	bool open;	/* the last line is not a pair, or inih has made a pair of it */
	bool continues; /* the last line begins with blanks: it continues the value before it */
	struct alert_draft draft; /* draft.rule is NULL outside rules */
	unsigned int section_line;
	bool broken;   /* the draft has a mistake */
	bool replaced; /* the administrator has a rule of the name of this shipped one */
	char name[ALERT_NAME_MAX + 1];
	/* a pair whose value the next line can continue */
	char key[ALERT_KEY_MAX + 1];
	unsigned int key_line;
	char *value;
	int result;
};

static void *grow(void *array, size_t count, size_t size)
{
	return realloc(array, (count + 1) * size);
}

__attribute__((format(printf, 6, 7))) static int add_fault(struct alert_rules *rules,
							   const char *file, unsigned int line,
							   const char *rule, const char *key,
							   const char *format, ...)
{
	struct alert_fault *all = grow(rules->fault, rules->faults, sizeof(*all)), *fault;
	va_list list;

	if (!all)
		return -ENOMEM;
	rules->fault = all;
	fault = &all[rules->faults];
	*fault = (struct alert_fault){.file = strdup(file), .line = line};
	snprintf(fault->rule, sizeof(fault->rule), "%s", rule);
	snprintf(fault->key, sizeof(fault->key), "%s", key);
	va_start(list, format);
	if (vasprintf(&fault->text, format, list) < 0)
		fault->text = NULL;
	va_end(list);
	rules->faults++;
	return fault->file && fault->text ? 0 : -ENOMEM;
}

/* Add a fault of the rule being read, which is then not used. */
static void blame(struct parsing *p, unsigned int line, const char *key, const char *text)
{
	p->broken = true;
	if (p->result == 0)
		p->result = add_fault(p->rules, p->file, line, p->name, key, "%s", text);
}

/* ---- the parts of a file ------------------------------------------------- */

static void end_pair(struct parsing *p)
{
	char error[ALERT_ERROR_MAX];
	int r;

	if (!p->value)
		return;
	if (!p->draft.rule) {
		/* The fault of a section without a rule is reported already. */
		if (!p->section_line)
			blame(p, p->key_line, p->key, "key before the first [alert NAME]");
	} else {
		r = alert_keys_set(&p->draft, p->key, p->value, p->key_line, error);
		if (r == -EINVAL)
			blame(p, p->key_line, p->key, error);
		else if (r < 0)
			p->result = r;
	}
	free(p->value);
	p->value = NULL;
}

static size_t find(const struct alert_rules *rules, const char *name)
{
	size_t i = 0;

	while (i < rules->count && strcmp(rules->rule[i]->name, name))
		i++;
	return i;
}

/* Whether the file is one of the program's, and not the administrator's. */
static bool is_shipped(const char *file)
{
	return !strncmp(file, SHIPPED_PREFIX, strlen(SHIPPED_PREFIX));
}

static void remove_rule(struct alert_rules *rules, size_t i)
{
	alert_rule_free(&rules->rule[i]);
	rules->count--;
	memmove(&rules->rule[i], &rules->rule[i + 1],
		(rules->count - i) * sizeof(struct alert_rule *));
}

/*
 * A rule of the same name was read before.  Of a shipped rule and the administrator's, the administrator's is used: a
 * release may bring a rule whose name a host has already.  Two rules of the administrator are a mistake.
 */
static void settle_name(struct parsing *p)
{
	size_t i = find(p->rules, p->name);
	const struct alert_rule *other;
	char wrong[PATH_MAX + 80];

	if (i == p->rules->count)
		return;
	other = p->rules->rule[i];
	if (is_shipped(p->file) && !is_shipped(other->file)) {
		p->replaced = true;
	} else if (is_shipped(other->file) && !is_shipped(p->file)) {
		remove_rule(p->rules, i);
	} else {
		snprintf(wrong, sizeof(wrong), "a rule of this name exists already, in %s:%u",
			 other->file, other->line);
		blame(p, p->line, "", wrong);
	}
}

static int add_rule(struct parsing *p)
{
	struct alert_rules *rules = p->rules;
	struct alert_rule **all = grow(rules->rule, rules->count, sizeof(struct alert_rule *));

	if (!all)
		return -ENOMEM;
	rules->rule = all;
	p->draft.rule->file = strdup(p->file);
	if (!p->draft.rule->file)
		return -ENOMEM;
	p->draft.rule->line = p->section_line;
	all[rules->count++] = TAKE_PTR(p->draft.rule);
	return 0;
}

static void end_section(struct parsing *p)
{
	char error[ALERT_ERROR_MAX];
	const char *key;

	end_pair(p);
	if (p->draft.rule && !p->broken && alert_keys_finish(&p->draft, &key, error) < 0) {
		unsigned int line = alert_keys_line(&p->draft, key);

		blame(p, line ? line : p->section_line, key, error);
	}
	if (p->draft.rule && !p->broken && !p->replaced && p->result == 0)
		p->result = add_rule(p);
	alert_draft_clear(&p->draft);
	p->name[0] = 0;
	p->broken = p->replaced = false;
}

static bool is_name(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)name[i]) && !strchr("_.-", name[i]))
			return false;
	return length > 0 && length <= ALERT_NAME_MAX;
}

/* `text`: between the brackets. */
static void begin_section(struct parsing *p, const char *text, size_t length)
{
	char wrong[128];

	end_section(p);
	p->section_line = p->line;
	if (length < 6 || strncmp(text, "alert", 5) || !isblank((unsigned char)text[5])) {
		snprintf(wrong, sizeof(wrong), "[%.*s]: a section must be [alert NAME]",
			 (int)(length < 60 ? length : 60), text);
		blame(p, p->line, "", wrong);
		return;
	}
	for (text += 5, length -= 5; length && isblank((unsigned char)*text); length--)
		text++;
	while (length && isblank((unsigned char)text[length - 1]))
		length--;
	if (!is_name(text, length)) {
		blame(p, p->line, "",
		      "the name of a rule must be 1 to 63 letters, digits, dots, dashes and underscores");
		return;
	}
	snprintf(p->name, sizeof(p->name), "%.*s", (int)length, text);
	p->result = alert_draft_new(&p->draft, p->name, p->names);
	settle_name(p);
}

/* ---- lines --------------------------------------------------------------- */

/* A line of which inih made no pair, and that is not blank, a comment or a section, is a mistake. */
static void check_last_line(struct parsing *p)
{
	if (!p->open)
		blame(p, p->line, "", "the line is neither [alert NAME] nor key = value");
	p->open = true;
}

/* fgets() for inih: the next line.  Sections are recognized here, because inih does not report them. */
static char *read_line(char *buffer, int size, void *userdata)
{
	struct parsing *p = userdata;
	size_t length = strcspn(p->rest, "\n"), room = (size_t)size - 2;
	const char *line = p->rest, *first = line + strspn(line, " \t\r"), *close;

	check_last_line(p);
	if (!*line || p->result < 0)
		return NULL;
	p->rest += length + (line[length] == '\n');
	p->line++;
	if (length > room) {
		p->open = true;
		end_pair(p);
		snprintf(buffer, (size_t)size, "\n");
		blame(p, p->line, "", "line too long; continue on the next line, indented");
		return buffer;
	}
	snprintf(buffer, (size_t)size, "%.*s\n", (int)length, line);
	close = memchr(line, ']', length);
	p->continues = first > line;
	p->open = first >= line + length || strchr(";#", *first) || (*first == '[' && close);
	if (*first == '[' && close && first == line)
		begin_section(p, first + 1, (size_t)(close - first) - 1);
	return buffer;
}

static int append(char **value, const char *more)
{
	char *longer;

	if (asprintf(&longer, "%s %s", *value, more) < 0)
		return -ENOMEM;
	free(*value);
	*value = longer;
	return 0;
}

static int take_pair(void *userdata, const char *section, const char *key, const char *value)
{
	struct parsing *p = userdata;

	(void)section;
	p->open = true;
	if (p->continues && p->value && !strcmp(key, p->key)) {
		int r = append(&p->value, value);

		if (r < 0)
			p->result = r;
		return 1;
	}
	end_pair(p);
	snprintf(p->key, sizeof(p->key), "%s", key);
	p->key_line = p->line;
	p->value = strdup(value);
	if (!p->value)
		p->result = -ENOMEM;
	return 1;
}

/* ---- files --------------------------------------------------------------- */

int alert_rules_parse(struct alert_rules *rules, const char *file, const char *text,
		      const struct names *names)
{
	struct parsing p = {
		.rules = rules, .file = file, .names = names, .rest = text, .open = true};

	if (ini_parse_stream(read_line, &p, take_pair, &p) == -2)
		p.result = -ENOMEM;
	check_last_line(&p);
	end_section(&p);
	return p.result;
}

/* The caller frees *text. */
static int read_file(const char *path, char **text)
{
	OWN_FREE char *bytes = malloc(FILE_MAX_BYTES + 1);
	OWN_FILE FILE *file = NULL;
	size_t length;

	if (!bytes)
		return -ENOMEM;
	file = fopen(path, "re");
	if (!file)
		return -errno;
	errno = 0;
	length = fread(bytes, 1, FILE_MAX_BYTES + 1, file);
	if (ferror(file))
		return errno ? -errno : -EIO;
	if (length > FILE_MAX_BYTES)
		return -EFBIG;
	bytes[length] = 0;
	*text = TAKE_PTR(bytes);
	return 0;
}

static int read_one(struct alert_rules *rules, const char *directory, const char *name,
		    const struct names *names)
{
	OWN_FREE char *path = NULL, *text = NULL;
	int r;

	if (asprintf(&path, "%s/%s", directory, name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	r = read_file(path, &text);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return add_fault(rules, path, 0, "", "", "cannot read the file: %s", strerror(-r));
	return alert_rules_parse(rules, path, text, names);
}

static int is_rule_file(const struct dirent *entry)
{
	size_t length = strlen(entry->d_name);

	return entry->d_name[0] != '.' && length > strlen(SUFFIX) &&
	       !strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX);
}

/*
 * Read the files of the directory and the shipped files, both sorted, in the order of all names.  Of two
 * files with the same name, the directory's is read.
 */
static int read_all(struct alert_rules *rules, const char *directory, struct dirent **entries,
		    size_t count, const struct names *names)
{
	int r = 0;

	for (size_t i = 0, next = 0; r == 0 && (i < count || next < SHIPPED_COUNT);) {
		const struct shipped *own = next < SHIPPED_COUNT ? &shipped[next] : NULL;
		int order = i == count ? 1
			    : !own     ? -1
				   : strcmp(entries[i]->d_name, own->file + strlen(SHIPPED_PREFIX));

		if (order <= 0)
			r = read_one(rules, directory, entries[i++]->d_name, names);
		else
			r = alert_rules_parse(rules, own->file, own->text, names);
		next += order >= 0;
	}
	return r;
}

int alert_rules_read(struct alert_rules **rules, const char *directory, const struct names *names)
{
	OWN_RULES struct alert_rules *fresh = NULL;
	struct dirent **entries = NULL;
	int r = alert_rules_new(&fresh), count;

	if (r < 0)
		return r;
	count = scandir(directory, &entries, is_rule_file, alphasort);
	if (count < 0 && errno != ENOENT)
		r = add_fault(fresh, directory, 0, "", "", "cannot read the directory: %s",
			      strerror(errno));
	if (r == 0)
		r = read_all(fresh, directory, entries, count < 0 ? 0 : (size_t)count, names);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	if (r == 0)
		*rules = TAKE_PTR(fresh);
	return r;
}

/* ---- the set ------------------------------------------------------------- */

int alert_rules_new(struct alert_rules **rules)
{
	*rules = calloc(1, sizeof(**rules));
	return *rules ? 0 : -ENOMEM;
}

void alert_rules_free(struct alert_rules **rules)
{
	struct alert_rules *old = *rules;

	if (!old)
		return;
	for (size_t i = 0; i < old->count; i++)
		alert_rule_free(&old->rule[i]);
	for (size_t i = 0; i < old->faults; i++) {
		free(old->fault[i].file);
		free(old->fault[i].text);
	}
	free(old->rule);
	free(old->fault);
	free(old);
	*rules = NULL;
}

void alert_fault_format(const struct alert_fault *fault, char *text, size_t size)
{
	char line[16] = "", rule[ALERT_NAME_MAX + 12] = "", key[ALERT_KEY_MAX + 4] = "";

	if (fault->line)
		snprintf(line, sizeof(line), ":%u", fault->line);
	if (fault->rule[0])
		snprintf(rule, sizeof(rule), "[alert %s] ", fault->rule);
	if (fault->key[0])
		snprintf(key, sizeof(key), "%s: ", fault->key);
	snprintf(text, size, "%s%s: %s%s%s", fault->file, line, rule, key, fault->text);
}

void alert_rules_log_faults(const struct alert_rules *rules)
{
	char text[FAULT_TEXT_MAX];

	for (size_t i = 0; i < rules->faults; i++) {
		alert_fault_format(&rules->fault[i], text, sizeof(text));
		log_error("%s", text);
	}
}
