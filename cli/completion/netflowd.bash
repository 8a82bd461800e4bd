# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Completion of netflowd for bash, from what `netflowd --help` prints.

_netflowd() {
	local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} pattern=''
	COMPREPLY=()

	case $before in
	--config | --record)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$current")
		return
		;;
	--runtime-dir)
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -d -- "$current")
		return
		;;
	--set)
		# "  records.rate  drop records per second …"
		pattern='s/^  ([a-z_]+\.[a-z_]+) .*/\1=/p'
		compopt -o nospace
		;;
	*)
		pattern='s/^  (--[a-z-]+).*/\1/p'
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$("${COMP_WORDS[0]}" --help 2>/dev/null |
		sed -nE "$pattern")" -- "$current")
}

complete -F _netflowd netflowd
