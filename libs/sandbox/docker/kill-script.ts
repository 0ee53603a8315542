/** So often what a script started is looked for; what multiplies faster takes the session with it. */
const ROUNDS = 8;

/**
 * A command that kills a script of a session with all that it started, run inside as the same user: its descendants, and
 * what has been handed to the first process since it began, at `beganMs` of the clock (bash has it since 5.0). The script
 * itself goes last: without it its descendants could not be found; it is stopped meanwhile, so that it starts no more and
 * says nothing of their end. Times are hundredths of a second, so numbers decide between those of one time. Of builtins
 * only, and it reads no more than /proc/PID/stat (proc(5): parent is field 4, start 22).
 */
export function killScript(pid: number, beganMs: number): string[] {
  return ['bash', '-c', program, 'bash', `${pid}`, `${ROUNDS}`, `${Math.floor(beganMs)}`];
}

const program = `
set -f
fields() { local text; { read -r text <"/proc/$1/stat"; } 2>/dev/null || return; f=(\${text##*) }); }
fields "$1" || exit 0
kill -STOP "$1"
began=\${f[19]} own=\${f[1]}
read -r uptime _ </proc/uptime
clock=\${EPOCHREALTIME/[!0-9]/}
((clock && (since = 10#\${uptime/./} - (clock / 1000 - $3) / 10 - 1) > began && (began = since)))
for ((round = 0; round < $2; round++)); do
  declare -A parent=() start=()
  set +f; all=(/proc/[0-9]*); set -f
  for one in "\${all[@]}"; do
    one=\${one#/proc/}
    fields "$one" && parent[$one]=\${f[1]} start[$one]=\${f[19]}
  done
  found=0
  for one in "\${!parent[@]}"; do
    at=$one
    while [[ -n \${parent[$at]} && $at != "$1" ]]; do
      ((parent[$at] == 1 && (start[$at] > began || start[$at] == began && at > $1) && at != own)) && break
      at=\${parent[$at]}
    done
    [[ -n \${parent[$at]} && $one != "$1" && $one != "$$" ]] || continue
    kill -KILL "$one" 2>/dev/null && found=1
  done
  ((found)) || break
done
kill -KILL "$1"
`;
