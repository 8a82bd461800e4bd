/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "cli/report/write.h"

#include <errno.h>
#include <locale.h>

#include "cli/ask/field.h"
#include "cli/report/sections.h"
#include "common/version.h"
#include "report_style.h"

static const char *host(const struct model *model)
{
	return field_text(json_object_get(model->status, "host"), "name");
}

/* The browser must not load anything, even if a text were not escaped. */
static void put_head(struct html *html, const struct model *model)
{
	html_markup(html,
		    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
	html_markup(
		html,
		"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n");
	html_markup(html,
		    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
	html_markup(html, "<meta name=\"color-scheme\" content=\"light dark\">\n");
	html_markup(html, "<meta name=\"referrer\" content=\"no-referrer\">\n<title>");
	html_text(html, "netflowd report: %s, %s", host(model),
		  field_date(model->status, "time").s);
	html_markup(html, "</title>\n<style>\n");
	fputs(report_style, html->file);
	html_markup(html, "</style>\n</head>\n<body>\n");
}

static void put_title(struct html *html, const struct model *model)
{
	const json_t *period = json_object_get(model->drops, "period");
	const json_t *machine = json_object_get(model->status, "host");

	html_markup(html, "<header>\n<h1>");
	html_text(html, "%s: what happened to packets", host(model));
	html_markup(html, "</h1>\n<p>");
	if (period)
		html_text(html, "%s to %s", field_date(period, "since").s,
			  field_date(period, "until").s);
	else
		html_text(html, "Since %s, when netflowd started",
			  field_date(json_object_get(model->status, "daemon"), "started").s);
	html_markup(html, "</p>\n<p class=\"dim\">");
	html_text(html, "Linux %s, %s, %s CPUs; netflowd %s", field_text(machine, "kernel"),
		  field_text(machine, "machine"), field_units_number(machine, "cpus").s,
		  field_text(json_object_get(model->status, "daemon"), "version"));
	html_markup(html, "</p>\n</header>\n");
}

static void put_links(struct html *html, const struct model *model)
{
	html_markup(html, "<nav aria-label=\"Sections\"><a href=\"#drops\">Drops</a>");
	if (model->reason_count)
		html_markup(html, "<a href=\"#causes\">Top causes</a>");
	html_markup(
		html,
		"<a href=\"#latency\">Latency</a><a href=\"#alerts\">Alerts</a><a href=\"#napi\">NAPI</a><a href=\"#slots\">Ring slots</a><a href=\"#period\">Period</a><a href=\"#coverage\">Coverage</a><a href=\"#ledger\">Ledger</a></nav>\n");
}

static void put_foot(struct html *html, const struct model *model)
{
	html_markup(html, "<footer class=\"dim\">\n<p>");
	html_text(
		html,
		"Written by netflowctl %s at %s. A section that reaches to now counts up to the moment at which it was asked for, so on a busy host sections differ by what came in between.",
		NETFLOWD_VERSION, field_date(model->status, "time").s);
	html_markup(html, "</p>\n</footer>\n</body>\n</html>\n");
}

static void put_page(struct html *html, const struct model *model)
{
	put_head(html, model);
	put_title(html, model);
	html_markup(html, "<main>\n");
	section_story(html, model);
	put_links(html, model);
	section_drops(html, model);
	section_causes(html, model);
	section_latency(html, model);
	section_alerts(html, model);
	section_napi(html, model);
	section_slots(html, model);
	section_period(html, model);
	section_coverage(html, model);
	section_ledger(html, model);
	html_markup(html, "</main>\n");
	put_foot(html, model);
}

/* The page is UTF-8, whatever the terminal of this process is. */
int report_write(FILE *file, const struct model *model)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), old = (locale_t)0;
	struct html html = {.file = file};

	if (utf8)
		old = uselocale(utf8);
	put_page(&html, model);
	if (utf8) {
		uselocale(old);
		freelocale(utf8);
	}
	return html.failed ? -ENOMEM : 0;
}
