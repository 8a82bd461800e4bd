/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/alert/setters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/netns.h"
#include "common/segment_name.h"
#include "common/value.h"
#include "daemon/alert/values.h"
#include "daemon/core/names.h"
#include "daemon/core/reason.h"
#include "daemon/core/stages.h"
#include "daemon/core/verdict.h"

#define ACTIONS_ALL (ALERT_TO_JOURNAL | ALERT_TO_STREAM | ALERT_TO_EXEC)

/* ---- words --------------------------------------------------------------- */

const char *alert_condition_word(int i)
{
	return i < ALERT_KIND_COUNT ? alert_kinds[i].name : NULL;
}

const char *alert_severity_word(int i)
{
	return i < ALERT_SEVERITY_COUNT ? alert_severity_name((enum alert_severity)i) : NULL;
}

const char *alert_segment_word(int i)
{
	return i < NF_SEGMENT_COUNT ? segment_histograms[i].name : NULL;
}

const char *alert_action_word(int i)
{
	return ACTIONS_ALL & 1U << i ? alert_action_name((enum alert_action)(1U << i)) : NULL;
}

/* The number of a word, or -EINVAL: there is no `what` of that name. */
static int find_word(const struct alert_key *key, const char *what, const char *value, char *error)
{
	struct alert_key_words words = alert_key_words(key);
	const char *nearest;
	int found = value_word(words.word, value, &nearest);

	return found < 0 ? alert_refuse_word(error, what, value, nearest) : found;
}

/* Add each word of a list that commas or blanks separate. */
static int add_words(struct alert_draft *draft, const struct alert_key *key, const char *list,
		     alert_setter *add, char *error)
{
	char *words = strdup(list), *rest = words;
	int r = words ? 0 : -ENOMEM;

	for (char *word; r == 0 && (word = strsep(&rest, ", \t"));)
		if (*word)
			r = add(draft, key, word, error);
	free(words);
	return r;
}

/* ---- values -------------------------------------------------------------- */

static void *at(struct alert_draft *draft, const struct alert_key *key)
{
	return (char *)draft->rule + key->offset;
}

static int copy(char **to, const char *text)
{
	char *fresh = strdup(text);

	if (!fresh)
		return -ENOMEM;
	free(*to);
	*to = fresh;
	return 0;
}

int alert_set_text(struct alert_draft *draft, const struct alert_key *key, const char *value,
		   char *error)
{
	(void)error;
	return copy(at(draft, key), value);
}

int alert_set_duration(struct alert_draft *draft, const struct alert_key *key, const char *value,
		       char *error)
{
	return alert_read_duration(value, key->least, key->most, at(draft, key), error);
}

int alert_set_enabled(struct alert_draft *draft, const struct alert_key *key, const char *value,
		      char *error)
{
	if (value_switch(value, &draft->rule->enabled) == 0)
		return 0;
	return alert_refuse(error, "%.60s: must be %s", value, alert_key_values(key).s);
}

int alert_set_severity(struct alert_draft *draft, const struct alert_key *key, const char *value,
		       char *error)
{
	int found = find_word(key, "there is no severity", value, error);

	if (found >= 0)
		draft->rule->severity = (enum alert_severity)found;
	return found < 0 ? found : 0;
}

int alert_set_condition(struct alert_draft *draft, const struct alert_key *key, const char *value,
			char *error)
{
	int found = find_word(key, "there is no condition", value, error);

	if (found >= 0)
		draft->rule->kind = (enum alert_kind_id)found;
	return found < 0 ? found : 0;
}

/* On a kernel without drop reasons, a word that the knowledge does not have cannot be checked. */
static int add_reason(struct alert_draft *draft, const struct alert_key *key, const char *word,
		      char *error)
{
	struct alert_rule *rule = draft->rule;

	const char *nearest;

	if (rule->reasons == key->most)
		return alert_refuse(
			error, "more than %" PRIu64 " reasons; name the others in another rule",
			key->most);
	if (reason_read(&rule->reason[rule->reasons], draft->names, word, &nearest) == 0) {
		rule->reasons++;
		return 0;
	}
	if (draft->names)
		return alert_refuse_word(error, "this kernel has no drop reason", word, nearest);
	rule->without_reasons = true;
	return 0;
}

int alert_set_reason(struct alert_draft *draft, const struct alert_key *key, const char *value,
		     char *error)
{
	bool not = *value == '!';
	int r;

	draft->rule->not_reasons = not ;
	r = add_words(draft, key, value + not, add_reason, error);
	if (r == 0 && !draft->rule->reasons && draft->names)
		r = alert_refuse(
			error,
			"must be one or more drop reasons; with ! before the first, all other reasons");
	return r;
}

const char *alert_class_word(int i)
{
	return i < KNOWLEDGE_CLASSES ? knowledge_class_name((enum knowledge_class)i) : NULL;
}

static int add_class(struct alert_draft *draft, const struct alert_key *key, const char *word,
		     char *error)
{
	int found = find_word(key, "there is no class", word, error);

	if (found >= 0)
		draft->rule->classes |= VERDICT_CLASS_BIT(found);
	return found < 0 ? found : 0;
}

int alert_set_class(struct alert_draft *draft, const struct alert_key *key, const char *value,
		    char *error)
{
	int r;

	draft->rule->classes = 0;
	r = add_words(draft, key, value, add_class, error);
	if (r == 0 && !draft->rule->classes)
		r = alert_refuse(error, "must be %s", alert_key_values(key).s);
	return r;
}

int alert_set_device(struct alert_draft *draft, const struct alert_key *key, const char *value,
		     char *error)
{
	if (!*value || strlen(value) >= sizeof(draft->rule->device) || strchr(value, '/'))
		return alert_refuse(error, "%.60s: must be %s", value, alert_key_values(key).s);
	strcpy(draft->rule->device, value);
	return 0;
}

/* The number of a name is looked up at each evaluation: namespaces come and go. */
int alert_set_netns(struct alert_draft *draft, const struct alert_key *key, const char *value,
		    char *error)
{
	uint32_t inode;

	if (netns_parse(value, &inode) < 0)
		return alert_refuse(error, "%.60s: must be %s", value, alert_key_values(key).s);
	draft->rule->netns_inode = inode;
	return copy(&draft->rule->netns, value);
}

int alert_set_protocol(struct alert_draft *draft, const struct alert_key *key, const char *value,
		       char *error)
{
	if (!*value || strlen(value) > ALERT_PROTOCOL_MAX || strpbrk(value, " \t,"))
		return alert_refuse(error, "%.60s: must be %s", value, alert_key_values(key).s);
	strcpy(draft->rule->protocol, value);
	return 0;
}

/* The identifier of a segment with histograms, or another form of segment_name_read(). */
int alert_set_segment(struct alert_draft *draft, const struct alert_key *key, const char *value,
		      char *error)
{
	int found = find_word(key, "there is no segment", segment_name_read(value).s, error);

	if (found >= 0)
		draft->rule->segment = (enum nf_segment)found;
	return found < 0 ? found : 0;
}

/* "p99", "p99.9" or "0.99". */
int alert_set_quantile(struct alert_draft *draft, const struct alert_key *key, const char *value,
		       char *error)
{
	bool percent = *value == 'p';
	double number;

	if (value_real(value + percent, &number) < 0 || number > (percent ? 100 : 1))
		return alert_refuse(error, "%.60s: must be %s", value, alert_key_values(key).s);
	draft->rule->quantile = percent ? number / 100 : number;
	return 0;
}

int alert_set_at_least(struct alert_draft *draft, const struct alert_key *key, const char *value,
		       char *error)
{
	uint64_t number;

	if (value_count(value, key->most, &number) < 0 || number < key->least)
		return alert_refuse(error, "%.60s: must be %s", value, alert_key_values(key).s);
	draft->rule->at_least = number;
	return 0;
}

int alert_set_over(struct alert_draft *draft, const struct alert_key *key, const char *value,
		   char *error)
{
	(void)key;
	(void)error;
	return copy(&draft->over, value);
}

int alert_set_clear(struct alert_draft *draft, const struct alert_key *key, const char *value,
		    char *error)
{
	(void)key;
	(void)error;
	return copy(&draft->clear, value);
}

static int add_action(struct alert_draft *draft, const struct alert_key *key, const char *word,
		      char *error)
{
	int found = find_word(key, "there is no action", word, error);

	if (found >= 0)
		draft->rule->actions |= 1U << found;
	return found < 0 ? found : 0;
}

int alert_set_actions(struct alert_draft *draft, const struct alert_key *key, const char *value,
		      char *error)
{
	draft->rule->actions = 0;
	draft->has_actions = true;
	return add_words(draft, key, value, add_action, error);
}

int alert_set_exec(struct alert_draft *draft, const struct alert_key *key, const char *value,
		   char *error)
{
	if (*value != '/')
		return alert_refuse(error, "%.60s: must be %s", value, alert_key_values(key).s);
	return copy(&draft->rule->exec, value);
}
