/** Most of a command's output that is kept in its file. */
const MAX_FILE_BYTES = 16 * 1024 * 1024;
/** Most of its new output that is passed on at once, from its end. */
export const MAX_NEW_BYTES = 32 * 1024;

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** Where a command that runs in the background writes, in the workspace. */
export interface BackgroundPlace {
  readonly folder: string;
  readonly file: string;
}

/** A command under way: its process group, and the folder in which its end is written down, both inside. */
export interface BackgroundProcess {
  readonly pid: number;
  readonly state: string;
}

/**
 * Starts `command` as a process group of its own, in the folder and with the variables and functions of its session. Its exit
 * code is written down when all that it wrote is in the file. `mark` begins the line that says where it is.
 */
export function startScript(command: string, { folder, file }: BackgroundPlace, mark: string): string {
  return `(
_at="\${_session_home:-/workspace}"
mkdir -p -- "$_at"/${quoted(folder)} || exit
[ -e "$_at/.atelier/.gitignore" ] || echo '*' >"$_at/.atelier/.gitignore"
_file="$_at"/${quoted(file)}
: >"$_file" || exit
_state=$(mktemp -d) || exit
_command=${quoted(command)}
set -m
{
  { set +m; ( eval "$_command" ) 2>&1; } | { stdbuf -o0 head -c ${MAX_FILE_BYTES}; cat >/dev/null; } >"$_file"
  printf '%s %s\\n' "\${PIPESTATUS[0]}" "$EPOCHSECONDS" >"$_state/end"
} </dev/null >/dev/null 2>&1 &
printf '%s %s %s\\n' ${mark} "$!" "$_state"
)`;
}

/** What the line of {@link startScript} says; undefined where the command could not be started. */
export function startedIn(output: string, mark: string): (BackgroundProcess & { line: string }) | undefined {
  const [line, pid, state] = new RegExp(`^${mark} (\\d+) (/\\S+)\\n?`, 'm').exec(output) ?? [];
  if (line === undefined || state === undefined) return undefined;
  return { pid: Number(pid), state, line };
}

/** How a command stands, by what a session says of it. */
export interface BackgroundStanding {
  readonly state: 'running' | 'ended' | 'killed' | 'bad_filter' | 'no_file';
  readonly exitCode: number | null;
  /** When it ended, in seconds since 1970. */
  readonly endedAt: number | null;
  /** So many bytes of its output have been read by now, the line that is not finished yet left out where lines are chosen. */
  readonly read: number;
  /** Those that were new. */
  readonly bytes: number;
  readonly text: string;
}

/** Reads what is new in a command's output after `from` bytes: the lines that match `filter`, at most the last of them. */
export function readScript(
  { pid, state }: BackgroundProcess,
  { file }: BackgroundPlace,
  { from, filter }: { from: number; filter: string | undefined },
  mark: string,
): string {
  return `(
_file="\${_session_home:-/workspace}"/${quoted(file)}
_state=killed _code=- _at=-
kill -0 -- -${pid} 2>/dev/null && _state=running
[ -r ${quoted(state)}/end ] && read -r _code _at <${quoted(state)}/end && _state=ended
_size=$(stat -Lc %s -- "$_file" 2>/dev/null) || _state=no_file _size=${from}
_new=$((_size > ${from} ? _size - ${from} : 0))
rest() { tail -c +$((${from} + 1)) -- "$_file" | head -c "$_new"; }
${filter === undefined ? 'chosen() { rest; }' : `_filter=${quoted(filter)}; chosen() { rest | grep -aE -e "$_filter"; }`}
${
  filter === undefined
    ? ''
    : `grep -qE -e "$_filter" </dev/null 2>/dev/null; [ $? -gt 1 ] && _state=bad_filter _new=0
[ $_state = running ] && [ $_new -gt 0 ] && [ -n "$(rest | tail -c 1 | tr -d '\\n' | tr '\\0' x)" ] && _new=$((_new - $(rest | tail -n 1 | wc -c)))`
}
printf '%s %s %s %s %s %s\\n' ${mark} $_state $_code $_at $((${from} + _new)) $_new
[ $_new -gt 0 ] && chosen | tail -c ${MAX_NEW_BYTES}
true
)`;
}

/** What {@link readScript} has said; undefined where it could not be run. */
export function standingIn(output: string, mark: string): BackgroundStanding | undefined {
  const line = new RegExp(`^${mark} (\\w+) (\\S+) (\\S+) (\\d+) (\\d+)\\n`, 'm').exec(output);
  if (!line) return undefined;
  const [whole, state, code, at, read, bytes] = line;
  const number = (text: string | undefined) => (/^\d+$/.test(text ?? '') ? Number(text) : null);
  return {
    state: state as BackgroundStanding['state'],
    exitCode: number(code),
    endedAt: number(at),
    read: Number(read),
    bytes: Number(bytes),
    text: output.slice(line.index + whole.length),
  };
}

/** Ends a command's process group: at first by SIGTERM, after two seconds by SIGKILL. */
export const killScript = ({ pid }: BackgroundProcess): string => `(
kill -TERM -- -${pid} 2>/dev/null || exit 0
for _ in {1..40}; do kill -0 -- -${pid} 2>/dev/null || exit 0; sleep 0.05; done
kill -KILL -- -${pid} 2>/dev/null
true
)`;
