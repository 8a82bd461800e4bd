/* SPDX-License-Identifier: GPL-2.0-or-later */
/* netflowctl: asks netflowd, and shows its answers. */
#include <locale.h>
#include <stdio.h>

#include "cli/command/command.h"

#define OUTPUT_BUFFER 65536

int main(int argc, char *argv[])
{
	/* for the width of characters and whether there are any beyond ASCII; numbers stay as in C
	 */
	setlocale(LC_CTYPE, "");
	/* a page goes out in one piece, also to a terminal */
	setvbuf(stdout, NULL, _IOFBF, OUTPUT_BUFFER);
	return command_main(argc, argv);
}
