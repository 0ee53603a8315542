import { quoteWords } from './shell.js';

/**
 * What keeps a session: it reads on a descriptor of its own which script comes next, hands that to a bash which knows
 * nothing of that descriptor, and reports how it ended. It evaluates nothing that a script wrote, so no script can end it by
 * `exit`, confuse it by its output or eat what it reads; signals to all (`kill -TERM -1`) only interrupt its waiting.
 *
 * The bash for a script has been started before the script is there, as starting it takes most of the time of a short one.
 * Should it be dead by then, another is started. As a coprocess under job control it is a process group of its own, and its
 * input is a pipe, from which it reads the number of its script. Variables are kept but not exported: a script gets those
 * of the script before, in which one may have been taken away.
 *
 * What still is there after `wait` was stopped, or the waiting was interrupted. `wait -f` would wait for that by itself, but in
 * bash 5.2 it goes round for ever if the script ends at the wrong moment.
 */
const supervisor = ({ hear, tell }: Control): string => `
for name in $(compgen -e); do export -n "$name"; done
exec 8>&1 9>&2 >/dev/null 2>&1
set -m
trap : HUP INT QUIT TERM USR1 USR2 ALRM PIPE
stand_by() {
  coproc spare { LANG=$LANG HOME=$HOME SHELL=$SHELL exec bash -c "$1" bash "$2" >&8 2>&9 8>&- 9>&- ${hear}<&- ${tell}>&-; }
  pid=$!
}
stand_by "$@"
echo ready >&${tell}
while IFS= read -r -u ${hear} number; do
  status=127
  echo "$number" >&"\${spare[1]}" || { stand_by "$@"; echo "$number" >&"\${spare[1]}"; }
  echo "started $number $pid" >&${tell}
  while wait "$pid"; latest=$?; ((latest == 127)) || status=$latest; kill -0 "$pid"; do sleep 0.05; done
  { echo "over $number $status"; times; } >&${tell}
  stand_by "$@"
done`;

/**
 * What runs one script: waits for its number, takes over what the script before left, evaluates the script, hands on what it
 * leaves. The latter also when the script exits by itself (its EXIT trap), and not when it replaces itself or is killed. It
 * is one line, so that bash counts the lines of the script from one.
 */
const runner = [
  // They were there so that bash would load what belongs to them, or not look them up; what the script has is up to the state.
  'unset LANG HOME; export -n SHELL',
  'IFS= read -r _session_number || exit',
  '_session_folder=$1 _session_input=$1/input-$_session_number',
  '[[ -e $_session_input ]] || _session_input=/dev/null',
  'exec <"$_session_input"',
  'IFS= read -r -d "" _session_script <"$_session_folder/script-$_session_number"',
  '. "$_session_folder/state" 2>/dev/null',
  'set --',
  'SECONDS=0',
  '_session_old=$OLDPWD',
  'builtin cd -- "$PWD" 2>/dev/null || ' +
    '{ echo "The folder $PWD is no longer there; this runs in $_session_home" >&2; builtin cd -- "$_session_home"; }',
  'OLDPWD=$_session_old',
  '_session_save() { _session_status=$?; set +eux; trap - ERR DEBUG; unset _session_script; ' +
    '{ builtin declare -p; unset -f _session_save; builtin declare -f; builtin declare -Fx; builtin printf "#end %s\\n" "$_session_number"; } ' +
    '>"$_session_folder/left"; }',
  'trap "{ _session_save; } 2>/dev/null" EXIT',
  'eval "$_session_script"',
  // Should the trap still be set, it finds nothing left to do.
  '{ _session_save; _session_save() { :; }; exit "$_session_status"; } 2>/dev/null',
].join('; ');

/** The descriptors on which the program of a session receives requests and reports results. */
interface Control {
  hear: number;
  tell: number;
}

/** The program of a session. `folder` is where scripts are found inside. */
export function sessionProgram(folder: string, control: Control): string[] {
  return ['bash', '--noprofile', '--norc', '-c', supervisor(control), 'session', runner, folder];
}

/** What the first script takes over: its variables, exported, and its folder. */
export function firstState(env: Record<string, string>, home: string, cwd: string): string {
  const variables = Object.entries({ ...env, PWD: cwd }).map(
    ([name, value]) => `declare -x ${name}=${quoteWords([value])}`,
  );
  return [...variables, `declare -- _session_home=${quoteWords([home])}`, ''].join('\n');
}

/** Variables that every bash makes for itself; to take them over costs each script time. */
const OWN_VARIABLES =
  /^declare -\S+ (?:BASH\w*|COMP_WORDBREAKS|DIRSTACK|EPOCH\w+|E?UID|FUNCNAME|GROUPS|HIST\w+|HOST\w+|LINENO|MACHTYPE|OPTERR|OPTIND|OSTYPE|PIPESTATUS|PPID|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|_|_session_(?!home)\w+)(?:=|$)/;

/** What the next script takes over of what one has left: its variables, a line each, then its functions; without the mark of its end. */
export function nextState(left: string): string {
  const lines = left.split('\n');
  const functions = lines.findIndex(line => !line.startsWith('declare '));
  const variables = lines.slice(0, functions).filter(line => !OWN_VARIABLES.test(line));
  const kept = lines.slice(functions).filter((_line, index, all) => index < all.length - 2);
  return [...variables, ...kept, ''].join('\n');
}

const PLAIN_FOLDER = /^declare -\S* PWD=(?:"((?:[^"\\$`]|\\["\\$`])*)"|'([^']*)')$/m;

/** The working directory of a state; null where its name takes more than plain quotes. */
export function folderIn(state: string): string | null {
  const [, escaped, plain] = PLAIN_FOLDER.exec(state) ?? [];
  return plain ?? escaped?.replaceAll(/\\(.)/g, '$1') ?? null;
}

/** Whether a script has handed on everything; one that was killed while it did so has not. */
export function isWhole(state: string, number: number): boolean {
  return state.endsWith(`\n#end ${number}\n`);
}
