/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "daemon/export/negotiate.h"
#include "tests/unit/test.h"

static const struct {
	const char *accept;
	enum metrics_format format;
} rows[] = {
	{"", METRICS_PROMETHEUS},
	{"*/*", METRICS_PROMETHEUS},
	{"text/html,application/xhtml+xml,*/*;q=0.8", METRICS_PROMETHEUS},
	{"text/plain", METRICS_PROMETHEUS},
	{"application/openmetrics-text", METRICS_OPENMETRICS},
	{"Application/OpenMetrics-Text ; version=1.0.0", METRICS_OPENMETRICS},
	{"application/openmetrics-text; version=\"1.0.0\"; charset=utf-8", METRICS_OPENMETRICS},
	/* Prometheus 2.42 */
	{"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
	 METRICS_OPENMETRICS},
	{"application/openmetrics-text;version=2.0.0", METRICS_PROMETHEUS},
	{"application/openmetrics-text;q=0", METRICS_PROMETHEUS},
	{"application/openmetrics-text;q=0.0", METRICS_PROMETHEUS},
	{"application/openmetrics-text;q=0.3,text/plain", METRICS_PROMETHEUS},
	{"application/openmetrics-text;q=0.3,text/plain;q=0.301", METRICS_PROMETHEUS},
	{"application/openmetrics-text;q=0.5,text/plain;q=0.5", METRICS_OPENMETRICS},
	{"text/plain;q=0.4, application/openmetrics-text ;q=0.45", METRICS_OPENMETRICS},
	{"application/openmetrics-textual", METRICS_PROMETHEUS},
	/* What no client sends */
	{";", METRICS_PROMETHEUS},
	{",,,;;;===", METRICS_PROMETHEUS},
	{"application/openmetrics-text;q", METRICS_OPENMETRICS},
	{"application/openmetrics-text;q=0", METRICS_PROMETHEUS},
	{"application/openmetrics-text;version", METRICS_PROMETHEUS},
	{"\t , \t", METRICS_PROMETHEUS},
};

TEST(test_formats)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(negotiate_format(rows[i].accept), rows[i].format);
}
