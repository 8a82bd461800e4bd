/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report/drawing.h"

#include <stdlib.h>

#include "cli/show/drop_lines.h"
#include "common/array.h"
#include "common/time.h"

/* Units of a drawing's box; the style sheet gives it its size. */
#define WIDTH 1200
#define HEIGHT 400
/* The least height of a bar that is not empty, so that it can be seen. */
#define LEAST 6
/* Between two bars. */
#define GAP 2
#define ROWS 40

/* A colour for each of the first reasons, the last one for all others. */
static const char *const colours[] = {"c0", "c1", "c2", "c3", "c4", "c5", "c6"};
#define COLOURS ARRAY_SIZE(colours)

static const char *const shades[] = {"h1", "h2", "h3", "h4", "h5"};
#define SHADES ARRAY_SIZE(shades)

struct field_time drawing_time(uint64_t epoch_ns)
{
	char text[TIME_TEXT_MAX];
	struct field_time time;

	time_format_realtime((int64_t)epoch_ns, text);
	snprintf(time.s, sizeof(time.s), "%.10s %.8s", text, text + 11);
	return time;
}

/* ---- the time axis ------------------------------------------------------------------------- */

struct span {
	unsigned int x, width;
};

/* Where a cell is; cells at the ends can be shorter than the others. */
static struct span span_of(const struct model *model, size_t cell)
{
	const struct model_cell *cells = model->cells;
	double from = (double)cells[0].from_ns;
	double whole = (double)cells[model->cell_count - 1].to_ns - from;
	double begin = ((double)cells[cell].from_ns - from) / whole * WIDTH;
	double end = ((double)cells[cell].to_ns - from) / whole * WIDTH;
	struct span span = {.x = (unsigned int)begin};

	span.width = (unsigned int)end - span.x;
	if (span.width > 2 * GAP)
		span.width -= GAP;
	if (!span.width)
		span.width = 1;
	return span;
}

static bool recorded(const struct model_cell *cell)
{
	return cell->covered_ns || cell->packets;
}

static void put_unrecorded(struct html *html, const struct model *model, unsigned int height)
{
	for (size_t i = 0; i < model->cell_count; i++) {
		unsigned int x = span_of(model, i).x;
		unsigned int end = i + 1 < model->cell_count ? span_of(model, i + 1).x : WIDTH;

		if (!recorded(&model->cells[i]))
			html_box(html, "gap", (struct html_box){x, 0, end - x, height});
	}
}

static bool has_unrecorded(const struct model *model)
{
	for (size_t i = 0; i < model->cell_count; i++)
		if (!recorded(&model->cells[i]))
			return true;
	return false;
}

static void put_ends(struct html *html, const char *left, const char *right)
{
	html_markup(html, "<div class=\"ends\"><span>");
	html_text(html, "%s", left);
	html_markup(html, "</span><span>");
	html_text(html, "%s", right);
	html_markup(html, "</span></div>\n");
}

static void put_times(struct html *html, const struct model *model)
{
	put_ends(html, drawing_time(model->cells[0].from_ns).s,
		 drawing_time(model->cells[model->cell_count - 1].to_ns).s);
}

static void put_swatch(struct html *html, const char *colour)
{
	html_markup(html, "<svg aria-hidden=\"true\" viewBox=\"0 0 1 1\">");
	html_box(html, colour, (struct html_box){0, 0, 1, 1});
	html_markup(html, "</svg> ");
}

/* ---- drops --------------------------------------------------------------------------------- */

static size_t colour_of(const struct model *model, size_t reason)
{
	/* The last colour is a single reason if that is the only one left. */
	if (reason < COLOURS - 1 || model->reason_count == COLOURS)
		return reason;
	return COLOURS - 1;
}

static uint64_t most_packets(const struct model *model)
{
	uint64_t most = 0;

	for (size_t i = 0; i < model->cell_count; i++)
		if (model->cells[i].packets > most)
			most = model->cells[i].packets;
	return most;
}

static void put_bar(struct html *html, const struct model *model, size_t cell, uint64_t most)
{
	struct span span = span_of(model, cell);
	uint64_t packets[COLOURS] = {0};
	unsigned int y = HEIGHT;

	for (size_t i = 0; i < model->reason_count; i++)
		packets[colour_of(model, i)] += model->reasons[i].cells[cell];
	html_markup(html, "<g><title>");
	html_text(html, "%s to %s: %s packets", drawing_time(model->cells[cell].from_ns).s,
		  drawing_time(model->cells[cell].to_ns).s,
		  units_count(model->cells[cell].packets).s);
	html_markup(html, "</title>\n");
	for (size_t i = 0; i < COLOURS; i++) {
		double share = (double)packets[i] / (double)most;
		unsigned int height = (unsigned int)(share * HEIGHT);

		if (!packets[i])
			continue;
		if (height < LEAST)
			height = LEAST;
		if (height > y)
			height = y;
		y -= height;
		html_box(html, colours[i], (struct html_box){span.x, y, span.width, height});
	}
	html_markup(html, "</g>\n");
}

static void put_legend(struct html *html, const struct model *model)
{
	uint64_t others = 0;

	html_markup(html, "<ul class=\"legend\">\n");
	for (size_t i = 0; i < model->reason_count; i++) {
		OWN_FREE char *name = NULL;

		if (colour_of(model, i) == COLOURS - 1 && model->reason_count > COLOURS) {
			others += model->reasons[i].packets;
			continue;
		}
		name = drop_lines_reason(model->reasons[i].row);
		html_markup(html, "<li>");
		put_swatch(html, colours[colour_of(model, i)]);
		html_text(html, "%s %s", name ? name : "?",
			  units_count(model->reasons[i].packets).s);
		html_markup(html, "</li>\n");
	}
	if (others) {
		html_markup(html, "<li>");
		put_swatch(html, colours[COLOURS - 1]);
		html_text(html, "%s other reasons %s",
			  units_count(model->reason_count - COLOURS + 1).s, units_count(others).s);
		html_markup(html, "</li>\n");
	}
	if (has_unrecorded(model)) {
		html_markup(html, "<li>");
		put_swatch(html, "gap");
		html_markup(html, "not recorded</li>\n");
	}
	html_markup(html, "</ul>\n");
}

/* The cells at both ends can be shorter than the others. */
static uint64_t longest_cell(const struct model *model)
{
	uint64_t longest = 0;

	for (size_t i = 0; i < model->cell_count; i++) {
		uint64_t length = model->cells[i].to_ns - model->cells[i].from_ns;

		if (length > longest)
			longest = length;
	}
	return longest;
}

void drawing_timeline(struct html *html, const struct model *model)
{
	uint64_t most = most_packets(model);

	html_markup(html, "<figure>\n<figcaption>");
	html_text(html, "Dropped packets in parts of %s; the highest bar is %s packets.",
		  units_duration(longest_cell(model)).s, units_count(most).s);
	html_markup(html, "</figcaption>\n");
	html_drawing(html, "timeline", "Dropped packets over time, by reason", WIDTH, HEIGHT);
	put_unrecorded(html, model, HEIGHT);
	for (size_t i = 0; most && i < model->cell_count; i++)
		if (model->cells[i].packets)
			put_bar(html, model, i, most);
	html_drawing_end(html);
	put_times(html, model);
	put_legend(html, model);
	html_markup(html, "</figure>\n");
}

/* ---- latencies ----------------------------------------------------------------------------- */

static unsigned int log2_of(uint64_t number)
{
	unsigned int power = 0;

	while (number >>= 1)
		power++;
	return power;
}

/* Shades are powers, too: single packets must be seen beside a million. */
static size_t shade_of(uint64_t count, uint64_t most)
{
	unsigned int top = log2_of(most);

	if (!count)
		return SHADES;
	return top ? log2_of(count) * (SHADES - 1) / top : SHADES - 1;
}

struct heat {
	struct bucket_rows axis;
	struct bucket_rows cells[MODEL_CELLS];
	uint64_t most;
};

static bool heat_make(struct heat *heat, const struct model *model,
		      const struct model_segment *segment)
{
	heat->axis = buckets_rows(&segment->all, ROWS);
	heat->most = 0;
	for (size_t i = 0; i < model->cell_count; i++) {
		heat->cells[i] = buckets_rows_on(&segment->cells[i], heat->axis.first,
						 heat->axis.step, heat->axis.count);
		for (size_t row = 0; row < heat->axis.count; row++)
			if (heat->cells[i].rows[row] > heat->most)
				heat->most = heat->cells[i].rows[row];
	}
	return heat->axis.count && heat->most;
}

static void put_shade(struct html *html, const struct model *model, const struct heat *heat,
		      size_t shade)
{
	bool begun = false;

	for (size_t i = 0; i < model->cell_count; i++) {
		struct span span = span_of(model, i);

		for (size_t row = 0; row < heat->axis.count; row++) {
			size_t wanted = shade_of(heat->cells[i].rows[row], heat->most);

			if (wanted != shade)
				continue;
			if (!begun)
				html_boxes(html, shades[shade]);
			begun = true;
			html_boxes_add(
				html,
				(struct html_box){span.x,
						  (unsigned int)(heat->axis.count - 1 - row) * 10,
						  span.width, 10});
		}
	}
	if (begun)
		html_boxes_end(html);
}

static void put_range(struct html *html, const struct bucket_rows *axis)
{
	html_text(html, "from %s (bottom) to %s (top)", units_duration(bucket_rows_from(axis, 0)).s,
		  units_duration(bucket_rows_below(axis, axis->count - 1)).s);
}

void drawing_heat(struct html *html, const struct model *model, const struct model_segment *segment)
{
	struct heat heat;

	if (!heat_make(&heat, model, segment))
		return;
	html_markup(html, "<figure>\n");
	html_drawing(html, "heat", "Latencies over time: darker or brighter is more packets", WIDTH,
		     (unsigned int)heat.axis.count * 10);
	put_unrecorded(html, model, (unsigned int)heat.axis.count * 10);
	for (size_t shade = 0; shade < SHADES; shade++)
		put_shade(html, model, &heat, shade);
	html_drawing_end(html);
	put_times(html, model);
	html_markup(html, "<figcaption>");
	put_range(html, &heat.axis);
	html_text(html, "; at most %s packets in one field", units_count(heat.most).s);
	html_markup(html, "</figcaption>\n</figure>\n");
}

void drawing_histogram(struct html *html, const struct model_segment *segment)
{
	struct bucket_rows axis = buckets_rows(&segment->all, ROWS);
	uint64_t most = 0;

	for (size_t i = 0; i < axis.count; i++)
		if (axis.rows[i] > most)
			most = axis.rows[i];
	if (!most)
		return;
	html_markup(html, "<figure>\n");
	html_drawing(html, "bars", "How many packets took how long", (unsigned int)axis.count * 20,
		     HEIGHT);
	html_boxes(html, "c1");
	for (unsigned int i = 0; i < axis.count; i++) {
		unsigned int height = (unsigned int)((double)axis.rows[i] / (double)most * HEIGHT);

		if (axis.rows[i] && height < LEAST)
			height = LEAST;
		if (height)
			html_boxes_add(html,
				       (struct html_box){i * 20 + 1, HEIGHT - height, 18, height});
	}
	html_boxes_end(html);
	html_drawing_end(html);
	put_ends(html, units_duration(bucket_rows_from(&axis, 0)).s,
		 units_duration(bucket_rows_below(&axis, axis.count - 1)).s);
	html_markup(html, "<figcaption>");
	html_text(
		html,
		"Each bar is twice as long a time as the one before it; the highest is %s packets.",
		units_count(most).s);
	html_markup(html, "</figcaption>\n</figure>\n");
}

void drawing_shades(struct html *html)
{
	html_markup(html, "<ul class=\"legend\">\n");
	for (size_t i = 0; i < SHADES; i++) {
		html_markup(html, "<li>");
		put_swatch(html, shades[i]);
		html_text(html, "%s",
			  !i		    ? "single packets"
			  : i == SHADES - 1 ? "most packets"
					    : "");
		html_markup(html, "</li>\n");
	}
	html_markup(html, "</ul>\n");
}
