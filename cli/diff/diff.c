/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/diff/diff.h"

#include <string.h>

#include "cli/ask/field.h"
#include "cli/diff/significance.h"
#include "common/array.h"
#include "common/json.h"

const char *const diff_names[2] = {"a", "b"};

static const json_t *find(const json_t *rows, const char *member, const char *name)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		if (!strcmp(field_text(row, member), name))
			return row;
	}
	return NULL;
}

static const json_t *find_probe(const struct diff_side *side, const char *name)
{
	return find(json_object_get(side->probes, "probes"), "name", name);
}

bool diff_has_probe(const struct diff_side *side, const char *name)
{
	return strcmp(field_text_or(find_probe(side, name), "state", "unavailable"),
		      "unavailable") != 0;
}

static const json_t *find_question(const struct diff_side *side, const char *question)
{
	return find(json_object_get(side->status, "coverage"), "question", question);
}

const char *diff_coverage(const struct diff_side *side, const char *question)
{
	return field_text_or(find_question(side, question), "state", "unavailable");
}

uint64_t diff_duration(const struct diff_side *side)
{
	return field_count_or(json_object_get(side->status, "recording"), "duration_ns", 0);
}

/* ---- the recordings ------------------------------------------------------------------------ */

/* Its name, its time and what it lost. */
static json_t *recording_of(const struct diff_side *side)
{
	json_t *made = json_copy(json_object_get(side->status, "recording"));

	if (!made)
		made = json_object();
	json_object_update(made, json_object_get(side->status, "trace"));
	/* Like a command line that the daemon gets: JSON has no bytes that are not UTF-8. */
	json_object_set_new(made, "file", json_string(side->file) ?: json_string("?"));
	json_object_set(made, "coverage", json_object_get(side->status, "coverage"));
	return made;
}

/* ---- what one of them lacks ---------------------------------------------------------------- */

/* The recordings for which `has` is false: ["a"], ["b"] or both. */
static json_t *lacking(const bool has[2])
{
	json_t *names = json_array();

	for (size_t i = 0; i < 2; i++)
		if (!has[i])
			json_array_append_new(names, json_string(diff_names[i]));
	return names;
}

static json_t *missing_probes(const struct diff_side sides[2])
{
	json_t *missing = json_array();
	const json_t *probe;
	size_t i;

	json_array_foreach(json_object_get(sides[0].probes, "probes"), i, probe)
	{
		const char *name = field_text(probe, "name");
		const bool has[] = {diff_has_probe(&sides[0], name),
				    diff_has_probe(&sides[1], name)};
		const json_t *lacks = has[0] ? find_probe(&sides[1], name) : probe;

		/* The events of ring slots are in the traces of Xen guests only, and are not compared. */
		if ((has[0] && has[1]) || !strcmp(field_text(probe, "group"), "slots"))
			continue;
		json_array_append_new(missing,
				      json_pack("{s:s, s:o, s:s, s:s}", "probe", name, "lacking",
						lacking(has), "reason", field_text(lacks, "reason"),
						"lost_without", field_text(lacks, "lost_without")));
	}
	return missing;
}

/* Questions that the recordings answer differently well; reasons of the worse answers are in their coverage. */
static json_t *different_coverage(const struct diff_side sides[2])
{
	json_t *different = json_array();
	const json_t *one;
	size_t i;

	json_array_foreach(json_object_get(sides[0].status, "coverage"), i, one)
	{
		const char *question = field_text(one, "question");
		const char *a = field_text(one, "state"), *b = diff_coverage(&sides[1], question);

		if (strcmp(a, b) != 0)
			json_array_append_new(
				different,
				json_pack("{s:s, s:s, s:s, s:s*, s:s*}", "question", question, "a",
					  a, "b", b, "a_reason", field_text_or(one, "reason", NULL),
					  "b_reason",
					  field_text_or(find_question(&sides[1], question),
							"reason", NULL)));
	}
	return different;
}

json_t *diff_make(const struct diff_side sides[2])
{
	return json_pack("{s:f, s:o, s:o, s:o, s:o, s:o, s:o}", "level", SIGNIFICANCE_LEVEL, "a",
			 recording_of(&sides[0]), "b", recording_of(&sides[1]), "missing",
			 missing_probes(sides), "coverage", different_coverage(sides), "drops",
			 diff_drops(sides), "latency", diff_latency(sides));
}
