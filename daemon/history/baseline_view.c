/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/history/baseline_view.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "daemon/history/baseline_key.h"

struct baseline_view *baseline_view_hold(struct baseline_view *view)
{
	if (view)
		atomic_fetch_add(&view->holders, 1);
	return view;
}

void baseline_view_release(struct baseline_view **view)
{
	struct baseline_view *old = *view;

	*view = NULL;
	if (!old || atomic_fetch_sub(&old->holders, 1) != 1)
		return;
	for (size_t i = 0; i < old->count; i++)
		free(old->shown[i].key);
	free(old->shown);
	free(old);
}

static const struct baseline_shown *find(const struct baseline_view *view, const char *key)
{
	size_t i = LOWER_BOUND(one, view->shown, view->count, strcmp(one->key, key) < 0);

	return i < view->count && !strcmp(view->shown[i].key, key) ? &view->shown[i] : NULL;
}

void baseline_view_find(const struct baseline_view *view, const char *key, int64_t unseen_us,
			struct baseline_rate *rate)
{
	char family[BASELINE_KEY_MAX];
	const struct baseline_shown *found;
	size_t length = baseline_key_family(key);

	*rate = (struct baseline_rate){0};
	if (!view || !view->cover.ready)
		return;
	found = find(view, key);
	if (!found && length < sizeof(family)) {
		memcpy(family, key, length);
		family[length] = 0;
		found = find(view, family);
	}
	if (found) {
		*rate = found->rate;
		rate->since_s = view->bucket_s - (int64_t)rate->first * BASELINE_STEP_S;
	} else if (!view->full && unseen_us)
		*rate = (struct baseline_rate){.mark = BASELINE_NEW,
					       .since_s = unseen_us / 1000000};
}
