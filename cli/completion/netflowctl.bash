# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Completion of netflowctl for bash.  `netflowctl complete` knows the commands, options and values, and asks the daemon
# for names; without a daemon it is silent.

_netflowctl() {
	local -a words=()
	local word previous='' candidate typed='' i
	COMPREPLY=()

	# bash breaks words at = and :, netflowctl does not: put them together again.
	for ((i = 1; i <= COMP_CWORD; i++)); do
		word=${COMP_WORDS[i]}
		if ((${#words[@]})) && [[ $word == [=:]* || $previous == *[=:] && $previous != -* ]]; then
			words[-1]+=$word
		else
			words+=("$word")
		fi
		previous=$word
	done

	# Of the last word, bash replaces only what follows the last = or :.
	word=${words[-1]-}
	[[ $word != *[=:]* ]] || typed=${word%"${word##*[=:]}"}

	while IFS= read -r candidate; do
		candidate=${candidate%%$'\t'*}
		if [ -n "$candidate" ]; then
			# Names come from the kernel and from files: the shell must not interpret them.
			printf -v candidate %q "${candidate#"$typed"}"
			COMPREPLY+=("$candidate")
		else
			compopt -o filenames
			mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "${word#"$typed"}")
		fi
	done < <("${COMP_WORDS[0]}" complete -- "${words[@]}" 2>/dev/null)
}

complete -F _netflowctl netflowctl
