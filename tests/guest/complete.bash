#!/bin/bash
# Prints what bash offers for the last word of a command line: complete.bash shimos stop w
# shellcheck disable=SC1090 # made by the tool
source <(shimos completions bash)
function=$(complete -p shimos | sed 's/.*-F \([^ ]*\).*/\1/')
# shellcheck disable=SC2034 # what the shell sets for such a function
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_TYPE=9
"$function" shimos "${!#}"
printf '%s\n' "${COMPREPLY[@]}"
