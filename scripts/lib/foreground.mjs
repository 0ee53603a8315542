import { spawn, spawnSync } from 'node:child_process';
import os from 'node:os';
import { projectDir } from './project.mjs';

/** npm passes on the signal that the terminal has sent to everyone already: two within this are one. */
const sameKeypressMs = 400;
const parentCheckMs = 500;

/**
 * Runs the service in the foreground and resolves with its exit code. It has a process group of its own, so that
 * a Ctrl-C reaches it exactly once, through us, and it can finish what it is doing. A second one ends it at once,
 * and so does the kernel when this launcher is killed (Linux with util-linux).
 */
export function runService(command, env) {
  const [program, ...args] = tiedToUs('KILL', command);
  const child = spawn(program, args, { cwd: projectDir, env, stdio: 'inherit', detached: true });
  let firstAt;
  const pass = signal => {
    const now = performance.now();
    if (firstAt === undefined) {
      firstAt = now;
      child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal);
    } else if (now - firstAt > sameKeypressMs) {
      killGroup(child.pid);
    }
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, pass);
  whenAbandoned(() => child.kill('SIGTERM'));
  return exitCode(child);
}

/** Runs a tool in the terminal's own process group: Ctrl-C reaches it directly, and we wait for it. */
export function runTool(command, env) {
  const [program, ...args] = tiedToUs('TERM', command);
  const child = spawn(program, args, { cwd: projectDir, env, stdio: 'inherit' });
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill('SIGTERM'));
  whenAbandoned(() => child.kill('SIGTERM'));
  return exitCode(child);
}

/**
 * npm runs scripts through a shell, and a shell that is asked to end does so without a word to its child. There is
 * no event for that, so we look who our parent is. A parent other than npm may leave us alone on purpose (nohup).
 */
function whenAbandoned(react) {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    react();
  }, parentCheckMs);
  timer.unref();
}

function tiedToUs(signal, command) {
  if (spawnSync('setpriv', ['--pdeathsig', signal, 'true']).status !== 0) return command;
  return ['setpriv', '--pdeathsig', signal, '--', ...command];
}

function killGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function exitCode(child) {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => resolve(code ?? 128 + os.constants.signals[signal]));
  });
}
