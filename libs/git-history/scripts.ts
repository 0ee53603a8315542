/** Who the commits are by. Also part of the names that must not change while a history lasts. */
export interface Identity {
  readonly name: string;
  readonly email: string;
  /** Of the reference that keeps the empty content: `refs/<namespace>/empty`. */
  readonly namespace: string;
  /** A pattern of the names that the folder gives to files until they are written whole. */
  readonly temporaries: string;
}

export const emptyRef = ({ namespace }: Identity) => `refs/${namespace}/empty`;

/** Nothing but what is said here tells git what to do: no configuration, attributes or templates of the system. */
export const environmentOf = (identity: Identity): Record<string, string> => ({
  GIT_DIR: 'git',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: identity.name,
  GIT_AUTHOR_EMAIL: identity.email,
  GIT_COMMITTER_NAME: identity.name,
  GIT_COMMITTER_EMAIL: identity.email,
  HISTORY_EMPTY: emptyRef(identity),
  HISTORY_TEMPORARIES: identity.temporaries,
});

/**
 * Makes the repository where it is missing, or its making was cut short. SHA-256, because git refuses contents that
 * collide in SHA-1, and such files are easily had. Whole packs, because they are synced to the disk.
 */
const PREPARE = `set -e
if [ ! -e git/ready ]; then
  git init -q --bare --object-format=sha256 --template= -b main git
  git config core.fsync committed,reference
  git config core.hooksPath /dev/null
  git config core.bigFileThreshold 16m
  git config fastimport.unpackLimit 1
  git config gc.auto 0
  git config pack.windowMemory 64m
  git config pack.threads 1
  git update-ref "$HISTORY_EMPTY" "$(git hash-object -w --stdin </dev/null)"
  git update-ref refs/heads/main "$(git commit-tree -m 'The beginning' "$(git mktree </dev/null)")"
  : >git/ready
fi
`;

/** Only one process writes at a time: the holder of these locks is dead. */
const UNLOCK = `rm -f git/*.lock git/refs/heads/*.lock git/gc.pid
`;

/** Takes git-fast-import(1)'s stream from the file named, or standard input; prints the new commit's name. */
export const APPEND = `${PREPARE}${UNLOCK}
if [ -n "$1" ]; then exec <"$1"; fi
git fast-import --quiet --done >&2
git rev-parse refs/heads/main
# Many small packs make git slow: now and then some become one.
set -- git/objects/pack/*.pack
if [ $# -gt 40 ]; then git repack --geometric=2 -dq >&2 || git repack -adq >&2; fi
`;

/** Takes the names of contents from standard input, and puts these into the file named. */
export const READ = `if [ ! -e git/ready ]; then exec sed 's/$/ missing/' >"$1"; fi
exec git cat-file --batch >"$1"
`;

export const NO_SUCH_CONTENT = 4;

export const DIFF = `git cat-file -e "$1" && git cat-file -e "$2" || exit ${NO_SUCH_CONTENT}
exec git diff --no-color --no-ext-diff --no-textconv "$1" "$2"
`;

/** Removes what a crash left, cuts off what is before the commit named, if one is; prints how many KiB are left. */
export const FORGET = `${PREPARE}${UNLOCK}
find . -maxdepth 1 '(' -name 'incoming-*' -o -name 'outgoing-*' -o -name "$HISTORY_TEMPORARIES" ')' -mmin +60 -delete
if [ -n "$1" ] && git cat-file -e "$1"; then echo "$1" >git/shallow; fi
git gc --quiet --prune=now >&2
set -- $(du -sk git)
echo "$1"
`;
