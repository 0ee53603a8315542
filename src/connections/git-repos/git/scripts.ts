/** Exit codes of the scripts. */
export const ENDS = {
  noFolder: 90,
  noRepository: 91,
  unreadable: 92,
  taken: 93,
  conflict: 94,
  nothing: 95,
  unknown: 96,
};

/**
 * Opens the repository in the folder `$1`. Programs that its configuration names for contents (filters, merge drivers) are not run:
 * what is there is taken as it is.
 */
const OPEN = `set -uo pipefail
cd -- "$1" 2>/dev/null || exit ${ENDS.noFolder}
shift
[ -d .git ] && [ ! -L .git ] || exit ${ENDS.noRepository}
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD"
git rev-parse --git-dir >/dev/null || exit ${ENDS.unreadable}
n=$GIT_CONFIG_COUNT
while IFS= read -r -d '' name; do
  case $name in *.required) value=false ;; *.driver) value=false ;; *) value= ;; esac
  export "GIT_CONFIG_KEY_$n=$name" "GIT_CONFIG_VALUE_$n=$value"
  n=$((n + 1))
done < <(git config --name-only -z --get-regexp '^(filter\\..*\\.(clean|smudge|process|required)|merge\\..*\\.driver)$')
export GIT_CONFIG_COUNT=$n
`;

/** A lock that is so old was left by a git that was killed. */
const UNLOCK = `find .git -maxdepth 1 -name index.lock -mmin +15 -delete 2>/dev/null
`;

export const reading = (script: string): string => `export GIT_OPTIONAL_LOCKS=0\n${OPEN}${script}`;
export const writing = (script: string): string => `${OPEN}${UNLOCK}${script}`;

/** The branch, its commit, and what is known of the remote. */
export const HEADS = `git symbolic-ref -q --short HEAD || echo
git rev-parse -q --verify HEAD || echo
exec git for-each-ref --format='%(objectname) %(refname)' refs/heads refs/remotes/origin refs/tags
`;

/**
 * Steps over the network never read the repository's configuration, which others may have written: git works in a folder of its own
 * that has the objects of the repository in `$1`, and nothing else of it.
 */
const NET = `set -euo pipefail
cd -- "$1" || exit ${ENDS.noFolder}
shift
repo="$PWD/.git"
[ -d "$repo/objects" ] && [ ! -L "$repo" ] || exit ${ENDS.noRepository}
net="$(mktemp -d)/net.git"
(cd / && exec git init -q --bare --template= "$net")
export GIT_DIR="$net" GIT_OBJECT_DIRECTORY="$repo/objects"
if [ -f "$repo/shallow" ]; then cp -- "$repo/shallow" "$net/shallow"; fi
`;

/** Names of commits that are there come on standard input. `$1` url, `$2` depth or nothing, then what to fetch. */
const FETCH = `url=$1 depth=$2
shift 2
git cat-file --batch-check='%(objecttype) %(objectname)' | awk '$1 == "commit" && !seen[$2]++ { print "create refs/have/" NR " " $2 }' |
  git update-ref --stdin
git fetch --progress --no-write-fetch-head --no-auto-gc \${depth:+--depth="$depth"} "$url" "$@"
if [ -f "$net/shallow" ]; then cp -- "$net/shallow" "$repo/shallow"; fi
git for-each-ref --format='%(objectname) %(refname)' refs/remotes/origin refs/tags
`;

export const FETCH_ALL = `${NET}${FETCH}`;

/** `$1` the folder that is made, `$2` url, `$3` depth, `$4` branch or nothing: the remote's own. */
export const FETCH_NEW = `set -euo pipefail
mkdir -- "$1"
(cd "$1" && exec git init -q --template= --initial-branch=main "$PWD")
url=$2 depth=$3 branch=$4
# The workspace itself may be a repository, with a configuration of others.
head=$(cd / && git ls-remote --symref -- "$url" HEAD | sed -n 's#^ref: refs/heads/\\(.*\\)\\tHEAD$#\\1#p')
echo "\${branch:-$head}"
one=\${branch:-$head}
if [ -n "$depth" ] && [ -n "$one" ]; then wanted="+refs/heads/$one:refs/remotes/origin/$one"; else wanted='+refs/heads/*:refs/remotes/origin/*'; fi
set -- "$1"
${NET.replace('set -euo pipefail\n', '')}
set -- "$url" "$depth" "$wanted"
${FETCH}`;

/** `$1` url, `$2` what to push (commit:branch), `$3` what the remote has to have, or nothing. */
export const PUSH = `${NET}
exec git push --porcelain --progress \${3:+"--force-with-lease=$3"} "$1" "$2"
`;
